"""What `code.lsp` answers, for all its actions.

Owns: the shapes. Lines count from 1, columns from 0 in characters. Never: making them.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.messages import Frozen
from app.tools.contract.definition import ToolResult


class ResultRow(Frozen):
    """Base of the rows in a result, of which there may be thousands."""


class Place(ResultRow):
    """A place that the server named. One in a file that the caller may not read has its path and line
    only."""

    path: str
    line: int
    character: int | None = None
    preview: str | None = Field(default=None, description="The line there.")
    outside_cage: bool | None = Field(default=None, description="True: nothing more may be shown.")
    outside_project: bool | None = Field(default=None, description="True: in a library.")


class Related(ResultRow):
    path: str
    line: int
    message: str | None = None
    outside_cage: bool | None = None


class Diagnostic(ResultRow):
    path: str | None = Field(default=None, description="Where a folder was asked about.")
    line: int
    character: int
    end_line: int
    end_character: int
    severity: str
    message: str
    code: str | None = None
    source: str | None = None
    tags: list[str] | None = Field(default=None, description="unnecessary, deprecated.")
    related: list[Related] | None = None


class Symbol(ResultRow):
    name: str | None = None
    kind: str | None = None
    path: str
    line: int
    character: int | None = Field(default=None, description="Of the name.")
    end_line: int | None = Field(default=None, description="Where its definition ends.")
    container: str | None = None
    outside_cage: bool | None = None
    outside_project: bool | None = None


class Relative(ResultRow):
    """A function that calls another or is called by it, or a type above or below another."""

    depth: int = Field(description="How many steps from what was asked about.")
    name: str | None = None
    kind: str | None = None
    path: str
    line: int
    character: int | None = None
    of: str | None = Field(default=None, description="What it calls, is called by, or is a type of.")
    calls: list[int] | None = Field(default=None, description="The lines of the calls, where they are made.")
    outside_cage: bool | None = None
    outside_project: bool | None = None


class FileChange(ResultRow):
    path: str
    edits: int | None = None
    operation: str | None = Field(default=None, description="create, delete or rename.")
    new_path: str | None = None


class EditShown(ResultRow):
    path: str
    line: int | None = None
    character: int | None = None
    end_line: int | None = None
    end_character: int | None = None
    old: str | None = None
    new: str | None = None
    operation: str | None = Field(default=None, description="create, delete or rename.")
    new_path: str | None = None
    outside_cage: bool | None = None


class CodeAction(ResultRow):
    title: str
    kind: str | None = None
    preferred: bool | None = None
    disabled: str | None = Field(default=None, description="Why it cannot be used now.")
    edits: list[EditShown] | None = None
    truncated: bool | None = None
    command: str | None = Field(default=None, description="The server would run it; it is not run here.")


class Point(ToolResult):
    line: int
    character: int


class Range(ToolResult):
    start: Point
    end: Point


class Server(ToolResult):
    language: str
    state: str = Field(
        description="configured (not installed), installed, starting, ready, crashed, stopped, unavailable "
        "(crashed too often: reload)."
    )
    source: str | None = Field(default=None, description="Who says which command: project, local, built-in.")
    command: list[str] | None = None
    pid: int | None = None
    memory_mb: int | None = None
    root: str | None = None
    restarts: int | None = None
    open_documents: int | None = None
    loading: str | None = Field(default=None, description="What it is still doing.")
    problem: str | None = Field(default=None, description="Why it ended, or how to install it.")


class Unanswered(ToolResult):
    path: str | None = None
    language: str | None = None
    reason: str


class NotLookedAt(ToolResult):
    """Files below one folder that no server has looked at."""

    path: str = Field(description="The folder, of the package or of the files.")
    files: int
    reason: str


class LspResult(ToolResult):
    """The fields of one action are set, the others left out."""

    path: str | None = None
    definitions: list[Place] | None = None
    references: list[Place] | None = None
    symbols: list[Symbol] | None = None
    diagnostics: list[Diagnostic] | None = None
    hierarchy: list[Relative] | None = None
    changes: list[FileChange] | None = None
    total_edits: int | None = None
    files_changed: int | None = None
    actions: list[CodeAction] | None = None
    content: str | None = None
    documentation: str | None = None
    range: Range | None = None
    servers: list[Server] | None = None
    reloaded: list[str] | None = Field(default=None, description="The languages whose servers restart.")
    language: str | None = None
    server: str | None = None
    offers: dict[str, bool] | None = Field(default=None, description="Which actions the server can do.")
    position_encoding: str | None = None
    capabilities: dict[str, Any] | None = Field(default=None, description="As the protocol names them.")
    result: Any = Field(default=None, description="The server's answer to a request.")
    count: int | None = Field(default=None, description="How many there are, also where not all are shown.")
    files: int | None = Field(default=None, description="How many files were looked at.")
    limited_by_cage: bool | None = Field(
        default=None, description="True: a file imports what the server does not see, as your cage does not."
    )
    changed: int | None = Field(default=None, description="How many files differ from the last commit.")
    clean: bool | None = Field(
        default=None, description="No error; check_changes: no new one. Missing where that is not known."
    )
    may_be_older: bool | None = Field(
        default=None, description="True: some of these errors may be in the last commit, too."
    )
    fresh: bool | None = Field(default=None, description="False: this may be about an older content.")
    not_fresh: list[Unanswered] | None = Field(default=None, description="What has no answer yet, and why.")
    not_looked_at: list[NotLookedAt] | None = Field(
        default=None,
        description="Code that no server has looked at: of a folder, or that uses the same name.",
    )
    mentions: int | None = Field(
        default=None,
        description="rename: files that still hold the old name: comments, strings, other symbols.",
    )
    problem: str | None = Field(
        default=None, description="What the server complains of: the answer may lack something because of it."
    )
    truncated: bool | None = None
    note: str | None = None
