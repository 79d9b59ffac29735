"""`python -m netlink_codec`."""

import sys

from .cli import main

sys.exit(main())
