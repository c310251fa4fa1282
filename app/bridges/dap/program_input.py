"""What a program reads from its standard input: a file where the program runs, and how it is opened.

Owns: making and removing that file, by the starter of the program's own processes, so that it lies in the
cage of a caged program. Never: which adapters can open it; their templates say so.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError

SHELL = "/bin/sh"
_SECONDS = 10.0
_KEEP = 'umask 077; set -C; cat >"$0"'
OPENED = 'exec "$@" <"$0"'


class ProgramInput:
    """The input of one program. `children` start its processes."""

    def __init__(self, children: ChildStarter, environment: Mapping[str, str], cwd: Path) -> None:
        self._children = children
        self._environment = environment
        self._cwd = cwd
        self._path = f"{environment.get('TMPDIR') or '/tmp'}/kaged-input-{secrets.token_hex(8)}"
        self._is_kept = False

    async def keep(self, text: str) -> str:
        """Write the file and return its path. Raises ToolError `debug_launch_failed`."""
        self._is_kept = True
        problem = await self._run(_KEEP, text.encode())
        if problem is not None:
            raise ToolError("debug_launch_failed", f"the program's input cannot be kept in a file: {problem}")
        return self._path

    async def remove(self) -> None:
        """Remove the file, if there is one."""
        if self._is_kept:
            self._is_kept = False
            await self._run('rm -f "$0"', b"")

    async def _run(self, script: str, text: bytes) -> str | None:
        """Return why it failed, None when it did not."""
        try:
            done = await self._children.run(
                [SHELL, "-c", script, self._path],
                owner="input of a debugged program",
                cwd=self._cwd,
                env=self._environment,
                input=text,
                seconds=_SECONDS,
                max_output=10_000,
            )
        except SpawnFailed as failed:
            return failed.reason
        if done.exit_code == 0 and not done.timed_out:
            return None
        return done.stderr.decode("utf-8", "replace").strip()[:500] or f"exit code {done.exit_code}"


def opening(path: str, command: Sequence[str]) -> list[str]:
    """Return the command with the file as its standard input."""
    return [SHELL, "-c", OPENED, path, *command]


def wrapped_by_gdb(path: str) -> list[str]:
    """Return the options by which gdb starts a program so."""
    return ["-iex", f"set exec-wrapper {SHELL} -c '{OPENED}' {path}"]
