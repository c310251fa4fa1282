"""Where a program named in the project file, the local configuration or a table is looked for.

Owns: that the project's folder and relative places count only where the project file names them. Never:
starting a program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from app.programs import all_on_path, packaged, search_path

Source = Literal["project", "local", "built-in"]


@dataclass(frozen=True, slots=True)
class Unusable:
    """The reason why a program that was found is unusable."""

    reason: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context of a look-up. `root` is the project's real folder; None outside of projects. `chosen`: the
    project declares this command, so a program in the project is accepted."""

    environment: Mapping[str, str]
    root: Path | None
    chosen: bool = False


InstalledT = TypeVar("InstalledT")


class ProgramPlaces:
    """The programs that a daemon with this environment may use for the project in `root`."""

    def __init__(self, environment: Mapping[str, str], root: Path | None) -> None:
        self.environment = environment
        self.root = None if root is None else Path(os.path.realpath(root))

    @property
    def search_path(self) -> str:
        """The PATH for what is started: nothing of the project, nothing relative."""
        return search_path(self.environment, outside=self.root)

    def on_path(self, name: str) -> Iterator[Path]:
        """Yield what the PATH has under the name, hidden ones too."""
        yield from all_on_path(name, self.environment, outside=self.root)

    def packaged(self, name: str) -> Iterator[Path]:
        """Yield the program that this installation brings."""
        found = packaged(name)
        if found is not None:
            yield found

    def declared(self, word: str, source: Source) -> Iterator[Path]:
        """Yield what a declared command means: a bare name is looked up; a path of the project file
        starts at the project's root, one of the local configuration is absolute or begins with `~/`."""
        if "/" not in word:
            yield from self.on_path(word)
            yield from self.packaged(word)
            return
        if word.startswith("~/") and source == "local":
            word = self.environment.get("HOME", "~") + word[1:]
        if not os.path.isabs(word):
            if source != "project" or self.root is None:
                return
            word = os.path.normpath(self.root / word)
        if os.path.isfile(word) and os.access(word, os.X_OK):
            yield Path(word)

    def first_usable(
        self,
        look_at: Callable[[Path, tuple[str, ...], Surroundings], InstalledT | Unusable],
        programs: Iterable[Path],
        command: tuple[str, ...],
        reasons: list[str],
        *,
        chosen: bool,
    ) -> InstalledT | None:
        """Return the first of the programs that can be started with the arguments of `command`. Why others
        cannot is added to `reasons`."""
        around = Surroundings(self.environment, self.root, chosen)
        for program in programs:
            found = look_at(program, command[1:], around)
            if not isinstance(found, Unusable):
                return found
            if found.reason not in reasons:
                reasons.append(found.reason)
        return None


def absence(what: str, names: Iterable[str], reasons: list[str], source: Source) -> str:
    """Return why there is no `what` ("language server for go"): of these names none was found, or each that
    was found is unusable for a reason."""
    if reasons:
        return f"no {what} can be used: {'; '.join(reasons)}"
    programs = " or ".join(f"`{name}`" for name in dict.fromkeys(names))
    if source == "built-in":
        return f"no {what}: {programs} is not on the PATH of the daemon"
    where = "the project file" if source == "project" else "the local configuration"
    return f"no {what}: {programs} of {where} was not found"
