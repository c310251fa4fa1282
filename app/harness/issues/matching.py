"""Which entry of a checklist a text means.

Owns: finding an entry by its content, and the errors that help a model to name one. Pure. Never: what is
then done with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.errors import ToolError
from app.states import IssueTodoState
from app.storage.models import IssueTodo

ID_LIKE = re.compile(r"(?:task|todo|item|step|id)-\d+", re.IGNORECASE)
_OWN_ID = re.compile(r"todo_[0-9A-HJKMNP-TV-Z]{26}")
_LIST_MARK = re.compile(r"(?:[-*]\s+)?\[[ xX>~-]\]\s+")
_KIND_MARK = re.compile(r" \(criterion(?:, (?:accepted|claimed))?\)$")
_LISTED, _LISTED_CHARACTERS = 20, 120
_OPEN = frozenset({IssueTodoState.PENDING.value, IssueTodoState.IN_PROGRESS.value})


def one_line(text: str) -> str:
    """Return a text as an entry keeps it: one line, without space around it."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """Return what two texts have in common that mean the same entry."""
    return one_line(text).casefold()


def is_open(row: IssueTodo) -> bool:
    """Tell whether an entry is still to be done."""
    return row.status in _OPEN


def is_live(row: IssueTodo) -> bool:
    """Tell whether an entry is part of the list: it was not abandoned."""
    return row.status != IssueTodoState.ABANDONED.value


def find(rows: Sequence[IssueTodo], content: str) -> IssueTodo:
    """Return the entry that `content` means: the same text, without regard to case and space, else the
    only one that contains it. What was abandoned is looked at last.

    Raises ToolError `todo_not_found`, `ambiguous_todo`, or `content_addressing_hint` for an identifier."""
    live = [row for row in rows if is_live(row)]
    abandoned = [row for row in rows if not is_live(row)]
    same = _same(live, content)
    if same:
        return _only(_still_open(same), content)
    if ID_LIKE.fullmatch(content.strip()) or _OWN_ID.fullmatch(content.strip()):
        raise _is_an_identifier(content, live)
    for found in (_containing(live, content), _same(abandoned, content), _containing(abandoned, content)):
        if found:
            return _only(found, content)
    raise _not_found(content, live)


def _same(rows: Iterable[IssueTodo], content: str) -> list[IssueTodo]:
    wanted = {folded(content), folded(_without_marks(content))}
    return [row for row in rows if folded(row.content) in wanted]


def _containing(rows: Iterable[IssueTodo], content: str) -> list[IssueTodo]:
    wanted = folded(_without_marks(content))
    return [row for row in rows if wanted and wanted in folded(row.content)]


def _without_marks(content: str) -> str:
    """Return the content of a line that was copied from the list as it is shown."""
    return _KIND_MARK.sub("", _LIST_MARK.sub("", content.strip(), count=1))


def _still_open(rows: list[IssueTodo]) -> list[IssueTodo]:
    """Prefer open entries to others with the same text."""
    return [row for row in rows if is_open(row)] or rows


def _only(found: list[IssueTodo], content: str) -> IssueTodo:
    if len(found) == 1:
        return found[0]
    raise ToolError(
        "ambiguous_todo",
        f"{_quoted(content)} could be any of {len(found)} tasks: {_listed(found)}. "
        "Give the full text of the one that you mean.",
        detail={"content": content, "candidates": [row.content for row in found[:_LISTED]]},
    )


def _is_an_identifier(content: str, live: Sequence[IssueTodo]) -> ToolError:
    return ToolError(
        "content_addressing_hint",
        f"{_quoted(content)} looks like an identifier. Tasks are addressed by their text: "
        f"give the task's full text as content. {_what_there_is(live)}",
        detail={"content": content, "items": [row.content for row in live[:_LISTED]]},
    )


def _not_found(content: str, live: Sequence[IssueTodo]) -> ToolError:
    return ToolError(
        "todo_not_found",
        f"No task matches {_quoted(content)}. {_what_there_is(live)}",
        detail={"content": content, "items": [row.content for row in live[:_LISTED]]},
    )


def _what_there_is(live: Sequence[IssueTodo]) -> str:
    if not live:
        return "The list is empty: put tasks on it with the action add or set first."
    return f"On the list: {_listed(live)}. Give the full text of one of them, or add the task first."


def _listed(rows: Sequence[IssueTodo]) -> str:
    more = len(rows) - _LISTED
    shown = ", ".join(_quoted(row.content) for row in rows[:_LISTED])
    return f"{shown} and {more} more (action view shows them all)" if more > 0 else shown


def _quoted(text: str) -> str:
    line = one_line(text)
    return f'"{line}"' if len(line) <= _LISTED_CHARACTERS else f'"{line[:_LISTED_CHARACTERS]}..."'
