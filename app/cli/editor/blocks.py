"""What an editor sends as a prompt, as a message of kaged.

Owns: text, images, embedded resources, links, and what of an open file is read through the editor. Never:
reading files itself.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from app.cli.editor.failures import refused
from app.tools.documents.picture import IMAGE_TYPES

Block = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
ReadOpenFile = Callable[[str], Awaitable[str | None]]
MAX_LINKED = 256 * 1024
"""Characters of a linked file that the message quotes; of a longer one it has the path only."""
EMPTY = "The prompt is empty; write what the agent should do."


@dataclass(slots=True)
class PromptMessage:
    """A prompt: its text, which the agent reads, and its pictures. `typed` is only what a person wrote."""

    text: str = ""
    typed: str = ""
    attachments: list[dict[str, str]] = field(default_factory=list)


async def message_of(blocks: Sequence[Block], root: Path, read_open_file: ReadOpenFile) -> PromptMessage:
    """Return the message of a prompt. `root` is the project's folder. Raises RequestError."""
    message, quoted = PromptMessage(), list[str]()
    for block in blocks:
        match block:
            case TextContentBlock():
                message.text += block.text
                message.typed += block.text
            case ImageContentBlock():
                message.attachments.append(_picture(block.mime_type, block.data))
            case ResourceContentBlock():
                message.text += f"`{shown_path(block.uri, root)}`"
                quoted += await _linked(block, root, read_open_file)
            case EmbeddedResourceContentBlock():
                _embed(block.resource, root, message, quoted)
            case _:
                raise refused("bad_request", "kaged takes no audio; send text, images or files")
    message.text = "\n\n".join([part for part in (message.text.strip(), *quoted) if part])
    if not message.text and message.attachments:
        message.text = "(see the attached picture)"
    if not message.text:
        raise refused("bad_request", EMPTY)
    if "\0" in message.text:
        raise refused("bad_request", "The prompt contains a NUL character; remove it.")
    return message


def local_path(uri: str) -> str | None:
    """Return the path of a `file:` address, None for another."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return path if path.startswith("/") and "\0" not in path else None


def shown_path(uri: str, root: Path) -> str:
    """Return how an agent names a resource: its path below the project, else its address."""
    path = local_path(uri)
    if path is None:
        return uri
    below = os.path.relpath(path, root)
    return path if below.startswith("..") else below


async def _linked(block: ResourceContentBlock, root: Path, read_open_file: ReadOpenFile) -> list[str]:
    path = local_path(block.uri)
    if path is None:
        return []
    text = await read_open_file(path)
    return [] if text is None or len(text) > MAX_LINKED else [_quote(shown_path(block.uri, root), text)]


def _embed(resource: Any, root: Path, message: PromptMessage, quoted: list[str]) -> None:
    if isinstance(resource, BlobResourceContents):
        message.attachments.append(_picture(resource.mime_type, resource.blob))
    else:
        name = shown_path(resource.uri, root)
        message.text += f"`{name}`"
        quoted.append(_quote(name, resource.text))


def _picture(media_type: str | None, data: str) -> dict[str, str]:
    if media_type not in IMAGE_TYPES:
        known = ", ".join(sorted(IMAGE_TYPES))
        raise refused("bad_request", f"kaged takes no {media_type or 'data'} in a prompt; it takes {known}")
    return {"type": "image", "media_type": media_type, "data": data}


def _quote(name: str, text: str) -> str:
    """Return the content of a file as the editor has it, which may not be saved."""
    fence = fence_for(text)
    return f"`{name}`, as it is in the editor:\n{fence}\n{text.rstrip()}\n{fence}"


def fence_for(text: str) -> str:
    """Return a Markdown fence that the text does not contain."""
    longest = run = 0
    for one in text:
        run = run + 1 if one == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)
