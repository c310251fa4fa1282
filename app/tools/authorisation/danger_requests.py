"""A watchdog for the texts that tools send to other machines: addresses and search queries.

Owns: asking before something that looks like a credential is sent. Never: which hosts may be reached (cage
and rules).
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from pydantic import BaseModel

from app.observability.credential_shapes import without_shapes
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition

_PIECES = re.compile(r"[/?&=#;,]")


class RequestWatchdog:
    """Judges each piece of a text for itself: a parameter called `key` is no credential by its name."""

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        sent = definition.effects(params).sends
        pieces = (piece for text in sent for piece in _PIECES.split(unquote(text)))
        if any(without_shapes(piece) != piece for piece in pieces):
            # Without subjects, so that no rule keeps the credential.
            return Verdict(
                "ask", f"{definition.name} would send what looks like a credential to another machine"
            )
        return ALLOW
