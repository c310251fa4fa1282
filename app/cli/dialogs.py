"""Dialogs for questions: what to show, and what a typed line means.

Owns: the steps of each kind (permission, questions with options, form, plan) and the body of the answer.
Never: the terminal (`questions`) or requests.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

NONE_CHOSEN = "-"
_END_OF_TEXT = "."
_YES, _NO = ("y", "yes", "true", "1"), ("n", "no", "false", "0")


class NotUnderstood(Exception):
    """A typed line is no valid answer; the message says what is."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of an answer that is not uploaded yet."""

    path: Path


@dataclass(frozen=True, slots=True)
class Line:
    """One line to show. `asks` marks a line that says what to type."""

    text: str
    asks: bool = False
    dim: bool = False


class Dialog(Protocol):
    """One open question. `name` starts the notes about it."""

    name: str

    def opening(self) -> list[Line]:
        """Return the question."""

    def prompt(self) -> list[Line]:
        """Return what to type next."""

    def take(self, typed: str) -> Mapping[str, Any] | None:
        """Take one line; return the body of the answer once it is complete, else None. Raises
        NotUnderstood."""

    def restart(self) -> None:
        """Start again, after the daemon refused the answer."""


def dialog_of(kind: str, request: Mapping[str, Any]) -> Dialog:
    match kind:
        case "permission":
            return ConsentDialog(request)
        case "form":
            return FormDialog(request)
        case "plan":
            return PlanDialog(request)
        case _:
            return ChoiceDialog(asked_in(kind, request), kind, request.get("summary", ""))


_WORDS = {"y": "once", "a": "always", "n": "reject"}
_HELP = "type y (once), a (always) or n (no, with an optional reason), then Enter"
_ONCE_HELP = "type y (once) or n (no, with an optional reason), then Enter; no rule can allow it always"


class ConsentDialog:
    """A permission request, answered by a letter."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._help = _HELP if request["suggestions"] else _ONCE_HELP
        self.name = str(request["tool"])

    def opening(self) -> list[Line]:
        asked = self._request
        lines = [Line(f"? {asked['tool']} needs your consent. {visible(asked['reason'])}", asks=True)]
        for subject in asked["subjects"]:
            lines += [Line(f"    {visible(part)}") for part in str(subject).split("\n")]
        return lines

    def prompt(self) -> list[Line]:
        rules = ", ".join(f"{rule['permission']} {rule['pattern']}" for rule in self._request["suggestions"])
        offered = [Line(f"  always would allow {visible(rules)}", dim=True)] if rules else []
        return [*offered, Line(f"  {self._help}", asks=True)]

    def take(self, typed: str) -> Mapping[str, Any] | None:
        word, _, rest = typed.strip().partition(" ")
        answer = _WORDS.get(word.lower())
        if answer is None or (answer == "always" and not self._request["suggestions"]):
            raise NotUnderstood(self._help)
        return {"answer": answer} | ({"comment": rest.strip()} if answer == "reject" and rest.strip() else {})

    def restart(self) -> None:
        """The dialog has one step."""


_AFTER_PLAN = {"e": "edits", "a": "ask", "f": "full"}
_PLAN_HELP = (
    "type e, a or f to accept it (in mode edits, ask or full), or n to reject it (with an optional reason), "
    "then Enter"
)


class PlanDialog:
    """A proposed plan, answered by a letter. `kaged session plan` takes a changed one."""

    name = "plan"

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._plan = str(request["plan"])

    def opening(self) -> list[Line]:
        plan = [Line(f"    {visible(part)}") for part in self._plan.split("\n")]
        return [Line("? The agent proposes a plan.", asks=True), *plan]

    def prompt(self) -> list[Line]:
        return [Line(f"  {_PLAN_HELP}", asks=True)]

    def take(self, typed: str) -> Mapping[str, Any] | None:
        word, _, rest = typed.strip().partition(" ")
        if word.lower() == "n":
            return {"decision": "reject"} | ({"comment": rest.strip()} if rest.strip() else {})
        mode = _AFTER_PLAN.get(word.lower())
        if mode is None or rest.strip():
            raise NotUnderstood(_PLAN_HELP)
        return {"decision": "accept", "mode": mode}

    def restart(self) -> None:
        """The dialog has one step."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with options, of either tool. `free`: free text is an answer, too."""

    key: str
    title: str
    description: str
    options: Sequence[tuple[str, str]]
    multiple: bool
    free: bool

    def answer_of(self, typed: str) -> list[str]:
        """Return the chosen labels or the free text. Raises NotUnderstood."""
        text = typed.strip()
        if self.multiple and text == NONE_CHOSEN:
            return []
        labels = [label for label, _ in self.options]
        exact = [label for label in labels if label.casefold() == text.casefold()]
        if exact:
            return exact[:1]
        parts = [part.strip() for part in text.split(",")] if self.multiple else [text]
        chosen = [self._label(part) for part in parts]
        found = [label for label in chosen if label is not None]
        if found and len(found) == len(chosen):
            return list(dict.fromkeys(found))
        if self.free and text:
            return [text]
        raise NotUnderstood(self.hint())

    def hint(self) -> str:
        """Say what can be typed."""
        if not self.options:
            return "type your answer, then Enter"
        several = (
            f"type numbers separated by commas ({NONE_CHOSEN} for none)" if self.multiple else "type a number"
        )
        return several + (", or your own answer" if self.free else "")

    def _label(self, word: str) -> str | None:
        if word.isdecimal() and 1 <= int(word) <= len(self.options):
            return self.options[int(word) - 1][0]
        return next((label for label, _ in self.options if label.casefold() == word.casefold()), None)


