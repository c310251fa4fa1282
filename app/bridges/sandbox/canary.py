"""The canary: a command in a cage that proves what this machine can hold.

Owns: the trial, its controls inside and outside, and the finding. Never: why a machine cannot
(`host_support`).
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import platform
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import CageKeeper
from app.bridges.sandbox.canary_process import EVERYWHERE, MUST_BE_OWN, WITH_NAMESPACES
from app.bridges.sandbox.seccomp_rules import architecture_of
from app.bridges.sandbox.system_view import interpreter
from app.bridges.sandbox.tier import Tier, TierName
from app.cages.cage import Cage, Mount
from app.errors import ToolError

CANARY_SECONDS = 30.0
"""It takes a tenth of a second; this is for a machine under load."""
_PROGRAM = Path(__file__).with_name("canary_process.py")
_ANSWER_BYTES = 65_536
_NEW_USER, _ATTACH, _NOBODY, _BAD = 0x10000000, 16, 2**22 + 7, 1
_CALLS = (
    ("unshare", (_NEW_USER | _BAD,), errno.EPERM),
    ("ptrace", (_ATTACH, _NOBODY), errno.EPERM),
    ("keyctl", (99_999,), errno.EPERM),
    ("socket", (socket.AF_UNIX, socket.SOCK_STREAM, 0), errno.EPERM),
    ("clone3", (_BAD, 0), errno.ENOSYS),
)
"""Calls that end otherwise without the filter, by arguments that the kernel itself finds bad."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial: the names of the checks that hold, and of those that do not. `problem`: why
    there was no trial."""

    passed: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    problem: str | None = None

    @property
    def holds(self) -> bool:
        return self.problem is None and not self.failed


async def try_cage(name: TierName, keeper: Callable[[Tier], CageKeeper]) -> Trial:
    """Run the canary in a cage of the tier `name` (full or landlock). `keeper` gives cages of a tier."""
    with ExitStack() as stack:
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="kaged-canary-"))
        try:
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.setblocking(False)
            ground = await asyncio.to_thread(_Ground.lay, folder, listener.getsockname()[1])
            async with asyncio.timeout(CANARY_SECONDS):
                trial = await _run(name, keeper, ground)
            if trial.problem is not None:
                return trial
            seen = await asyncio.to_thread(ground.seen_outside, listener)
            return Trial(trial.passed, (*trial.failed, *seen))
        except TimeoutError:
            return Trial(problem=f"the trial did not end within {CANARY_SECONDS:g} seconds")
        except OSError as problem:
            return Trial(problem=f"the trial cannot be prepared: {problem}")
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Ground:
    """Where the trial happens: a folder that is granted, one that is not, and somebody who listens."""

    granted: Path
    outside: Path
    port: int
    word: str

    @classmethod
    def lay(cls, folder: Path, port: int) -> _Ground:
        """Blocks. Raises OSError."""
        folder = folder.resolve()
        ground = cls(folder / "granted", folder / "outside", port, secrets.token_hex(16))
        for one in (ground.granted, ground.outside):
            one.mkdir()
            (one / "canary").write_text(ground.word)
        return ground

    def seen_outside(self, listener: socket.socket) -> list[tuple[str, str]]:
        """Return what happened outside that must not have, or did not that must have. Blocks."""
        found = []
        try:
            listener.accept()[0].close()
            found.append(("network absent", "a connection arrived at the host"))
        except BlockingIOError:
            pass
        with socket.create_connection(("127.0.0.1", self.port), 1):
            listener.settimeout(1)
            listener.accept()[0].close()  # who may connect arrives: that nobody did says something
        if sorted(one.name for one in self.outside.iterdir()) != ["canary"]:
            found.append(("other files absent", "files were made outside"))
        if (self.outside / "canary").read_text() != self.word:
            found.append(("other files absent", "a file outside was changed"))
        answer = self.granted / "answer"
        if not answer.exists() or answer.read_text() != self.word:
            found.append(("granted files written", "what was written has not arrived"))
        return found

    def asked(self, name: TierName) -> dict[str, Any]:
        calls = architecture_of(platform.machine()).calls
        return {
            "granted": str(self.granted),
            "outside": str(self.outside),
            "word": self.word,
            "port": self.port,
            "daemon": os.getpid(),
            "own_processes": name == "full",
            "namespaces": {one: os.readlink(f"/proc/self/ns/{one}") for one in MUST_BE_OWN},
            "system_calls": [(call, calls[call], arguments, wanted) for call, arguments, wanted in _CALLS],
        }


async def _run(name: TierName, keeper: Callable[[Tier], CageKeeper], ground: _Ground) -> Trial:
    key = f"canary/{ground.word}"
    cages = keeper(Tier(name, "this is tried"))
    cage = Cage(mounts=(Mount(ground.granted, "rw"),))
    try:
        children = await cages.children(key, cage, ground.granted)
        program = await asyncio.to_thread(_PROGRAM.read_text)
        done = await children.run(
            [
                interpreter(),
                "-I",
                "-S",
                "-E",
                "-B",
                "-c",
                program,
                json.dumps(ground.asked(name)),
            ],
            owner="canary",
            cwd=ground.granted,
            env={},
            seconds=CANARY_SECONDS,
            max_output=_ANSWER_BYTES,
        )
    except ToolError as refused:
        return Trial(problem=str(refused.detail.get("reason") or refused.message))
    except (SpawnFailed, ValueError) as refused:
        return Trial(problem=str(refused))
    finally:
        await cages.end(key)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    try:
        return _as_trial(json.loads(done.stdout), name)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Trial(problem=lines[-1][:300] if lines else f"the trial ended with {done.exit_code}")


def _as_trial(answer: Any, name: TierName) -> Trial:
    """Read the report of the canary; a check without a report has failed."""
    passed = tuple(str(one) for one in answer["passed"])
    failed = {str(one): str(seen) for one, seen in answer["failed"].items()}
    checks = EVERYWHERE + (WITH_NAMESPACES if name == "full" else ())
    for check in checks:
        called = check.__name__.replace("_", " ")
        if called not in passed:
            failed.setdefault(called, "nothing was said of it")
    return Trial(passed, tuple(failed.items()))
