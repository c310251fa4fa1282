"""The command that installs a program on this system, by package manager.

Owns: the commands of package managers, and which of them this machine has. Never: a particular program, or
installing one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.programs import on_path

_LINES: Mapping[str, str] = {
    "npm": "npm install -g {}",
    "pip": "pip install {}",
    "pipx": "pipx install {}",
    "go": "go install {}@latest",
    "gem": "gem install {}",
    "dotnet": "dotnet tool install --global {}",
    "composer": "composer global require {}",
    "rustup": "rustup component add {}",
    "cargo": "cargo install {}",
    "cpan": "cpan {}",
    "apt": "sudo apt-get install {}",
    "dnf": "sudo dnf install {}",
    "pacman": "sudo pacman -S {}",
    "apk": "sudo apk add {}",
    "zypper": "sudo zypper install {}",
    "brew": "brew install {}",
    "other": "{}",
}
_PROGRAMS: Mapping[str, tuple[str, ...]] = {"pip": ("pip", "pip3"), "apt": ("apt-get",)}
PACKAGE_MANAGERS: Mapping[str, tuple[str, ...]] = {
    manager: _PROGRAMS.get(manager, (manager,)) for manager in _LINES if manager != "other"
}
"""The programs of which one must be there for a hint to be of use."""


def installation_hints(packages: Mapping[str, str]) -> dict[str, str]:
    """Return one command for each package manager; `{"npm": "a b"}` are names of packages, `other` is a
    sentence."""
    return {manager: _LINES[manager].format(names) for manager, names in packages.items()}


def fitting_first(hints: Iterable[Mapping[str, str]], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the hints by package manager, the first for each: those of this system come first, then what
    needs none. Blocks: looks for programs."""
    install: dict[str, str] = {}
    for one in hints:
        for manager, hint in one.items():
            install.setdefault(manager, hint)
    order = {True: 0, False: 2}
    rank = {manager: 1 if manager == "other" else order[_has(manager, environment)] for manager in install}
    return {manager: install[manager] for manager in sorted(install, key=rank.__getitem__)}


def _has(manager: str, environment: Mapping[str, str]) -> bool:
    programs = PACKAGE_MANAGERS.get(manager, ())
    return any(on_path(program, environment) is not None for program in programs)
