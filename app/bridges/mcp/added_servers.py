"""The MCP servers that an operator has added with `kaged mcp add` or `kaged mcp import`.

Owns: their file in the data folder, which only its owner can read. Never: what a server may touch, or
starting it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.bridges.mcp.entries import DEFAULT_SECONDS, name_problem
from app.errors import ConfigError

FOLDER = "mcp"
FILE = "servers.json"
PACKAGES = "packages"
_MOST_BYTES = 1024 * 1024


class AddedServer(BaseModel):
    """One server. `project` is the root of the only project that it is for, None for all. `package` says what
    was installed for it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    project: str | None = None
    command: list[str] = []
    url: str | None = None
    env: dict[str, str] = Field(default={}, repr=False)
    headers: dict[str, str] = Field(default={}, repr=False)
    cage: Literal["disabled"] | dict[str, Any] | None = None
    package: str | None = None
    timeout_seconds: float = DEFAULT_SECONDS

    def is_for(self, root: Path) -> bool:
        return self.project is None or self.project == str(root)


class AddedServers:
    """The servers of one data folder. All methods block."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / FOLDER
        self.file = self.folder / FILE

    def package_folder(self, name: str) -> Path:
        """Return where the package of a server is installed."""
        return self.folder / PACKAGES / name

    def all(self) -> list[AddedServer]:
        """Return the servers by name. Raises ConfigError for a file that cannot be read."""
        try:
            with self.file.open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise ConfigError(f"{self.file}: cannot be read: {problem.strerror}") from None
        try:
            rows = orjson.loads(content[:_MOST_BYTES])["servers"]
            found = [AddedServer.model_validate(row) for row in rows]
        except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError):
            raise ConfigError(f"{self.file} is damaged: mend it, or delete it and add the servers") from None
        usable = (one for one in found if name_problem(one.name) is None)
        return sorted(usable, key=lambda one: (one.name, one.project or ""))

    def names(self) -> list[str]:
        """Return the names of the servers; none when the file cannot be read."""
        try:
            return [one.name for one in self.all()]
        except ConfigError:
            return []

    def put(self, server: AddedServer) -> bool:
        """Keep a server in place of one with its name for the same project; tell whether there was one."""
        before = self.all()
        others = [one for one in before if (one.name, one.project) != (server.name, server.project)]
        self._write([*others, server])
        return len(others) < len(before)

    def remove(self, name: str, project: str | None) -> bool:
        """Forget a server; tell whether there was one."""
        before = self.all()
        after = [one for one in before if (one.name, one.project) != (name, project)]
        if len(after) < len(before):
            self._write(after)
        return len(after) < len(before)

    def _write(self, servers: Iterable[AddedServer]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        rows = [one.model_dump(exclude_defaults=True) for one in servers]
        write_private(self.file, orjson.dumps({"servers": rows}, option=orjson.OPT_INDENT_2) + b"\n")


def write_private(file: Path, content: bytes) -> None:
    """Replace a file in one step by one that only its owner can read. Blocks."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
