"""How to install what `kaged doctor` finds missing, in the words of this system.

Owns: package names. Never: installing anything.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping

_MANAGERS: Mapping[str, str] = {
    "apt-get": "sudo apt-get install {}",
    "dnf": "sudo dnf install {}",
    "pacman": "sudo pacman -S {}",
    "apk": "sudo apk add {}",
    "zypper": "sudo zypper install {}",
    "brew": "brew install {}",
}
_PACKAGES: Mapping[str, str] = {"bwrap": "bubblewrap"}
_COMMANDS: Mapping[str, str] = {
    "ollama": "install Ollama and start it with `ollama serve`",
}


def how_to_install(program: str) -> str:
    """Return one line that says how to get `program` here."""
    if program in _COMMANDS:
        return _COMMANDS[program]
    package = _PACKAGES.get(program, program)
    for manager, command in _MANAGERS.items():
        if shutil.which(manager):
            return command.format(package)
    return f"install the package {package}"
