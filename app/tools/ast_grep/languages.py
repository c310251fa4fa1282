"""The programming languages that patterns can be written in.

Owns: their names, other names that models use for them, the file name extensions that belong to
each, and which files hold pieces of them. Never: parsing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

LanguageName = Literal[
    "typescript",
    "javascript",
    "tsx",
    "python",
    "rust",
    "go",
    "java",
    "c",
    "cpp",
    "css",
    "html",
    "json",
    "yaml",
    "bash",
    "csharp",
    "dart",
    "elixir",
    "haskell",
    "hcl",
    "kotlin",
    "lua",
    "nix",
    "php",
    "ruby",
    "scala",
    "solidity",
    "swift",
]

_EXTENSIONS: dict[str, str] = {
    "typescript": "ts cts mts",
    "javascript": "js cjs mjs jsx",
    "tsx": "tsx",
    "python": "py py3 pyi bzl",
    "rust": "rs",
    "go": "go",
    "java": "java",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh cu ino",
    "css": "css scss",
    "html": "html htm xhtml",
    "json": "json",
    "yaml": "yaml yml",
    "bash": "sh bash bats cgi command env fcgi ksh tmux tool zsh",
    "csharp": "cs",
    "dart": "dart",
    "elixir": "ex exs",
    "haskell": "hs",
    "hcl": "hcl nomad tf tfvars workflow",
    "kotlin": "kt ktm kts",
    "lua": "lua",
    "nix": "nix",
    "php": "php",
    "ruby": "rb rbw gemspec",
    "scala": "scala sc sbt",
    "solidity": "sol",
    "swift": "swift",
}
_OTHER_NAMES = {
    "ts": "typescript",
    "js": "javascript",
    "jsx": "javascript",
    "py": "python",
    "rs": "rust",
    "golang": "go",
    "c++": "cpp",
    "cc": "cpp",
    "yml": "yaml",
    "sh": "bash",
    "shell": "bash",
    "cs": "csharp",
    "c#": "csharp",
    "ex": "elixir",
    "hs": "haskell",
    "terraform": "hcl",
    "kt": "kotlin",
    "rb": "ruby",
    "sol": "solidity",
}
_INSIDE_HTML = frozenset({"css", "javascript", "typescript", "tsx"})
"""Languages of which pages hold pieces, in `script` and `style` elements."""
LANGUAGES: tuple[LanguageName, ...] = get_args(LanguageName)
_BY_EXTENSION: dict[str, LanguageName] = {
    extension: language for language in LANGUAGES for extension in _EXTENSIONS[language].split()
}


def _by_other_name(value: Any) -> Any:
    if isinstance(value, str):
        plain = value.strip().lower()
        return _OTHER_NAMES.get(plain, plain)
    return value


Language = Annotated[LanguageName, BeforeValidator(_by_other_name)]
"""A language, by its name or by one that models use for it (`ts`, `py`)."""


def extensions_of(language: LanguageName) -> tuple[str, ...]:
    """Return the extensions of files in `language`, the usual one first."""
    return tuple(_EXTENSIONS[language].split())


def searched_extensions(language: LanguageName) -> tuple[str, ...]:
    """Return the extensions of files in which there can be code in `language`."""
    hosts = extensions_of("html") if language in _INSIDE_HTML else ()
    return extensions_of(language) + hosts


def extension_of(name: str) -> str:
    """Return what follows the last dot of a file's name, "" without one."""
    stem, dot, extension = name.rpartition("/")[2].rpartition(".")
    return extension if dot and stem else ""


def language_of(name: str) -> LanguageName | None:
    return _BY_EXTENSION.get(extension_of(name))
