"""`kaged mcp import`: the MCP servers that other programs' files declare for a project.

Owns: reading `.mcp.json` and `.vscode/mcp.json`, and what of them can be taken over. Never: taking it over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from app.cli.output import CommandFailed

if TYPE_CHECKING:
    from app.bridges.mcp.added_servers import AddedServer

FILES = ((".mcp.json", "mcpServers"), (".vscode/mcp.json", "servers"))
_MOST_BYTES = 1024 * 1024
_MOST_SERVERS = 100
_FETCHERS = {"npx": "--npm", "bunx": "--npm", "pnpx": "--npm", "uvx": "--pypi", "pipx": "--pypi"}
_VARIABLE = re.compile(r"\$\{env:([A-Z_][A-Z0-9_]*+)\}")
_REFERENCE = re.compile(r"\$\{([^{}]*+)\}")


@dataclass(frozen=True, slots=True)
class Found:
    """One declaration of a file: the server, or the problem that keeps it from being taken over."""

    file: str
    name: str
    server: AddedServer | None = None
    problem: str | None = None
    advice: str | None = None


def declarations(root: Path) -> list[Found]:
    """Return what the files of other programs declare in a project. Blocks. Raises CommandFailed for a file
    that cannot be read."""
    found: list[Found] = []
    for file, section in FILES:
        for name, said in _section(root / file, section).items():
            if len(found) < _MOST_SERVERS:
                found.append(_found(file, name, said, root))
    return found


def _section(file: Path, section: str) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            value = orjson.loads(stream.read(_MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, orjson.JSONDecodeError) as problem:
        raise CommandFailed("failed", f"{file} cannot be read: {problem}") from None
    servers = value.get(section) if isinstance(value, dict) else None
    return servers if isinstance(servers, dict) else {}


def _found(file: str, given: str, said: Any, root: Path) -> Found:
    from app.bridges.mcp.added_servers import AddedServer
    from app.harness.hooks.declared_servers import problem_of

    name = re.sub(r"[^a-z0-9]+", "-", given[:200].lower()).strip("-")[:32].strip("-") or "server"
    if not isinstance(said, dict):
        return Found(file, name, problem="it is no object")
    env, headers, arguments = said.get("env") or {}, said.get("headers") or {}, said.get("args") or []
    if not (isinstance(env, dict) and isinstance(headers, dict) and isinstance(arguments, list)):
        return Found(file, name, problem="its arguments are no list, or its variables or headers no object")
    command = [said["command"], *arguments] if said.get("command") else []
    texts = [*command, *env.values(), *headers.values(), said.get("url") or ""]
    if not all(isinstance(one, str) for one in texts):
        return Found(file, name, problem="its command, variables or headers are no texts")
    server = AddedServer(
        name=name,
        project=str(root),
        command=[_translated(one, root) for one in command],
        url=said.get("url") or None,
        env={key: _translated(value, root) for key, value in env.items()},
        headers={key: _translated(value, root) for key, value in headers.items()},
    )
    unknown = [
        one for text in texts for one in _REFERENCE.findall(_translated(text, root)) if not _is_plain(one)
    ]
    problem = f"it refers to `${{{unknown[0][:60]}}}`" if unknown else problem_of(server)
    if problem is not None:
        return Found(file, name, problem=f"{problem}; add it with `kaged mcp add {name}`")
    option = _FETCHERS.get(server.command[0].rpartition("/")[2]) if server.command else None
    advice = (
        f"it fetches its package at each start, which its cage forbids: `kaged mcp add {name} {option} ...`"
    )
    return Found(file, name, server, advice=advice if option is not None else None)


def _translated(text: str, root: Path) -> str:
    """Return a text with the references of an editor as the daemon knows them."""
    for name in ("workspaceFolder", "workspaceRoot"):
        text = text.replace(f"${{{name}}}", str(root))
    return _VARIABLE.sub(r"${\1}", text)


def _is_plain(reference: str) -> bool:
    return reference.isascii() and reference.replace("_", "").isalnum() and reference.isupper()
