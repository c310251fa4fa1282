"""Names of files that other programs read or run by themselves. A cage never writes the hard ones, at any
depth, whether they exist or not. Existing soft ones are read-only; new ones are reported.

Owns: the two classes of names, and their spellings on other file systems. Never: opening files.
"""

from __future__ import annotations

from typing import Literal

from app.workspace import folded

READ_ONLY_NAMES = frozenset(
    {".git", ".gitmodules", ".gitconfig", ".hg", ".svn", ".husky", ".kaged"}
    | {".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".vim", ".vimrc", ".nvimrc", ".exrc"}
    | {".theia", ".gdbinit", ".lldbinit", ".pdbrc", ".ripgreprc", ".claude", ".cursor", ".mcp.json"}
    | {".nvim.lua", ".emacs", ".emacs.d", ".dir-locals.el", ".inputrc", ".envrc", ".direnv"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"}
    | {".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login"}
)
"""They run code when somebody opens the folder, or steer the daemon."""


def is_protected(name: str) -> bool:
    """Tell whether a file system might take `name` for a protected one: other case, compatible or
    invisible characters, trailing dots and blanks, streams and short names."""
    return _is_hard(folded(name))


def _is_hard(plain: str) -> bool:
    return plain in READ_ONLY_NAMES or plain.startswith(("git~", "kaged~"))


SOFT_NAMES: tuple[tuple[str, ...], ...] = (
    *(("agents.md",), ("claude.md",), (".cargo", "config.toml"), (".npmrc",), (".yarnrc.yml",)),
    *((".pnpmfile.cjs",), (".pre-commit-config.yaml",), (".github", "workflows"), (".gitattributes",)),
    *((".mise.toml",), (".tool-versions",), ("context.md",), (".agents", "skills")),
)
"""Ends of paths. They count in a project's own tree."""
_SOFT = {name[-1]: name for name in SOFT_NAMES}
OTHERS_FOLDERS = frozenset({"node_modules", "vendor", "venv", ".venv"})
"""What is installed there is not the project's own."""
ENVIRONMENT_MARK = "pyvenv.cfg"
"""A folder with this file is a virtual environment."""


def kind_of(parts: tuple[str, ...]) -> Literal["hard", "soft"] | None:
    """Return the class of the last of `parts`, None when it is no protected name."""
    plain = folded(parts[-1])
    if _is_hard(plain):
        return "hard"
    ends = _SOFT.get(plain)
    if ends is None or tuple(map(folded, parts[-len(ends) :])) != ends:
        return None
    return "soft"


def soft_part(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the soft name that `parts` is, or lies in; None without one, and below the folders of others."""
    for length in range(1, len(parts) + 1):
        if folded(parts[length - 1]) in OTHERS_FOLDERS:
            return None
        if kind_of(parts[:length]) == "soft":
            return parts[:length]
    return None
