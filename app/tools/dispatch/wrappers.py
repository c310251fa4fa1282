"""What every call gets around it: time taken, containment of failures, the audit trail.

Owns: wrappers with the same interface as what they wrap. Never: the order of a call's steps.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.errors import ToolError
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.ports import CallWaits
from app.tools.dispatch.redaction import redacted

log = logging.getLogger(__name__)
Dispatch = Callable[[], Awaitable[ToolEnvelope]]

DENIALS = frozenset(
    {"capability_denied", "principal_scope_violation", "watchdog_denied", "cage_unavailable"}
    | {"dap_requires_relaxed_seccomp", "rename_scope_exceeds_cage", "address_refused", "hook_denied"}
)


async def contained(name: str, dispatch: Dispatch) -> ToolEnvelope:
    """Turn every failure but cancellation into an error envelope, and fill in the duration. That a call
    waits for a person is no failure and goes through."""
    started = time.perf_counter_ns()
    try:
        envelope = await dispatch()
    except ToolError as error:
        envelope = ToolEnvelope.of_error(error)
    except CallWaits:
        raise
    except MemoryError:
        log.warning("tool %s lacked memory", name[:100])
        lack = ToolError("out_of_memory", "there is not enough memory for this call; ask for less at once")
        envelope = ToolEnvelope.of_error(lack)
    except Exception:  # the edge: a defect in one tool must not end the agent's run
        log.exception("tool %s failed unexpectedly", name[:100])
        envelope = ToolEnvelope.of_error(
            ToolError("internal_error", "the tool failed unexpectedly; the daemon's log has the details")
        )
    return envelope.timed((time.perf_counter_ns() - started) // 1_000_000)


async def audited(
    dispatch: Dispatch, name: str, arguments: Mapping[str, Any] | str, context: ToolCallContext
) -> ToolEnvelope:
    """Record `tool.called` before and `tool.completed`, after `tool.denied` if so, when it ends; of a
    call that waits for a person `tool.waiting` in its place."""
    audit = context.ports.audit
    shown_name = name[:100].encode("utf-8", "replace").decode()
    audit(
        "tool.called",
        {
            "tool_name": shown_name,
            "caller": context.agent_path,
            "session_id": context.session_id,
            "run_id": context.run_id,
            "request_id": context.request_id,
            "call_id": context.call_id,
            "params": redacted(arguments),
        },
    )
    started = time.perf_counter_ns()
    completed: dict[str, Any] = {"tool_name": shown_name, "request_id": context.request_id}
    completed["call_id"] = context.call_id
    try:
        envelope = await dispatch()
    except asyncio.CancelledError:
        elapsed = (time.perf_counter_ns() - started) // 1_000_000
        audit("tool.completed", {**completed, "duration_ms": elapsed, "success": False, "code": "aborted"})
        raise
    except CallWaits:
        audit("tool.waiting", completed)
        raise
    if is_denial(envelope):
        audit("tool.denied", _denial(shown_name, envelope, context))
    completed |= {"duration_ms": envelope.metadata.duration_ms, "success": not envelope.is_error}
    audit("tool.completed", completed | ({"code": envelope.code} if envelope.is_error else {}))
    return envelope


def is_denial(envelope: ToolEnvelope) -> bool:
    """Tell whether a layer of the authorisation refused."""
    needed = "needed" in (envelope.detail or {})
    return envelope.code in DENIALS or (envelope.code == "permission_denied" and needed)


def _denial(name: str, envelope: ToolEnvelope, context: ToolCallContext) -> dict[str, Any]:
    detail = envelope.detail or {}
    return {
        "tool_name": name,
        "caller": context.agent_path,
        "request_id": context.request_id,
        "denied_capability": detail.get("needed") or envelope.code,
        "reason": envelope.error_text,
        "cage_summary": _cage_summary(context.cage),
    } | ({"rule": redacted(detail["rule"])} if "rule" in detail else {})


def _cage_summary(cage: Mapping[str, Any] | None) -> str:
    if cage is None:
        return "disabled"
    entries = ", ".join(f"{entry.get('mode')} {entry.get('path')}" for entry in cage.get("fs") or ())
    capabilities = ", ".join(cage.get("capabilities") or ())
    seccomp = cage.get("seccomp") or "default"
    hosts = ", ".join(map(str, (cage.get("net") or {}).get("allow") or ()))
    return f"fs: [{entries}]; net: [{hosts}]; capabilities: [{capabilities}]; seccomp: {seccomp}"
