"""The parameters of `code.lsp`, flat for all actions, and what each action needs of them.

Owns: names, bounds and descriptions; which are required for what; what a call touches. Never: what
a parameter's value means in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from app.errors import ToolError, invalid_params
from app.tools.contract.definition import (
    Boolean,
    Effects,
    NaturalNumber,
    PositiveInteger,
    ToolParams,
    WholeText,
)


def wrong(field: str, problem: str) -> ToolError:
    """Return the error for one wrong parameter."""
    return invalid_params(f"code.lsp: {field}: {problem}", {field: problem})


Action = Literal[
    "diagnostics",
    "check_changes",
    "definition",
    "references",
    "symbols",
    "rename",
    "rename_file",
    "code_actions",
    "hover",
    "type_definition",
    "implementation",
    "call_hierarchy",
    "type_hierarchy",
    "status",
    "reload",
    "capabilities",
    "request",
]
ACTIONS: tuple[Action, ...] = get_args(Action)
Severity = Literal["error", "warning", "information", "hint", "all"]
MAX_SHOWN = 10_000
_AT_A_POSITION = (
    *("definition", "references", "rename", "hover", "type_definition", "implementation"),
    *("call_hierarchy", "type_hierarchy"),
)
_WITHOUT_PATH = ("status", "reload", "capabilities", "check_changes")
WHOLE_PROJECT = frozenset(
    {"references", "implementation", "symbols", "rename", "rename_file", "diagnostics", "check_changes"}
    | {"call_hierarchy", "type_hierarchy"}
)
"""Actions whose answers may need all of the project."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "rename": ("new_name",),
    "rename_file": ("new_name",),
    "request": ("query", "payload"),
}


class LspParams(ToolParams):
    action: Action = Field(description="What to do.")
    path: str | None = Field(
        default=None,
        description="File or folder. Needed for all actions but check_changes, status, reload, capabilities.",
    )
    line: PositiveInteger | None = Field(default=None, description="Line, from 1.")
    character: NaturalNumber | None = Field(
        default=None, description="Column, from 0, in characters. Or give symbol."
    )
    symbol: Annotated[WholeText, Field(min_length=1, max_length=500)] | None = Field(
        default=None,
        description="The name on `line` that is meant, instead of character; name#2 for the second there. "
        "Without line: what the file declares, as Class.method.",
    )
    direction: Literal["incoming", "outgoing", "supertypes", "subtypes"] | None = Field(
        default=None,
        description="call_hierarchy: incoming (default) or outgoing. type_hierarchy: subtypes (default) or "
        "supertypes.",
    )
    depth: PositiveInteger = Field(default=1, description="Hierarchies: how many steps, at most 5.")
    severity: Severity = Field(default="all", description="diagnostics: only this severity.")
    include_declaration: Boolean = Field(default=False, description="references: the declaration too.")
    scope: Literal["document", "workspace"] = Field(
        default="document", description="symbols: outline of the file, or search the project."
    )
    query: Annotated[WholeText, Field(max_length=500)] | None = Field(
        default=None, description="symbols: name to search. request: the method, textDocument/hover."
    )
    limit: PositiveInteger | None = Field(
        default=None, description="Most results to show. Default: 50 symbols, 100 of all else."
    )
    offset: NaturalNumber = Field(default=0, description="Results to skip.")
    new_name: Annotated[WholeText, Field(max_length=4096)] | None = Field(
        default=None, description="rename: the new name. rename_file: the new path."
    )
    include_diagnostics: Boolean = Field(
        default=True, description="code_actions: also those that fix a diagnostic there."
    )
    payload: Annotated[WholeText, Field(max_length=200_000)] | None = Field(
        default=None, description="request: the parameters as JSON; textDocument is filled in."
    )
    confirm: Boolean | Annotated[WholeText, Field(min_length=1, max_length=64)] = Field(
        default=False,
        description="rename, rename_file: true also makes changes that the server wants confirmed; the value "
        "that a refusal names leaves the uses or errors that it lists.",
    )

    @property
    def most(self) -> int:
        """How many results to show."""
        return min(self.limit or (50 if self.action == "symbols" else 100), MAX_SHOWN)

    def confirms(self, digest: str) -> bool:
        """Tell whether the list of a refusal with this digest is confirmed, by itself or with others."""
        return isinstance(self.confirm, str) and digest in self.confirm.split("+")


def check(params: LspParams) -> None:
    """Raise ToolError `invalid_params` when something is missing that the action needs."""
    action = params.action
    needed: tuple[str, ...] = () if action in _WITHOUT_PATH else ("path",)
    needed += _REQUIRED.get(action, ())
    by_name = params.symbol is not None and params.character is None
    if action in (*_AT_A_POSITION, "code_actions") and not by_name:
        needed += ("line",)
    if action == "symbols" and params.scope == "workspace":
        needed += ("query",)
    for name in needed:
        if getattr(params, name) in {None, ""}:
            raise wrong(name, f"is required for {action}")
    if action in _AT_A_POSITION and params.character is None and params.symbol is None:
        raise wrong("character", f"is required for {action}, or symbol in its place")
    if params.character is not None and params.symbol is not None:
        raise wrong("symbol", "give either character or symbol")


def effects_of(params: LspParams) -> Effects:
    """Return what a call touches: what only looks needs no right to write."""
    if params.action == "check_changes":
        return Effects(reads=(params.path or ".",))
    if params.path is None:
        return Effects()
    if params.action == "rename":
        return Effects(writes=(params.path,), exclusive=True, works_out_writes=True)
    if params.action == "rename_file":
        both = (params.path, params.new_name) if params.new_name else (params.path,)
        return Effects(writes=both, exclusive=True)
    return Effects(reads=(params.path,))
