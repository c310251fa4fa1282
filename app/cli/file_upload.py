"""Local files as commands use them: uploaded, sent and saved.

Owns: reading and writing them piece by piece, and the option `--output`. Never: what a file is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from app.cli.client import DaemonClient
from app.cli.given_path import GivenPath
from app.cli.output import CommandFailed
from app.storage.private_file import private

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_CHUNK_BYTES = 256 * 1024
_OUTPUT = "The file to write (default: standard output)."


def checked_file(path: Path) -> Path:
    """Return a readable file. Raises `UsageError`."""
    found = path.expanduser()
    try:
        with found.open("rb"):
            return found
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}.") from error


def output_option(command: Decorated) -> Decorated:
    """Give a command the option `--output`: the file that it writes instead of standard output."""
    return click.option("--output", "-o", type=GivenPath(), callback=_new_file, help=_OUTPUT)(command)


def _new_file(ctx: click.Context, _: click.Parameter, output: Path | None) -> Path | None:
    if output is not None and output.exists():
        raise click.UsageError(f"{output} exists already; name another file.")
    return output


def check_json(as_json: bool, output: Path | None) -> None:
    """Refuse `--json` without a file: standard output cannot hold both the content and the report."""
    if as_json and output is None:
        raise click.UsageError("--json needs --output: without a file the content goes to standard output.")


async def upload(client: DaemonClient, project_id: str, path: Path) -> dict[str, Any]:
    return await upload_to(client, "/uploads", path, params={"project_id": project_id})


async def upload_all(client: DaemonClient, project_id: str, paths: Sequence[Path]) -> list[str]:
    """Upload files for a project, one after the other; return their ids."""
    return [(await upload(client, project_id, path))["id"] for path in paths]


async def upload_to(
    client: DaemonClient, address: str, path: Path, *, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send one file as the body of a POST; return the upload."""
    made: dict[str, Any] = await client.request(
        "POST",
        address,
        params={**(params or {}), "name": path.name},
        content=pieces_of(path),
        content_type="application/octet-stream",
    )
    return made


async def pieces_of(path: Path) -> AsyncIterator[bytes]:
    """Yield a file's content."""
    try:
        file = await asyncio.to_thread(path.open, "rb")
        try:
            while piece := await asyncio.to_thread(file.read, _CHUNK_BYTES):
                yield piece
        finally:
            file.close()
    except OSError as error:
        raise CommandFailed("failed", f"{path} cannot be read: {error.strerror}") from error


async def save(pieces: AsyncIterator[bytes], output: Path) -> int:
    """Write to a new private file, which appears once it is complete; return its size."""
    draft = output.with_name(f"{output.name}.part")
    size = 0
    try:
        with await asyncio.to_thread(open, draft, "wb", opener=private) as file:
            async for chunk in pieces:
                size += await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(draft.replace, output)
    except OSError as error:
        raise CommandFailed("failed", f"{output} cannot be written: {error.strerror}") from error
    finally:
        await asyncio.to_thread(draft.unlink, missing_ok=True)
    return size


def readable_size(size: int) -> str:
    """Return a size as people write it."""
    value = float(size)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000 or unit == "MB":
            return f"{size} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError
