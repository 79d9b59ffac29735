import os
import signal

import hypothesis
import pytest

# Some examples walk a whole datagram: how long one takes says nothing. Slow builds are given fewer.
EXAMPLES = int(os.environ.get("CODEC_EXAMPLES") or 300)
hypothesis.settings.register_profile("codec", max_examples=EXAMPLES, deadline=None, print_blob=True)
hypothesis.settings.load_profile("codec")

pytest.register_assert_rewrite("compare", "support")

# Who starts this in the background has it ignore Ctrl-C, and all that it starts would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
