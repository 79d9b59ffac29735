"""The extensions; all else is in pyproject.toml.

TRACE=1 builds for line coverage of the .pyx, SANITIZE=1 for ASan and UBSan.
"""

import os
from glob import glob

from setuptools import Extension, setup


def extension(name: str, source: str) -> Extension:
    return Extension(
        f"netlink_codec.{name}",
        [source],
        # Where Cython finds the modules' own .pxd.
        include_dirs=["src"],
        depends=[*glob("src/netlink_codec/*.pxd"), *glob("src/netlink_codec/*.pxi")],
        # Last on the command line, so they win over the interpreter's own -g and whatever CFLAGS holds.
        extra_compile_args=["-O3", "-g0"],
    )


extensions = [
    extension("_core", "netlink_codec.pyx"),
    extension("_records", "src/netlink_codec/_records.pyx"),
    extension("_sys", "src/netlink_codec/_sys.pyx"),
    extension("_nfqueue", "src/netlink_codec/_nfqueue.pyx"),
    extension("_elements", "src/netlink_codec/_elements.pyx"),
]
for module in extensions:
    if os.environ.get("TRACE") == "1":
        # Cython uses sys.monitoring where it can, which coverage's tracer does not see.
        module.define_macros += [
            ("CYTHON_TRACE", "1"),
            ("CYTHON_TRACE_NOGIL", "1"),
            ("CYTHON_USE_SYS_MONITORING", "0"),
        ]
        module.extra_compile_args += ["-O1"]
        module.cython_directives = {"linetrace": True}
    if os.environ.get("SANITIZE") == "1":
        flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        module.extra_compile_args += ["-O1", "-g", "-fno-omit-frame-pointer", *flags]
        module.extra_link_args += flags

# Forced, since time stamps do not tell that a switch has changed.
setup(ext_modules=extensions, options={"build_ext": {"force": True, "parallel": os.cpu_count()}})
