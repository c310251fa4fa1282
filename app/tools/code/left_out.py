"""Files of a unit that its own build leaves out, and that hold a word: tests beside the sources of a
`tsconfig.json`, another system's files in Go, Rust modules of a feature that is off.

Owns: finding these, having the server know them, and what is left that it cannot know. Never: other units
(`crossing`), or what an answer shows.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import LanguageServer, manifest_text
from app.errors import ToolError
from app.tools.code.call import CodeCall
from app.tools.code.crossed import Declaration, NotAsked
from app.tools.code.name_nodes import NameNode, name_nodes
from app.tools.code.place_list import locations
from app.tools.code.places import Files, end_of, line_of, start_of
from app.tools.code.reach import declaring, imports
from app.tools.processes.foreign_text import objects

MAX_OPENED = 60
MAX_FILES = 20
MAX_NODES = 40
_DEFINITION = "textDocument/definition"
_DIAGNOSTIC = "textDocument/diagnostic"
_COMMAND = "workspace/executeCommand"
_TSSERVER = "typescript.tsserverRequest"
_CONSTRAINT = re.compile(r"^//(?:go:build| \+build)\b", re.MULTILINE)
_SYSTEMS = re.compile(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1|windows|"
    r"386|amd64|arm|arm64|loong64|mips|mips64|mips64le|mipsle|ppc64|ppc64le|riscv64|s390x|wasm)(?:_test)?\.go$"
)
_APART = re.compile(r"(?:^|/)(?:[._][^/]*|testdata|vendor)(?:/|$)")
_CONDITION = re.compile(r"\bcfg(?:_attr)?!?\s*\((?!\s*test\s*[,)])")
"""The server builds with tests."""
_RECEIVER = re.compile(r"^func\s*\(\s*(?:\w+\s+)?\*?(\w+)")
_SOURCES_OF_PYTHON = re.compile(r"[\"']?\b(?:include|exclude|ignore)\b[\"']?\s*[:=]")
_HIDDEN_FROM_PYTHON = re.compile(r"(?:^|/)(?:\.[^/]+|node_modules|__pycache__)/")
_TOO_MANY = "too many files outside the build of the package use the word"
_OTHER_BUILD = "the build of the package leaves this file, or a part of it, out"


@dataclass(slots=True)
class LeftOut:
    """`opened`: the server knows more than before. `views` are positions of the same symbol in files that the
    server builds the package another time for: what it answers there joins the answer."""

    opened: bool = False
    views: list[dict[str, Any]] = field(default_factory=list)
    not_asked: list[NotAsked] = field(default_factory=list)


async def outside(
    call: CodeCall, server: LanguageServer, path: str, names: Sequence[str], answered: Collection[str]
) -> Sequence[str]:
    """Return those of the files of the unit of `path` that hold the word and that its build may leave out, in
    whole or in part; in those `answered` the server has found something. Raises ToolError as requests do."""
    rest = [name for name in names if name not in answered]
    root = server.project_root
    if server.language == "rust":
        partly = await call.aside(_with_conditions, root, names)
        return list(dict.fromkeys([*rest, *partly]))
    if not rest:
        return ()
    if server.language == "typescript":
        loaded = await _loaded_by_tsserver(server, path)
        return await call.aside(_not_in, root, rest, loaded)
    look = _LEAVE_OUT.get(server.language)
    return () if look is None else await call.aside(look, root, server.root, rest)


async def left_out(
    call: CodeCall, server: LanguageServer, word: str, declared: Declaration, names: Sequence[str]
) -> LeftOut:
    """Have the server know these files of one unit that its build may leave out, where it can. Raises
    ToolError as requests do."""
    if not names:
        return LeftOut()
    if server.language == "go":
        return await _of_go(call, server, word, declared, names)
    if server.language == "rust":
        return await _of_rust(call, server, word, declared, names)
    known = declaring(server.project_root, declared.path, ".").names
    near = set(await call.aside(imports, server.project_root, names, known))
    ordered = sorted(names, key=lambda name: (name not in near, name))
    await server.open_all(ordered[:MAX_OPENED])
    found = LeftOut(opened=True)
    if left := ordered[MAX_OPENED:]:
        found.not_asked.append(NotAsked(".", tuple(left), _TOO_MANY, reaches=not near.isdisjoint(left)))
    return found


async def _loaded_by_tsserver(server: LanguageServer, path: str) -> set[str]:
    """Return the files of the project that a file is in, empty where the server does not tell."""
    file = str(server.project_root / path)
    arguments = ["projectInfo", {"file": file, "needFileNameList": True}]
    try:
        answer = await server.request(_COMMAND, {"command": _TSSERVER, "arguments": arguments})
    except ToolError as error:
        if error.code != "lsp_request_failed":
            raise
        return set()
    body = answer.get("body") if isinstance(answer, dict) else None
    names = body.get("fileNames") if isinstance(body, dict) else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def _not_in(root: Path, names: Sequence[str], loaded: Collection[str]) -> list[str]:
    """Blocks."""
    return [name for name in names if os.path.realpath(root / name) not in loaded]


def _outside_python(_: Path, root: Path, names: Sequence[str]) -> list[str]:
    """Blocks. Without a list in its configuration the server takes in all but hidden folders."""
    texts = [manifest_text(root / "pyrightconfig.json")]
    texts += [
        part
        for part in manifest_text(root / "pyproject.toml").split("\n[")
        if part.lstrip("[").startswith(("tool.pyright", "tool.basedpyright"))
    ]
    if any(_SOURCES_OF_PYTHON.search(text) for text in texts):
        return list(names)
    return [name for name in names if _HIDDEN_FROM_PYTHON.search(name)]


def _outside_database(_: Path, root: Path, names: Sequence[str]) -> list[str]:
    """Blocks. Headers are read with what includes them."""
    text = manifest_text(root / "compile_commands.json") + manifest_text(
        root / "build" / "compile_commands.json"
    )
    headers = (".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".ipp", ".tpp")
    return [name for name in names if not name.endswith(headers) and os.path.basename(name) not in text]


async def _of_go(
    call: CodeCall, server: LanguageServer, word: str, declared: Declaration, names: Sequence[str]
) -> LeftOut:
    """The server builds a package again for a file of another system; of files with other tags it knows
    nothing."""
    found = LeftOut()
    nodes, _ = await name_nodes(call, word, names[:MAX_FILES])
    for name in names[:MAX_FILES]:
        own = [node for node in nodes if node.path == name][:MAX_NODES]
        seen = False
        lost: list[NameNode] = []
        for node in own:
            params = await _at(server, node)
            target = await _target(call, server, params)
            if target is None or await call.aside(_is_twin, server, node, target, declared):
                lost.append(node)
            elif target == _place(declared) and not seen:
                seen = True
                found.views.append(params)
        if lost:
            found.not_asked.append(_lost(name, lost))
    if left := names[MAX_FILES:]:
        found.not_asked.append(NotAsked(".", tuple(left), _TOO_MANY, reaches=True))
    return found


def _constrained(root: Path, _: Path, names: Sequence[str]) -> list[str]:
    """Blocks."""
    return [name for name in names if _SYSTEMS.search(name) or _CONSTRAINT.search(manifest_text(root / name))]


def beside_the_build(root: Path, names: Sequence[str]) -> set[str]:
    """Return the files of Go that a build for this system may leave out: other systems and tags, and folders
    that no package pattern matches. Blocks."""
    apart = {name for name in names if _APART.search(name)}
    return apart | set(_constrained(root, root, [name for name in names if name not in apart]))


def _is_twin(
    server: LanguageServer, node: NameNode, target: tuple[str, int, int], declared: Declaration
) -> bool:
    """Tell whether a place declares for another build what is `declared` for this one. Blocks."""
    path, line, _ = target
    if (path, line) != (node.path, node.line - 1) or os.path.dirname(path) != os.path.dirname(declared.path):
        return False
    texts = (manifest_text(server.project_root / path).splitlines(), declared.text.splitlines())
    numbers = (line, declared.position.get("line"))
    if any(not isinstance(at, int) or at >= len(text) for at, text in zip(numbers, texts, strict=True)):
        return False
    one, other = (_RECEIVER.match(text[at]) for text, at in zip(texts, numbers, strict=True))  # type: ignore[index]
    return (one[1] if one else None) == (other[1] if other else None)


async def _of_rust(
    call: CodeCall, server: LanguageServer, word: str, declared: Declaration, names: Sequence[str]
) -> LeftOut:
    """The server says of a file that it is in no crate, and which parts of one are off. That takes its time:
    it is asked only where parts can be off, or where it does not know the name."""
    found = LeftOut()
    nodes, _ = await name_nodes(call, word, names[:MAX_OPENED])
    partly = set(await call.aside(_with_conditions, server.project_root, names))
    for name in names[:MAX_OPENED]:
        own = [node for node in nodes if node.path == name]
        if not own or (name not in partly and await _target(call, server, await _at(server, own[0]))):
            continue
        text = await server.document(name)
        answer = await server.request(_DIAGNOSTIC, {"textDocument": {"uri": text.uri}})
        items = objects(answer.get("items")) if isinstance(answer, Mapping) else []
        if any(one.get("code") == "unlinked-file" for one in items):
            found.not_asked.append(_lost(name, own))
            continue
        off = [one.get("range") for one in items if one.get("code") == "inactive-code"]
        lost = []
        for node in [node for node in own if any(_within(node.line, span) for span in off)][:MAX_NODES]:
            target = await _target(call, server, await _at(server, node))
            if target is None or target == _place(declared):
                lost.append(node)
        if lost:
            found.not_asked.append(_lost(name, lost))
    return found


def _with_conditions(root: Path, names: Sequence[str]) -> list[str]:
    """Blocks."""
    return [name for name in names if _CONDITION.search(manifest_text(root / name))]


def _within(line: int, span: Any) -> bool:
    first, last = line_of(start_of(span)), line_of(end_of(span))
    return first is not None and last is not None and first <= line <= last


def _lost(name: str, nodes: Sequence[NameNode]) -> NotAsked:
    places = tuple(f"./{one.path}:{one.line}" for one in nodes)
    return NotAsked(name, (name,), _OTHER_BUILD, reaches=True, places=tuple(dict.fromkeys(places)))


def _place(declared: Declaration) -> tuple[str, Any, Any]:
    return declared.path, declared.position.get("line"), declared.position.get("character")


async def _at(server: LanguageServer, node: NameNode) -> dict[str, Any]:
    text = await server.document(node.path)
    at = text.lines.to_server(node.line - 1, node.column, server.encoding)
    return {"textDocument": {"uri": text.uri}, "position": at}


async def _target(
    call: CodeCall, server: LanguageServer, params: Mapping[str, Any]
) -> tuple[str, int, int] | None:
    """Return where the server says that the name at a position is declared; None where it knows nothing."""
    try:
        answer = await server.request(_DEFINITION, params)
    except ToolError as error:
        if error.code != "lsp_request_failed":
            raise
        return None
    files = Files(call, server.encoding)
    for uri, at in locations(answer):
        line, column = (at.get("line"), at.get("character")) if isinstance(at, dict) else (None, None)
        if isinstance(line, int) and isinstance(column, int):
            parts = await asyncio.to_thread(files.anywhere, uri)
            return "/".join(parts) if parts else str(uri), line, column
    return None


_LEAVE_OUT = {"python": _outside_python, "cpp": _outside_database, "go": _constrained}
"""What a build may leave out, by language: takes the project's root, the server's and the files, and
blocks."""
