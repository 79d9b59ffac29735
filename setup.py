"""The extension; all else is in pyproject.toml.

TRACE=1 builds for line coverage of the .pyx, SANITIZE=1 for ASan and UBSan.
"""

import os

from setuptools import Extension, setup

core = Extension(
    "netlink_codec._core",
    ["netlink_codec.pyx"],
    # Where Cython finds the module's own .pxd.
    include_dirs=["src"],
    depends=["src/netlink_codec/_core.pxd"],
    # Last on the command line, so they win over the interpreter's own -g and whatever CFLAGS holds.
    extra_compile_args=["-O3", "-g0"],
)
if os.environ.get("TRACE") == "1":
    # Cython uses sys.monitoring where it can, which coverage's tracer does not see.
    core.define_macros += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    core.extra_compile_args += ["-O1"]
    core.cython_directives = {"linetrace": True}
if os.environ.get("SANITIZE") == "1":
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    core.extra_compile_args += ["-O1", "-g", "-fno-omit-frame-pointer", *flags]
    core.extra_link_args += flags

# Forced, since time stamps do not tell that a switch has changed.
setup(ext_modules=[core], options={"build_ext": {"force": True}})
