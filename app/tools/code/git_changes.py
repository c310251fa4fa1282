"""What has changed in a project since the last commit, by git.

Owns: the commands, which run no program that the repository names: no hooks, no file monitor, no filters.
Never: what of it a caller may read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.bridges.processes.child import SpawnFailed
from app.errors import ToolError
from app.programs import ENVIRONMENT
from app.tools.code.call import CodeCall
from app.tools.processes.git_commands import NO_CONFIGURATION, NO_PROGRAMS, QUIET, programs_off
from app.workspace.repository import repository_options

SECONDS = 10.0
MAX_OUTPUT = 16 * 1024 * 1024
_ENVIRONMENT = ENVIRONMENT | NO_CONFIGURATION | NO_PROGRAMS
_DIFF = ("diff", "--name-status", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative")


@dataclass(frozen=True, slots=True)
class GitChanges:
    """The files that differ from the last commit, by their paths from the project's root: `changed` are in
    it, `added` are not, `deleted` are no more. Ignored files are left out."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    @property
    def there(self) -> tuple[str, ...]:
        return (*self.changed, *self.added)


async def git_changes(call: CodeCall) -> GitChanges | None:
    """Return what has changed; None where there is no commit to compare with, and where git cannot be run."""
    off = await _programs_off(call)
    if off is None:
        return None
    compared, others = await asyncio.gather(
        _git(call, [*_DIFF, "--ignore-submodules=all", "HEAD", "--", "."], added=off),
        _git(call, ["ls-files", "-z", "--others", "--exclude-standard", "--", "."], added=off),
    )
    if compared is None:
        return None
    states: dict[str, list[str]] = {}
    fields = _texts(compared)
    for state, name in zip(fields[::2], fields[1::2], strict=False):
        states.setdefault(state[:1], []).append(name)
    added = [*states.pop("A", ()), *_texts(others or b"")]
    deleted = states.pop("D", [])
    changed = [name for names in states.values() for name in names]
    return GitChanges(tuple(sorted(changed)), tuple(sorted(added)), tuple(sorted(deleted)))


async def committed(call: CodeCall, names: Sequence[str]) -> dict[str, bytes]:
    """Return what the last commit has of these files, as it is stored; of those that it has not, nothing."""
    wanted = [name for name in names if "\n" not in name]
    asked = "".join(f"HEAD:./{name}\n" for name in wanted).encode()
    answer = await _git(call, ["cat-file", "--batch"], asked)
    found: dict[str, bytes] = {}
    at = 0
    for name in wanted if answer is not None else ():
        assert answer is not None
        end = answer.find(b"\n", at)
        words = answer[at : max(end, at)].split()
        if end < 0 or len(words) != 3 or not words[2].isdigit():
            at = end + 1 if end >= 0 else len(answer)
            continue  # it is missing there
        size = int(words[2])
        if words[1] == b"blob":
            found[name] = answer[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


async def _programs_off(call: CodeCall) -> dict[str, str] | None:
    """Return the environment in which no filter of the repository is run."""
    listed = await _git(call, ["config", "--name-only", "-z", "--get-regexp", r"^filter\."], codes=(0, 1))
    return None if listed is None else programs_off(listed)


async def _git(
    call: CodeCall,
    arguments: Sequence[str],
    given: bytes = b"",
    *,
    codes: tuple[int, ...] = (0,),
    added: Mapping[str, str] | None = None,
) -> bytes | None:
    accepted = await asyncio.to_thread(repository_options, call.project.root)
    if accepted is None:
        return None
    try:
        children = await call.tooling.processes.for_reading(call.context)
        done = await children.run(
            ["git", *QUIET, *accepted, *arguments],
            owner="changes",
            cwd=call.project.root,
            env={**_ENVIRONMENT, **(added or {})},
            input=given,
            seconds=SECONDS,
            max_output=MAX_OUTPUT,
        )
    except (SpawnFailed, ToolError):
        return None
    well = done.exit_code in codes and not done.timed_out and not done.truncated
    return done.stdout if well else None


def _texts(output: bytes) -> list[str]:
    return [one.decode("utf-8", "surrogateescape") for one in output.split(b"\0") if one]
