"""What a command would run besides itself.

Owns: the few forms that can have. Never: finding it (`shell_wrappers`, `shell_git`).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.tools.authorisation.shell_script import Word


@dataclass(frozen=True, slots=True)
class Commands:
    """Command words that are started as they are."""

    commands: tuple[tuple[Word, ...], ...]
    assignments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A script given as text. It is not `whole` where something else is put into it before it runs."""

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell that reads its script from its input."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown program is run."""


Inner = Commands | Text | Shell | Unknown | None


def script_of(words: tuple[Word, ...]) -> Text | Unknown:
    """Return the script that the words make when one blank is put between them."""
    if all(word.is_certain for word in words):
        return Text(" ".join(word.text for word in words))
    return Unknown()
