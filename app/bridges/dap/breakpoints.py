"""The breakpoints of one agent, kept also while no program runs.

Owns: their ids, what the adapter made of them, following the edits of files. Never: the wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["line", "function", "instruction", "data"]
Access = Literal["read", "write", "readWrite"]


@dataclass(slots=True, kw_only=True)
class Breakpoint:
    """`id` is ours and stays; `line` follows the text that it stood on, `actual_line` is where the adapter
    put it. Without a session nothing is verified and `message` says so. `hit_count` N: it stops at the
    N-th time and from then on. `reference`: of an instruction; `offset` bytes from there."""

    id: int
    kind: Kind
    path: Path | None = None
    line: int | None = None
    function: str | None = None
    reference: str | None = None
    offset: int | None = None
    data_id: str | None = None
    access: Access | None = None
    condition: str | None = None
    hit_count: int | None = None
    log_message: str | None = None
    verified: bool = False
    actual_line: int | None = None
    message: str | None = None


class Breakpoints:
    """All raise ToolError: `action_not_supported` where the session's adapter cannot do it (nothing is
    changed then), `breakpoint_not_found` by the removals, `debug_request_failed`, `debug_timeout`,
    `too_many_breakpoints`. One that is set again is replaced and keeps its id."""

    async def listed(self) -> tuple[Breakpoint, ...]:
        """Return all, by id, where the files' present content has them."""
        raise NotImplementedError

    def get(self, breakpoint_id: int) -> Breakpoint | None:
        raise NotImplementedError

    async def set_line(
        self,
        path: Path,
        line: int,
        *,
        condition: str | None = None,
        hit_count: int | None = None,
        log_message: str | None = None,
    ) -> Breakpoint:
        """`path` is the real absolute path of the file, which need not be loaded yet."""
        raise NotImplementedError

    async def remove_line(self, path: Path, line: int) -> Breakpoint:
        """By the line that was asked for, else by the one that it was bound to."""
        raise NotImplementedError

    async def set_function(
        self, name: str, *, condition: str | None = None, hit_count: int | None = None
    ) -> Breakpoint:
        raise NotImplementedError

    async def remove_function(self, name: str) -> Breakpoint:
        raise NotImplementedError

    async def set_instruction(
        self,
        reference: str,
        *,
        offset: int | None = None,
        condition: str | None = None,
        hit_count: int | None = None,
    ) -> Breakpoint:
        """Needs a session (`dap_session_ended` without), and is forgotten with it."""
        raise NotImplementedError

    async def remove_instruction(self, reference: str, *, offset: int | None = None) -> Breakpoint:
        raise NotImplementedError

    async def set_data(
        self,
        data_id: str,
        *,
        access: Access | None = None,
        condition: str | None = None,
        hit_count: int | None = None,
    ) -> Breakpoint:
        """Needs a session (`dap_session_ended` without), and is forgotten with it."""
        raise NotImplementedError

    async def remove_data(self, data_id: str) -> Breakpoint:
        raise NotImplementedError
