"""Sending the answer to what waits for a human, with the files that belong to it.

Owns: those requests. Never: what is asked (`dialogs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from app.cli.client import DaemonClient
from app.cli.conversation import session_path
from app.cli.dialogs import LocalFile
from app.cli.file_upload import upload_to


def interaction_path(session_id: str, interaction_id: str) -> str:
    """Return the address of an interaction below `/api/v1`."""
    return f"{session_path(session_id)}/interactions/{quote(interaction_id, safe='')}"


async def send_answer(client: DaemonClient, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Upload the files in an answer's values, then send it; return the interaction as it is then."""
    sent = dict(body)
    if isinstance(sent.get("values"), Mapping):
        values = dict(sent["values"])
        for name, value in values.items():
            if isinstance(value, LocalFile):
                values[name] = (await upload_to(client, f"{path}/files", value.path))["id"]
        sent["values"] = values
    closed: dict[str, Any] = await client.request("POST", f"{path}/answer", body=sent)
    return closed