def asked_in(kind: str, request: Mapping[str, Any]) -> list[Asked]:
    """Return the questions of an interaction of the kind `ask` or `question`."""
    asked = []
    for place, one in enumerate(request["questions"]):
        options = [(str(o["label"]), str(o.get("description") or "")) for o in one.get("options") or ()]
        if kind == "ask":
            free, multiple = bool(one.get("allow_other")) or not options, bool(one.get("multiple"))
            key, title, more = str(one["id"]), str(one["title"]), str(one.get("description") or "")
        else:
            free, multiple = not options, bool(one.get("multi_select"))
            key, title, more = str(place), str(one["question"]), ""
            if one.get("header"):
                title = f"{one['header']}: {title}"
        asked.append(Asked(key, title, more, options, multiple, free))
    return asked


def answers_body(kind: str, asked: Sequence[Asked], given: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the body of an answer, in the shape of the kind."""
    if kind == "ask":
        return {"answers": dict(given)}
    return {"answers": [given[one.key] for one in asked]}


class ChoiceDialog:
    """Questions one after the other, each answered by a number or a text."""

    name = "question"

    def __init__(self, asked: Sequence[Asked], kind: str, summary: str) -> None:
        self._asked = asked
        self._kind = kind
        self._summary = summary
        self._given: dict[str, list[str]] = {}

    def opening(self) -> list[Line]:
        many = f"{len(self._asked)} questions" if len(self._asked) > 1 else "a question"
        return [Line(f"? The agent has {many} for you.", asks=True), *_lines(self._summary)]

    def prompt(self) -> list[Line]:
        one = self._asked[len(self._given)]
        lines = [Line(f"  {visible(one.title)}", asks=True), *_lines(one.description)]
        for number, (label, description) in enumerate(one.options, start=1):
            said = f" – {visible(description)}" if description else ""
            lines.append(Line(f"  {number:>3}  {visible(label)}{said}"))
        return [*lines, Line(f"  {one.hint()}", asks=True)]

    def take(self, typed: str) -> Mapping[str, Any] | None:
        one = self._asked[len(self._given)]
        self._given[one.key] = one.answer_of(typed)
        if len(self._given) < len(self._asked):
            return None
        return answers_body(self._kind, self._asked, self._given)

    def restart(self) -> None:
        self._given.clear()


@dataclass(slots=True)
class FormDialog:
    """The fields of a form, one after the other."""

    request: Mapping[str, Any]
    name: str = "form"
    _values: dict[str, Any] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)

    def opening(self) -> list[Line]:
        return [Line("? The agent asks you for data.", asks=True), *_lines(self.request.get("summary", ""))]

    def prompt(self) -> list[Line]:
        if self._text:
            return []
        one = self._field()
        needed = "" if one.get("required") else " (may be left empty)"
        return [
            Line(f"  {visible(one['label'])}{needed}", asks=True),
            *_lines(one.get("description") or ""),
            Line(f"  {_FIELD_HINTS.get(one['type'], 'type text')}, then Enter", asks=True),
        ]

    def take(self, typed: str) -> Mapping[str, Any] | None:
        one = self._field()
        if one["type"] == "textarea":
            if typed.strip() != _END_OF_TEXT:
                self._text.append(typed)
                return None
            typed = "\n".join(self._text)
            self._text.clear()
        self._values[one["name"]] = field_value(one, typed)
        if len(self._values) < len(self.request["fields"]):
            return None
        return {"values": {name: value for name, value in self._values.items() if value is not None}}

    def restart(self) -> None:
        self._values.clear()
        self._text.clear()

    def _field(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.request["fields"][len(self._values)]
        return found


_FIELD_HINTS = {
    "textarea": f"type text, and end it with a line that is only `{_END_OF_TEXT}`",
    "url": "type an address that begins with http:// or https://",
    "number": "type a number",
    "boolean": "type y or n",
    "file": "type the path of a file",
}


def field_value(declared: Mapping[str, Any], typed: str) -> Any:
    """Return the value of a form field, None when it is empty. Raises NotUnderstood."""
    text = typed.strip()
    if not text:
        if declared.get("required"):
            raise NotUnderstood(f"{declared['label']} is needed")
        return None
    match declared["type"]:
        case "number":
            return number_of(text)
        case "boolean":
            return truth_of(text)
        case "file":
            return local_file(text)
        case "textarea":
            return typed
        case _:
            return text


def number_of(text: str) -> int | float:
    """Return a text as a number. Raises NotUnderstood."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise NotUnderstood(f"{text!r} is no number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise NotUnderstood(f"{text!r} is no number that can be sent")
    return number


def truth_of(text: str) -> bool:
    """Return a text as a boolean. Raises NotUnderstood."""
    word = text.casefold()
    if word not in (*_YES, *_NO):
        raise NotUnderstood("type y or n")
    return word in _YES


def local_file(text: str) -> LocalFile:
    """Return a readable file. Raises NotUnderstood."""
    path = Path(text).expanduser()
    try:
        with path.open("rb"):
            return LocalFile(path)
    except OSError as error:
        raise NotUnderstood(f"{text} cannot be read: {error.strerror}") from None


def visible(text: str) -> str:
    """Return the text with invisible characters written out: nobody should allow what they cannot read."""
    return "".join(
        f"\\u{{{ord(one):x}}}" if unicodedata.category(one)[0] == "C" or one in "\u2028\u2029" else one
        for one in text
    )


def _lines(text: str) -> list[Line]:
    return [Line(f"    {visible(part)}") for part in text.splitlines() if part.strip()]
