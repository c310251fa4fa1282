"""Toolchains that no cage contains, because they lie outside the system's folders.

Owns: which programs are looked for, and the setting that adds them. Never: starting them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.bridges.installed.installation_places import Surroundings, needed_places
from app.programs import on_path

_PROGRAMS = (
    *("cargo", "go", "node", "deno", "bun", "java", "mvn", "gradle", "ruby", "php", "composer", "dotnet"),
    *("elixir", "mix", "swift", "zig", "ghc", "cabal", "dart", "flutter", "uv", "poetry", "pdm"),
)
_RUSTUP = "rustup"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A program at `program`, with the folders and the environment (`env`) that a cage needs for it."""

    name: str
    program: Path
    folders: tuple[Path, ...]
    env: Mapping[str, str]

    def advice(self) -> str:
        """Return the settings that add it to cages."""
        folders = ", ".join(f'"{folder}"' for folder in self.folders)
        text = f"[sandbox] read_only = [{folders}]"
        if self.env:
            text += f", and in the cage env: {{ {', '.join(f'{k}: {v}' for k, v in self.env.items())} }}"
        return text


def hidden_toolchains(
    environment: Mapping[str, str], shown: Sequence[Path], *, home: Path
) -> Iterator[Toolchain]:
    """Yield the toolchains on the PATH outside the system's folders and `shown`. `home` is that of the
    daemon's user. Blocks: follows links, reads scripts."""
    visible = [Path(os.path.realpath(one)) for one in shown]
    around = Surroundings(home, environment=environment)
    for name in _PROGRAMS:
        program = on_path(name, environment)
        if program is None:
            continue
        places = [*needed_places([str(program)], around)]
        env = {}
        if Path(os.path.realpath(program)).name == _RUSTUP:
            state = Path(environment.get("RUSTUP_HOME") or home / ".rustup")
            places.append(state)
            env = {"RUSTUP_HOME": str(state)}
        folders = [one for one in places if not any(one.is_relative_to(other) for other in visible)]
        folders = [one for one in folders if not one.is_relative_to("/etc")]
        if folders:
            yield Toolchain(name, program, tuple(folders), env)
