"""For tests of programs that speak netlink: a fake kernel, recordings of a real one, and networks of their own.

`FakeKernel` answers as a test tells it, to a real connection: `reply`, `ack`, `error`,
`done`, `acknowledged` and `multipart` make what a kernel would say, to the byte;
`Pause`, `overrun`, `Fault`, `foreign`, `notification` and `truncated` what seldom happens
when one looks. `check_request`, and `FakeKernel.expect`, compare requests, and show both
sides where they differ. `record` writes the traffic with a real kernel to a file, which
Wireshark opens, and `Replay` answers from that. `namespace` is a network that nobody
else uses.

Nothing here is imported by `import netlink_codec`, and nothing needs pytest.
"""

from .checks import RequestMismatch as RequestMismatch
from .checks import check_request as check_request
from .clock import Clock as Clock
from .kernel import FakeKernel as FakeKernel
from .namespaces import NoNamespace as NoNamespace
from .namespaces import namespace as namespace
from .recordings import Replay as Replay
from .recordings import UnknownRequest as UnknownRequest
from .recordings import record as record
from .script import Fault as Fault
from .script import Pause as Pause
from .script import foreign as foreign
from .script import notification as notification
from .script import overrun as overrun
from .script import truncated as truncated
from .shapes import ack as ack
from .shapes import acknowledged as acknowledged
from .shapes import done as done
from .shapes import error as error
from .shapes import multipart as multipart
from .shapes import reply as reply
from .wire import WouldHang as WouldHang
