"""The audit processor: what every model call was made of, always on.

Owns: the rows `agent.pre_generation` (the first call of a run) and `agent.pre_generation_step` (every call).
Never: rebuilding a request from them (`sessions.sent_request`).
"""

from __future__ import annotations

import orjson
import xxhash

from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.run.processor import Processor
from app.harness.run.run_context import RunContext


class AuditProcessor(Processor):
    """Passes every request through unchanged.

    System prompts, tool lists and reminders are kept once, by digest. The messages are the rows up to
    `last_message_id`; where some were taken out, `view` names those that are left (`conversation.view`).
    `request_digest` is the xxh3 digest of the bytes that were sent."""

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        if step == 1:
            run.journal.audit(
                "agent.pre_generation",
                {
                    "system": self._keep(run, [block.model_dump() for block in request.system]),
                    "tools": self._keep(run, [tool.model_dump() for tool in request.tools]),
                    "messages": len(request.messages),
                    "last_message_id": run.history.last_message_id,
                },
            )
        return request

    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        run.controls.request_digest = xxhash.xxh3_128_hexdigest(wire.body)
        limit, view = request.max_output_tokens, run.history.view()
        if view is not None:
            run.journal.keep_blob(view[0], "application/json", view[1])
        run.journal.audit(
            "agent.pre_generation_step",
            {
                "step": step,
                "provider": provider,
                "model": request.model,
                "messages": len(request.messages),
                "last_message_id": run.history.last_message_id,
                "system": run.journal.system_digest(request.system),
                "tool_count": sum(1 for tool in request.tools if tool.loading == "full"),
                "request_digest": run.controls.request_digest,
                "request_bytes": len(wire.body),
                **({} if limit is None else {"max_output_tokens": limit}),
                **({} if view is None else {"view": view[0]}),
                **({} if request.reminder is None else {"reminder": self._keep(run, request.reminder)}),
            },
        )

    @staticmethod
    def _keep(run: RunContext, value: object) -> str:
        content = orjson.dumps(value)
        digest = xxhash.xxh3_128_hexdigest(content)
        run.journal.keep_blob(digest, "application/json", content)
        return digest
