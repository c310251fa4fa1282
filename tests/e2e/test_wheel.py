"""The wheel: what is in it, that a commit always builds the same one, and that kaged runs from it outside of
any checkout. What the application opens meanwhile is compared with what was installed."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from app import __version__
from tests.driver.kaged import ROOT

BUILD = [sys.executable, "-m", "hatchling", "build"]
SECONDS = 120
COMMITTED = "2026-05-22T14:30:00Z"
SHARED = {
    "docker/seccomp.json": "seccomp.json",
    "openapi/openapi.json": "openapi/openapi.json",
    "examples/demo/.kaged/project.yaml": "examples/demo/.kaged/project.yaml",
    "examples/demo/config.toml": "examples/demo/config.toml",
    "examples/demo/transcripts/demo.yaml": "examples/demo/transcripts/demo.yaml",
}
"""Some of the files below `share/kaged`, by where they lie in the repository."""

WATCH = """
import os, sys

def note(event, arguments, _written=[]):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if not path.startswith(("/proc/", "/sys/", "/dev/")):
            os.write(FILE, (("found " if os.path.lexists(path) else "absent ") + path + "\\n").encode())

if "KAGED_OPENED" in os.environ:
    FILE = os.open(os.environ["KAGED_OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    sys.addaudithook(note)
"""
"""Every Python of the installation notes what it opens."""


def run(command: list[str], folder: Path, *, umask: int = 0o022, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": "", **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        umask=umask,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def copy_of_repository(folder: Path, umask: int) -> str:
    """Write the files of this working tree into a repository of its own; return its commit."""
    names = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).split("\0")
    old = os.umask(umask)
    try:
        for name in filter(None, names):
            if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes((ROOT / name).read_bytes())
    finally:
        os.umask(old)
    moment = {"GIT_AUTHOR_DATE": COMMITTED, "GIT_COMMITTER_DATE": COMMITTED}
    run(["git", "init", "--quiet"], folder)
    run(["git", "-c", "core.fileMode=false", "add", "--all"], folder)
    named = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    run(["git", *named, "commit", "--quiet", "--message", "all"], folder, **moment)
    return run(["git", "rev-parse", "HEAD"], folder)


def build(folder: Path, **options: Any) -> dict[str, bytes]:
    """Build wheel and sdist; return their content by name."""
    run([*BUILD, "--target", "sdist", "--target", "wheel", "--directory", "dist"], folder, **options)
    return {file.name: file.read_bytes() for file in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository with this working tree as its only commit, built; and the commit."""
    folder = tmp_path_factory.mktemp("release") / "one"
    commit = copy_of_repository(folder, 0o022)
    build(folder)
    return folder, commit


def wheel_of(folder: Path) -> Path:
    return next((folder / "dist").glob("*.whl"))


@pytest.mark.requirement("release.reproducible")
def test_a_commit_builds_the_same_files_anywhere(release: tuple[Path, str], tmp_path: Path) -> None:
    folder, commit = release
    first = {file.name: file.read_bytes() for file in (folder / "dist").iterdir()}
    assert sorted(first) == [f"kaged-{__version__}-py3-none-any.whl", f"kaged-{__version__}.tar.gz"]
    other = tmp_path / "quite" / "another"
    assert copy_of_repository(other, 0o077) == commit
    second = build(other, umask=0o077, TZ="Asia/Tokyo", LC_ALL="C")
    assert {name: digest(content) for name, content in second.items()} == {
        name: digest(content) for name, content in first.items()
    }
    unpacked = tmp_path / "sdist"
    with tarfile.open(folder / "dist" / f"kaged-{__version__}.tar.gz") as archive:
        archive.extractall(unpacked, filter="data")
    # In somebody else's repository, which the build must not take for kaged's.
    run(["git", "init", "--quiet"], unpacked)
    (source,) = (one for one in unpacked.iterdir() if one.name != ".git")
    built = build(source)
    assert digest(built[wheel_of(folder).name]) == digest(first[wheel_of(folder).name])


@pytest.mark.requirement("release.reproducible")
def test_a_build_of_changes_says_so(release: tuple[Path, str], tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    commit = copy_of_repository(changed, 0o022)
    (changed / "app" / "added.py").touch()
    build(changed)
    with zipfile.ZipFile(wheel_of(changed)) as wheel:
        assert orjson.loads(wheel.read("app/release.json"))["commit"] == f"{commit}-dirty"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_the_build_backend_is_the_one_of_the_lock() -> None:
    wanted = (ROOT / "pyproject.toml").read_text().partition('requires = ["')[2].partition('"')[0]
    assert f"\n{wanted} " in (ROOT / "requirements.lock").read_text()


@pytest.mark.requirement("release.wheel")
def test_every_file_of_the_application_is_in_the_wheel(release: tuple[Path, str]) -> None:
    folder, commit = release
    tracked = set(run(["git", "ls-files", "app", "migrations"], folder).splitlines())
    with zipfile.ZipFile(wheel_of(folder)) as wheel:
        names = {name for name in wheel.namelist() if name.startswith(("app/", "migrations/"))}
        assert names == tracked | {"app/release.json"}
        assert orjson.loads(wheel.read("app/release.json"))["commit"] == commit
        shared = f"kaged-{__version__}.data/data/share/kaged/"
        for name, where in SHARED.items():
            assert wheel.read(shared + where) == (ROOT / name).read_bytes()
        demo = {
            name.removeprefix(shared) for name in wheel.namelist() if name.startswith(f"{shared}examples/")
        }
        assert demo == set(run(["git", "ls-files", "examples/demo"], folder).splitlines())


@pytest.fixture(scope="module")
def installed(release: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, which borrows the packages of the lock from the one that runs the tests:
    nothing is downloaded. That one's own `kaged`, a checkout, is not in it."""
    folder = tmp_path_factory.mktemp("installed")
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder)
    python = folder / "bin" / "python"
    wheel = str(wheel_of(release[0]))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel], folder)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "lock.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (packages / "watch_opened.py").write_text(WATCH)
    (packages / "watch_opened.pth").write_text("import watch_opened\n")
    return folder


@pytest.mark.timeout(5 * SECONDS)
@pytest.mark.requirement("release.wheel", "command_line.version")
def test_kaged_runs_from_the_wheel_and_opens_nothing_that_is_not_in_it(
    installed: Path, release: tuple[Path, str], tmp_path: Path
) -> None:
    kaged = installed / "bin" / "kaged"
    (packages,) = (installed / "lib").glob("python*/site-packages")
    opened = tmp_path / "opened"
    shared = installed / "share" / "kaged"
    demo = tmp_path / "demo"
    shutil.copytree(shared / "examples" / "demo", demo)
    config = demo / "config.toml"
    config.write_text(config.read_text().replace("speed = 1.0", "speed = 0.0"))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "KAGED_CONFIG": str(config),
        "KAGED_DAEMON__DATA_DIR": str(tmp_path / "data"),
        "KAGED_OPENED": str(opened),
    }

    def command(*arguments: str, folder: Path = demo) -> str:
        done = subprocess.run(
            [kaged, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert release[1] == orjson.loads(command("version", "--json", folder=tmp_path))["commit"]
    command("init", str(tmp_path / "fresh"), folder=tmp_path)
    command("check", str(tmp_path / "fresh"), "--no-models", folder=tmp_path)
    command("check")
    assert orjson.loads(command("openapi")) == orjson.loads((shared / "openapi/openapi.json").read_bytes())
    with (tmp_path / "daemon.log").open("w") as log:
        daemon = subprocess.Popen(
            [kaged, "serve", "--trust", "--port", "0", "--json"],
            cwd=demo,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert daemon.stdout is not None
    try:
        ready = orjson.loads(daemon.stdout.readline())
        assert "median" not in command("send", "Fix the failing test")
        found = orjson.loads(command("status", "--json"))
        assert (found["pid"], found["versions"]["commit"]) == (daemon.pid, release[1])
        files = sorted((packages / "app/api/web/built/static").iterdir())
        assert {path.suffix for path in files} >= {".js", ".css", ".svg", ".br"}
        for page in ("", "/docs", *(f"/static/{path.name}" for path in files if path.suffix != ".br")):
            fetch(ready["url"] + page, (tmp_path / "data" / "token").read_text().strip())
        command("stop")
        assert daemon.wait(SECONDS) == 0
    finally:
        if daemon.poll() is None:
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
        daemon.stdout.close()
    command("db", "check")

    own = (str(packages / "app"), str(packages / "migrations"), str(shared))
    borrowed = (sysconfig.get_path("purelib"), sys.prefix, sys.base_prefix)
    lines = [line.partition(" ") for line in opened.read_text().splitlines()]
    assert {path for _, _, path in lines if path.startswith(str(packages / "app" / "api" / "web"))}
    absent = {path for state, _, path in lines if state == "absent" and path.startswith(own)}
    assert {path for path in absent if "__pycache__" not in path} == set()
    checkout = {path for _, _, path in lines if path.startswith(str(ROOT)) and not path.startswith(borrowed)}
    assert checkout == set()


def fetch(url: str, token: str) -> None:
    import httpx2

    answer = httpx2.get(url, headers={"authorization": f"Bearer {token}"}, trust_env=False, timeout=SECONDS)
    assert answer.status_code == 200, url
    assert answer.content
