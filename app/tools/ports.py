"""What a running tool may ask of the harness.

Owns: the protocols that the harness fills for each call. Never: an implementation.
"""

from __future__ import annotations

from typing import Any, Protocol

from app.tools.authorisation.rules import ConsentAnswer, ConsentRequest


class ToolPorts(Protocol):
    """The harness' side of one tool call."""

    async def progress(self, text: str) -> None:
        """Show `text` to whoever watches the call while it is still running."""
        ...

    def audit(self, event: str, data: dict[str, Any]) -> None:
        """Record an audit event; `data` is JSON-ready and already redacted. Must not raise."""
        ...

    async def consent(self, request: ConsentRequest) -> ConsentAnswer:
        """Ask the human whether the call may go on, and wait for the answer.

        Never called for a headless call. `always` has stored the request's suggestions already.
        """
        ...
