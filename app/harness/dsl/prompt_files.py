"""Prompt files named by a project file: found and checked when the project is compiled.

Owns: the resolution of a prompt path and its checks. Never: keeping a prompt's text; `projects/prompts` does
that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import xxhash

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, Position
from app.harness.dsl.paths import PathProblem, prefer_local, read_path, read_project_file

LARGE_PROMPT_BYTES = 64 * 1024
MAX_PROMPT_BYTES = 1024 * 1024


class PromptProblem(Exception):
    """A prompt that cannot be used; `code` is the diagnostic's code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def prompt_digest(text: str) -> str:
    """Return the digest by which a prompt's text is known: xxh3 with 128 bits, in hexadecimal."""
    return xxhash.xxh3_128_hexdigest(text.encode())


def read_prompt(path: Path, project_root: Path) -> str:
    """Read a prompt file inside a project; raise PromptProblem or PathProblem when it cannot be used."""
    try:
        data = read_project_file(path, project_root, MAX_PROMPT_BYTES)
    except FileNotFoundError as error:
        raise PromptProblem("prompt_missing", "there is no such file; create it, or name one") from error
    except (OSError, ValueError) as error:
        raise PromptProblem("prompt_unreadable", str(error)) from error
    if len(data) > MAX_PROMPT_BYTES:
        raise PromptProblem("prompt_too_large", f"a prompt has at most {MAX_PROMPT_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PromptProblem("prompt_not_utf8", f"byte {error.start} is not UTF-8") from error
    if not text.strip():
        raise PromptProblem("prompt_empty", "the file is empty")
    return text


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt's file, and every file that could take its place, best first."""

    file: str = ""
    candidates: tuple[str, ...] = ()


@dataclass(slots=True)
class PromptFiles:
    """Resolves the prompt paths of one compilation and remembers what to watch."""

    bag: DiagnosticBag
    check: bool = True
    """False when only the text of a project file is at hand: paths are then parsed, not looked up."""
    watched: dict[str, Position] = field(default_factory=dict)
    """Files to watch, with the first position that names each."""
    digests: dict[str, str] = field(default_factory=dict)
    """The digest of each prompt's text, by the absolute path of its file."""

    def resolve(self, node: Node | None) -> PromptFile:
        """Find the prompt that a node names; problems are reported there."""
        text = node.text if node is not None else None
        if node is None or text is None:
            return PromptFile()
        root = node.position.source.project_root
        try:
            written = read_path(text)
            path = written.under(root)
            if not self.check:
                return PromptFile(str(path), (str(path),))
            candidates = prefer_local(path) if written.start == "config" else (path,)
            for candidate in candidates:
                self.watched.setdefault(str(candidate), node.position)
            path = next((candidate for candidate in candidates if candidate.is_file()), path)
            prompt = read_prompt(path, root)
        except (PathProblem, PromptProblem) as problem:
            is_prose = problem.code == "prompt_missing" and any(mark in text.strip() for mark in " \n")
            hint = " (a prompt is a file: put the text into one)" if is_prose else ""
            self.bag.error(problem.code, f"`{text}`: {problem.message}{hint}", node.position)
            return PromptFile()
        except (OSError, ValueError) as error:  # a name too long for the file system
            self.bag.error("path_invalid", f"`{text[:80]}`: {error}", node.position)
            return PromptFile()
        self.digests[str(path)] = prompt_digest(prompt)
        size = len(prompt.encode())
        if size > LARGE_PROMPT_BYTES:
            self.bag.warning(
                "prompt_large", f"`{text}` has {size // 1024} KB; every turn pays for it", node.position
            )
        return PromptFile(str(path), tuple(map(str, candidates)))
