"""The names that no caged caller writes, at any depth, whether they exist or not.

Owns: the names, and which spellings a file system might take for one of them. Never: opening files.
"""

from __future__ import annotations

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
    plain = folded(name)
    return plain in READ_ONLY_NAMES or plain.startswith(("git~", "kaged~"))
