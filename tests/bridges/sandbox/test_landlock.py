"""The tier landlock: what a command reaches that has shut itself in, and which cages it refuses to be."""

from __future__ import annotations

import asyncio
import glob
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.child import Child, Finished, SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import home
from app.bridges.sandbox.bounds import bounded_together
from app.bridges.sandbox.host_support import LANDLOCK_NEEDED, landlock_version
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.bridges.sandbox.tier_search import find_tier
from app.cages.cage import Cage, CageLimits, Mount
from app.errors import ToolError
from tests.bridges.conftest import alive, descriptors, until

pytestmark = [
    pytest.mark.requirement("cages.kernel.landlock"),
    pytest.mark.skipif(
        landlock_version() < LANDLOCK_NEEDED, reason="this kernel has no landlock that holds enough back"
    ),
]

WEAKER = Tier("landlock", "the tests need it")
INSIDE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for folder in (".git/hooks", "src/deep", "docs"):
        (root / folder).mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / "src" / "main.py").write_text("print('hello')\n")
    (root / "docs" / "guide.md").write_text("read me\n")
    (root / "notes").write_text("first\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("canary\n")
    return root


class Held:
    """A cage of landlock and the shortest way to run something in it."""

    def __init__(self, cages: Cages, root: Path) -> None:
        self.cages = cages
        self.root = root

    async def starter(self, *more: Mount, key: str = "test", **fields: Any) -> Any:
        mounts = (Mount(self.root, "rw"), *more)
        return await self.cages.children(key, Cage(mounts=mounts, **fields), self.root)

    async def sh(self, script: str, *more: Mount, **fields: Any) -> Finished:
        starter = await self.starter(*more, **fields)
        done: Finished = await starter.run(
            ["/bin/sh", "-c", script],
            owner="test",
            cwd=self.root,
            env=INSIDE,
            seconds=60.0,
            max_output=100_000,
        )
        return done

    async def works(self, script: str, *more: Mount, **fields: Any) -> str:
        done = await self.sh(script, *more, **fields)
        assert done.exit_code == 0, done.stderr
        return done.stdout.decode()

    async def fails(self, script: str, *more: Mount, **fields: Any) -> str:
        done = await self.sh(script, *more, **fields)
        assert done.exit_code != 0, done.stdout
        return done.stderr.decode()


@pytest.fixture
async def held(children: ChildProcesses, root: Path) -> AsyncIterator[Held]:
    cages = Cages(children, WEAKER)
    yield Held(cages, root)
    await cages.aclose()


@pytest.mark.requirement("cages.kernel.landlock")
async def test_starts_that_are_cancelled_leave_no_descriptor_open(held: Held) -> None:
    await held.sh("true")
    before = len(descriptors())
    for delay in range(30):
        starting = asyncio.create_task(held.sh("sleep 1007"))
        await asyncio.sleep(delay / 5000)
        starting.cancel()
        await asyncio.wait({starting})
    await until(lambda: len(descriptors()) <= before)


async def test_the_machine_is_found_to_hold_it(children: ChildProcesses) -> None:
    made: list[Cages] = []

    def keeper(tier: Tier) -> Cages:
        made.append(Cages(children, tier))
        return made[-1]

    tier = await find_tier("landlock", keeper)
    assert (tier.name, tier.advice) == ("landlock", None)
    assert "7 of 7" in tier.reason
    for cages in made:
        await cages.aclose()


async def test_what_is_granted_is_read_and_written(held: Held, root: Path) -> None:
    assert await held.works("cat notes src/main.py") == "first\nprint('hello')\n"
    await held.works("echo more >> notes && echo new > src/new && mkdir src/deep/er && mv src/new docs/moved")
    assert (root / "notes").read_text() == "first\nmore\n"
    assert (root / "docs" / "moved").read_text() == "new\n"
    await held.works("printf '#!/bin/sh\\necho ran\\n' > src/run && chmod +x src/run && ./src/run")
    assert await held.works("python3 src/main.py") == "hello\n"


@pytest.mark.parametrize(
    "script",
    [
        "cat ../outside/secret",
        "echo x > ../outside/new",
        "echo x >> ../outside/secret",
        "truncate -s 0 ../outside/secret",
        "rm ../outside/secret",
        "mv ../outside/secret notes",
        "ln ../outside/secret src/link",
        "ln -s ../../outside/secret src/link && cat src/link",
        "mkdir ../outside/folder",
        "ls ..",
        "ls /root /home /proc /var",
        "cat /etc/shadow",
        "cat /proc/1/environ",
        "cat /proc/sys/kernel/core_pattern",
        "echo x > /usr/x",
        "echo x > /dev/kmsg",
        "echo x > /tmp/x",
    ],
)
async def test_what_is_not_granted_is_refused(held: Held, root: Path, script: str) -> None:
    await held.fails(script)
    outside = root.parent / "outside"
    assert [one.name for one in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "canary\n"


async def test_protected_names_and_what_is_read_only_stay_as_they_are(held: Held, root: Path) -> None:
    docs = Mount(root / "docs", "ro")
    for script in (
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "mv .git git",
        "rm -r .git",
        "echo x > docs/guide.md",
        "rm docs/guide.md",
        "mv docs src/docs",
        "rm -r docs && ln -s src docs",
    ):
        await held.fails(script, docs)
    assert await held.works("cat .git/config docs/guide.md", docs) == "[core]\nread me\n"
    await held.works("echo changed > src/main.py && echo changed > notes", docs)
    assert (root / "notes").read_text() == "changed\n"


async def test_a_folder_with_a_protected_name_gets_no_entries_but_those_below_it_do(
    held: Held, root: Path
) -> None:
    await held.fails("echo x > new")
    await held.fails("rm notes")
    await held.works("echo x > src/new && rm src/new")
    await held.cages.settle("test")
    await asyncio.sleep(0.05)  # time stamps of files are some milliseconds coarse
    (root / "src" / "deep" / ".vscode").mkdir()
    await held.fails("echo x > src/deep/.vscode/tasks.json")
    await held.fails("echo x > src/new")
    await held.works("echo x > docs/new")


async def test_without_protected_names_the_root_itself_is_open(held: Held, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    starter = await held.cages.children("plain", Cage(mounts=(Mount(plain, "rw"),)), plain)
    done = await starter.run(
        ["/bin/sh", "-c", "echo x > new && mkdir a && mv new a/old && cat a/old"],
        owner="test",
        cwd=plain,
        env=INSIDE,
        seconds=60.0,
        max_output=1000,
    )
    assert (done.exit_code, done.stdout) == (0, b"x\n")


NETWORK = """
import socket, sys
for family, kind in ((2, 1), (2, 2), (10, 1), (1, 1), (16, 3), (40, 1)):
    try:
        socket.socket(family, kind)
    except PermissionError:
        continue
    sys.exit(f"a socket of the family {family}")
left, right = socket.socketpair()
left.send(b"through")
print(right.recv(9).decode())
"""


async def test_there_is_no_network_and_no_way_to_one(held: Held, root: Path) -> None:
    (root / "src" / "net.py").write_text(NETWORK)
    assert await held.works("python3 src/net.py") == "through\n"
    starter = await held.starter()
    with pytest.raises(OSError, match="no network"):
        await starter.free_port()
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(OSError, match="no network"):
        await starter.connect(listener.getsockname()[1])
    assert starter.apart is False


async def test_other_processes_of_the_user_are_not_reached(held: Held, children: ChildProcesses) -> None:
    other = await children.start(["sleep", "60"], owner="test", cwd=Path("/"), env=INSIDE)
    for script in (
        f"kill -0 {other.pid}",
        f"kill -9 {other.pid}",
        f"kill -9 {os.getpid()}",
        f"prlimit --pid {other.pid} --cpu=1",
        f"taskset -p 1 {other.pid}",
        f"renice 19 {other.pid}",
        f"cat /proc/{other.pid}/environ",
        f"readlink /proc/{other.pid}/fd/0",
    ):
        await held.fails(script)
    assert other.exit_code is None
    await held.works("sleep 60 & kill -9 $!; wait $!; [ $? = 137 ]")
    await other.aclose()


async def test_it_has_no_rights_to_take_back(held: Held) -> None:
    script = (
        "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True);"
        "header = b'\\x22\\x05\\x08\\x20' + bytes(4); data = ctypes.create_string_buffer(24);"
        "assert libc.capget(header, data) == 0; print(any(data.raw), libc.prctl(39, 0, 0, 0, 0));"
        "print([libc.prctl(23, one, 0, 0, 0) for one in (0, 7, 21)], libc.prctl(21, 0, 0, 0, 0))"
    )
    told = await held.works(f'python3 -c "{script}"')
    assert told.startswith("False 1\n")
    if os.geteuid() == 0:
        assert told.splitlines()[1].startswith("[0, 0, 0]")
    await held.fails("chmod 4755 src/main.py")
    await held.fails("chmod 666 src/main.py")


async def test_the_environment_is_its_own_and_begins_nothing_early(
    held: Held, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAEMON_SECRET", "canary")
    (root / "sitecustomize.py").write_text("open('/tmp/escaped-by-python', 'w')\n")
    early = {"PYTHONPATH": str(root), "PYTHONSTARTUP": str(root / "sitecustomize.py")}
    early |= {"LD_PRELOAD": str(root / "none.so"), "LD_LIBRARY_PATH": str(root), "KAGED_COMMAND": "another"}
    done = await (await held.starter(env=early)).run(
        ["/usr/bin/env"],
        owner="test",
        cwd=root,
        env={**INSIDE, "HOME": "/root"},
        seconds=60.0,
        max_output=9999,
    )
    told = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert told["PYTHONPATH"] == str(root)
    assert told["LD_PRELOAD"] == str(root / "none.so")
    assert "DAEMON_SECRET" not in told
    assert told["HOME"].startswith("/tmp/kaged-cage-") and told["TMPDIR"].startswith("/tmp/kaged-cage-")
    assert told["KAGED_COMMAND"].startswith(f"{os.getpid()}-")
    assert not Path("/tmp/escaped-by-python").exists()


async def test_its_own_folders_go_with_it(held: Held) -> None:
    home = (
        await held.works("echo kept > $HOME/x; echo t > $TMPDIR/y; cat $HOME/x $TMPDIR/y >&2; echo $HOME")
    ).strip()
    assert await held.works("cat $HOME/x") == "kept\n"
    await held.cages.end("test")
    assert not Path(home).parent.exists()


def test_folders_of_a_killed_daemon_are_removed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(home, "_YOUNG_SECONDS", -1.0)
    used = home.HomeFolder()
    abandoned = home.HomeFolder()
    (abandoned.path / "home" / "x").write_text("x")
    os.close(abandoned._descriptor)
    other = tmp_path / "kaged-cage-other"
    other.symlink_to(used.path)
    (tmp_path / "unlike").mkdir()
    home.remove_abandoned()
    assert {one.name for one in tmp_path.iterdir()} == {used.path.name, "kaged-cage-other", "unlike"}
    assert sorted(one.name for one in used.path.iterdir()) == ["home", "tmp"]
    used.remove()
    assert not used.path.exists()
    monkeypatch.setattr(home, "_YOUNG_SECONDS", 60.0)
    young = home.HomeFolder()
    os.close(young._descriptor)
    home.remove_abandoned()
    assert young.path.exists()


async def test_what_runs_ends_with_the_cage(held: Held, root: Path) -> None:
    starter = await held.starter()
    await held.works("true")
    before = descriptors().keys()
    script = "echo $$ > src/first; setsid sh -c 'echo $$ > src/second; exec env -i sleep 600' & sleep 600"
    child: Child = await starter.start(["/bin/sh", "-c", script], owner="test", cwd=root, env=INSIDE)
    notes = [root / "src" / "first", root / "src" / "second"]
    await until(lambda: all(note.exists() and note.read_text().strip() for note in notes))
    pids = [int(note.read_text()) for note in notes]
    await held.cages.end("test")
    assert child.exit_code == 137
    await until(lambda: not any(map(alive, pids)))
    with pytest.raises(ToolError, match="has ended") as refused:
        await starter.start(["true"], owner="test", cwd=root, env=INSIDE)
    assert refused.value.code == "cage_unavailable"
    await child.aclose()
    assert descriptors().keys() <= before


async def test_a_program_that_is_not_there_is_said_as_everywhere(held: Held, root: Path) -> None:
    starter = await held.starter()
    for argv, said in (
        (["no-such-program"], "there is no program 'no-such-program' in the cage"),
        (["/no/such"], "No such file or directory"),
        ([str(root / "notes")], "Permission denied"),
        ([str(root.parent / "outside" / "secret")], "Permission denied"),
    ):
        with pytest.raises(SpawnFailed, match=said):
            await starter.start(argv, owner="test", cwd=root, env=INSIDE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: {"net": ("example.org:443",)}, "hosts"),
        (lambda root: {"state_folder": root.parent / "state"}, "keeps its state"),
        (lambda root: {"unix_sockets": True}, "Unix sockets"),
        (
            lambda root: {"net": ("example.org:443",), "state_folder": root.parent / "state"},
            "hosts that it may reach; it keeps its state",
        ),
    ],
)
async def test_a_cage_that_landlock_cannot_hold_is_refused(
    held: Held, root: Path, change: Callable[[Path], dict[str, Any]], said: str
) -> None:
    with pytest.raises(ToolError, match=said) as refused:
        await held.starter(**change(root))
    assert refused.value.code == "cage_unavailable"
    assert refused.value.detail["tier"] == "landlock"


async def test_a_hidden_place_is_refused_where_it_would_be_seen(held: Held, root: Path) -> None:
    with pytest.raises(ToolError, match="hides something") as refused:
        await held.sh("true", Mount(root / "docs", "deny"))
    assert refused.value.code == "cage_unavailable"
    elsewhere = Mount(root.parent / "outside", "deny")
    await held.works("cat notes", elsewhere)


async def test_folders_of_tools_can_be_shown_to_every_cage(
    children: ChildProcesses, root: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "hello").write_text("#!/bin/sh\necho from outside\n")
    (tools / "hello").chmod(0o755)
    cages = Cages(children, WEAKER, read_only=(tools,))
    held = Held(cages, root)
    assert await held.works(f"{tools}/hello") == "from outside\n"
    await held.fails(f"echo x > {tools}/hello")
    await cages.aclose()


async def test_the_daemons_own_interpreter_is_not_written_to(
    children: ChildProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "kaged"
    (root / "venv" / "bin").mkdir(parents=True)
    (root / "src").mkdir()
    monkeypatch.setattr(sys, "prefix", str(root / "venv"))
    cages = Cages(children, WEAKER)
    held = Held(cages, root)
    await held.fails("echo x > venv/bin/python")
    await held.fails("mv venv old")
    await held.works("echo x > src/x")
    await cages.aclose()


async def test_limits_are_those_of_the_cage(held: Held) -> None:
    limits = CageLimits(open_files=50, file_size_mb=1, cpu_seconds=5)
    asked = "; ".join(f"ulimit -{letter}" for letter in "cnft")
    told = await held.works(
        f"{asked}; (head -c 2000000 /dev/zero > src/big) 2>/dev/null; wc -c < src/big", limits=limits
    )
    assert told.split() == ["0", "50", "2048", "5", str(1 << 20)]


@pytest.mark.requirement("cages.kernel.limits")
@pytest.mark.skipif("pids" not in bounded_together(), reason="no control group bounds processes here")
async def test_processes_are_bounded_together_and_the_group_goes_with_the_cage(held: Held) -> None:
    before = groups()
    limits = CageLimits(pids=12)
    script = "for one in $(seq 40); do sleep 5 & done; wait"
    done = await held.sh(script, limits=limits)
    assert b"fork" in done.stderr.lower()
    assert await held.works("echo fine", limits=limits) == "fine\n"
    assert groups() != before
    await held.cages.end("test")
    assert groups() == before


def groups() -> set[str]:
    """Return the control groups of cages of this process."""
    return set(glob.glob(f"/sys/fs/cgroup/**/kaged-{os.getpid()}-*", recursive=True))
