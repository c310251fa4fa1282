"""What to write instead: the second half of a diagnostic, for the mistakes that people make most.

Owns: these words, by the kind of value that stands there and the key that it stands under, and by what the
YAML scanner has stumbled over. Never: deciding what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.harness.dsl.document import DocumentPath, Node

_LONGEST_SHOWN = 40
_MOST_KEYS = 30

# By the key above a value that must be a map: what one entry looks like.
_ENTRIES = {
    "tools": "`{ enabled: true }`",
    "subagents": "`{ path: <folder of another project> }`, or the agent itself",
    "plugins": "`{ package: <its folder or name> }`",
    "inputs": "`{ type: string }`",
    "tasks": "`{ command: <shell line> }`",
    "workflows": "`{ description: <text>, system_prompt: <file> }`",
    "fs": "`{ mode: ro, path: <folder> }`",
    "servers": "`{ lang: <language>, command: [<program>] }`",
    "adapters": "`{ runtime: <name>, command: [<program>] }`",
}
# By the key of a value that must be a map itself.
_MAPS = {
    "tools": "each tool as a key of its own, as `file.read: { enabled: true }`",
    "subagents": "each agent below its own name, as `coder:`",
    "plugins": "each plugin below its own name, as `memory: { package: ./plugins/memory }`",
    "inputs": "each input below its own name, as `branch: { type: string }`",
    "tasks": "each task below its own name, as `test: { command: make test }`",
    "workflows": "each workflow below its own name, as `deploy:`",
    "net": "`{ allow: [] }` for no network, or the hosts in the list",
    "lsp": "`{ servers: [...] }`",
    "dap": "`{ adapters: [...] }`",
    "skills": "`{ paths: [...] }`",
    "compaction": "`{ strategy: summarize }`",
    "limits": "`{ max_steps: 50 }`",
    "parameters": "a JSON Schema, as `{ type: object, properties: {...} }`",
}
_LISTS = {
    "permissions": "`- { permission: shell.bash, pattern: '*', action: ask }` for each rule",
    "fs": "`- { mode: ro, path: . }` for each mount",
    "command": "program and arguments, as `[npx, pyright-langserver, --stdio]`",
}
_REQUIRED = {
    "version": "`version: 1`",
    "project": "`project: my-app`",
    "primary": "the agent that you talk to as `primary:`",
    "model": "`model:` with an alias of the local config",
    "system_prompt": "`system_prompt: config:/prompts/<name>.md`",
    "cage": "what the agent may reach, as `cage: { fs: [{ mode: rw, path: . }] }`, or `cage: disabled`",
    "permission": "the name of a tool, as `permission: shell.bash`",
    "package": "the plugin's folder or name, as `package: ./plugins/memory`",
}
_SWITCHES = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_PLAIN = re.compile(r"[A-Za-z0-9_./@*-]+")
_COLON_IN_VALUE = re.compile(r"^\s*(?:- +)?[^\s#'\"{\[][^:#]*: +[^\s'\"{\[|>].*")


def instead_of(node: Node, expected: str) -> str:
    """Return `; write ...` for a value that is not of the kind that is expected: `a map`, `a list`,
    `a string`, `a number`, `a whole number` or a switch; nothing when there is nothing to add."""
    if node.value is None:
        in_list = bool(node.position.path) and isinstance(node.position.path[-1], int)
        return f"; write a value behind the {'dash, or remove it' if in_list else 'colon, or remove the key'}"
    match expected:
        case "a map":
            found = _map_at(node.position.path)
        case "a list":
            found = _list_of(node)
        case "a string":
            plain = isinstance(node.value, bool | int | float)
            found = f'it in quotes, as `"{shown(node)}"`' if plain else ""
            if node.position.path[-1:] == ("model",):
                found = "one alias; what it falls back to stands under `[models]` of the local config"
        case "a number" | "a whole number":
            digits = _NUMBER.search(node.text or "")
            found = f"`{digits[0]}`, without quotes or a unit" if digits is not None else "digits"
        case _:
            word = _SWITCHES.get((node.text or "").lower())
            found = f"`{word}`" if word is not None else ""
    return f"; write {found}" if found else ""


def other_cage(path: DocumentPath) -> str:
    """Return what else than `disabled` a cage may be: a block."""
    return "; or write a block, as `{ fs: [...] }`" if path[:1] == ("primary",) else ""


def required(name: str) -> str:
    """Return `; write ...` for a key that is missing from a map."""
    hint = _REQUIRED.get(name)
    return f"; write {hint}" if hint is not None else ""


def known_keys(known: Iterable[str]) -> str:
    """Return the keys that a map may have."""
    names = list(known)
    return "; the keys here are " + ", ".join(names[:_MOST_KEYS]) + (", …" if len(names) > _MOST_KEYS else "")


def of_yaml(problem: str, text: str, line: int, column: int, opened: int | None) -> str:
    """Return what to do about a problem of the YAML scanner at a line and column (from 0). `opened` is the
    line (from 0) in which the thing begins that it could not read to its end."""
    lines = text.splitlines()
    here = lines[line] if 0 <= line < len(lines) else ""
    if "cannot start any token" in problem:
        return "; indent with spaces, not with tabs" if "\\t" in problem else "; put the text into quotes"
    if "mapping values are not allowed" in problem:
        if _COLON_IN_VALUE.match(here[:column]):
            return "; put a text with a colon in it into quotes"
        return f"; line {line} needs a space behind its colon, or this line has too many before it"
    if "alphabetic or numeric character" in problem:
        return "; put a text that begins with `*` or `&` into quotes"
    if "expected <block end>" in problem:
        if "<scalar>" in problem:
            return "; a quote within quotes is written twice, and nothing stands behind the closing one"
        return "; begin this line in the column in which those beside it begin"
    if "could not find expected ':'" in problem:
        key_line = line if opened is None else opened
        return f"; write a colon and a space behind the key in line {key_line + 1}"
    if "unexpected end of stream" in problem:
        return f"; close the quote that begins in line {(opened or 0) + 1}"
    if problem.startswith("expected ',' or"):
        bracket = problem.removeprefix("expected ',' or ")[:3].strip("'")
        return f"; write a comma, or close with `{bracket}` what begins in line {(opened or 0) + 1}"
    return ""


def _map_at(path: DocumentPath) -> str:
    keys = [step for step in path if isinstance(step, str)]
    last = keys[-1] if keys else ""
    if path and isinstance(path[-1], int):
        return _ENTRIES.get(last, "")
    if last == "cage":
        return ""
    return _ENTRIES.get(keys[-2], _MAPS.get(last, "")) if len(keys) > 1 else _MAPS.get(last, "")


def _list_of(node: Node) -> str:
    last = next((step for step in reversed(node.position.path) if isinstance(step, str)), "")
    if node.is_map:
        return _LISTS.get(last, "each entry behind `- `")
    if last in ("permissions", "fs"):
        return _LISTS[last]
    text = shown(node)
    if last == "command" and " " in text:
        return _LISTS["command"]
    return f"`[{text}]`" if _PLAIN.fullmatch(text) and text[0] not in "@*" else f'`["{text}"]`'


def shown(node: Node) -> str:
    """Return a scalar as it is written, cut when it is long."""
    text = str(node.value).lower() if isinstance(node.value, bool) else str(node.value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
