"""The parts of a shell command line, as rules and watchdogs see them.

Owns: words, parts, redirections, and their text without quotes. Never: reading syntax (`shell_reader`),
judging.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Word:
    """One word without its quoting, expansions as they are written. The first `known` characters
    are certain; what follows depends on variables, file names or the output of a command."""

    text: str
    known: int

    @property
    def is_certain(self) -> bool:
        return self.known == len(self.text)


def certain(text: str) -> Word:
    return Word(text, len(text))


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command: what a shell would start, or do itself. `inputs` are the parts that its input comes
    from, by pipes or substitutions. `inside` names the wrapper (`sudo`, `xargs`, `sh`) that runs it. `heard`
    are the texts that it reads for certain. An unreadable part is a script that cannot be parsed."""

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    inputs: tuple[Part, ...] = ()
    inside: str | None = None
    unreadable: bool = False
    heard: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program's name without its folder, or "" when it is not certain."""
        if self.unreadable or not self.words or not self.words[0].is_certain:
            return ""
        return self.words[0].text.rsplit("/", 1)[-1]

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words[1:])

    @property
    def text(self) -> str:
        """The part as rules see it: assignments and words, one space between."""
        return self.spellings[0][0]

    @property
    def is_dynamic(self) -> bool:
        """Whether the program is unknown: no certain command word, or one with blanks."""
        if self.unreadable:
            return True
        if not self.words:
            return False
        first = self.words[0]
        return not first.is_certain or first.text.split() != [first.text]

    @property
    def spellings(self) -> tuple[tuple[str, int], ...]:
        """The text, then the same command without assignments and without the program's folder,
        each with the number of its leading characters that are certain."""
        whole = _spelled(tuple(certain(one) for one in self.assignments) + self.words)
        if self.unreadable or not self.words:
            return ((whole[0], 0 if self.unreadable else whole[1]),)
        found = [whole, _spelled(self.words)]
        if self.name:
            found.append(_spelled((certain(self.name), *self.words[1:])))
        return tuple(dict.fromkeys(found))

    def given(self, inputs: tuple[Part, ...]) -> Part:
        return replace(self, inputs=(*self.inputs, *inputs))

    def all_inputs(self) -> tuple[Part, ...]:
        """Every part whose output may reach this one, near ones first."""
        found: dict[int, Part] = {}
        queue = list(self.inputs)
        while queue:
            part = queue.pop(0)
            if id(part) not in found:
                found[id(part)] = part
                queue.extend(part.inputs)
        return tuple(found.values())


def _spelled(words: tuple[Word, ...]) -> tuple[str, int]:
    known = 0
    for index, word in enumerate(words):
        known += word.known + (1 if index else 0)
        if not word.is_certain:
            break
    return " ".join(word.text for word in words), known


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that the shell itself opens for a command."""

    path: Word
    writes: bool


@dataclass(slots=True)
class Script:
    """All that a command line would run. When it is not `readable`, `parts` is only what was
    recognised, and something else may run as well."""

    text: str
    parts: list[Part] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    readable: bool = True

    @property
    def changes_directory(self) -> bool:
        return any(part.name in {"cd", "pushd", "popd", "chdir"} for part in self.parts)
