"""What a hook's end means: go on, ask, deny, or that it failed.

Owns: reading exit code, standard output and standard error, which anything may have written; and the marks
around the words of a hook that a model reads. Never: what follows from an answer.

A hook may ask or deny; `allow` means nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from app.harness.hooks.commands.hook import CommandHook
from app.harness.hooks.commands.running import HookRun
from app.observability import Redactor
from app.tools.processes.foreign_text import clean

DENIES = 2
"""The exit code by which a hook denies."""
MAX_REASON = 4_000
MAX_CONTEXT = 8_000
"""Characters of a hook's reason, and of its context, that are kept."""
NO_REASON = "it gives no reason"
_GO_ON = frozenset({"", "allow", "approve", "continue"})
_DENY = frozenset({"deny", "block"})
# Possessive: given back, the spaces behind one `<` would be tried in all divisions.
_MARK = re.compile(r"<(?=\s*+/?\s*+hook)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """`failed`: the hook could not be run, hung, or ended with another exit code than 0 and 2; `reason` says
    which. `context` is for the model."""

    decision: Literal["continue", "ask", "deny", "failed"]
    reason: str = ""
    context: str = ""


def answer_of(hook: CommandHook, run: HookRun, redactor: Redactor) -> HookAnswer:
    """Return what a hook's run means, its texts clean, bounded and without secrets. Takes time in proportion
    to its output."""
    if run.problem is not None:
        return HookAnswer("failed", run.problem)
    stderr = _text(run.stderr, MAX_REASON, redactor)
    if run.exit_code == DENIES:
        return HookAnswer("deny", stderr or NO_REASON)
    if run.exit_code != 0:
        said = f": {stderr}" if stderr else ""
        return HookAnswer("failed", f"it ended with exit code {run.exit_code}{said}")
    return _of_output(hook, run.stdout, redactor)


def _of_output(hook: CommandHook, stdout: bytes, redactor: Redactor) -> HookAnswer:
    fields = _object(stdout)
    if fields is None:
        return HookAnswer("continue", context=_text(stdout, MAX_CONTEXT, redactor))
    specific = fields.get("hookSpecificOutput")
    of_claude = specific if isinstance(specific, dict) else {}
    decision = _first(fields.get("decision"), of_claude.get("permissionDecision"))
    reason = _first(fields.get("reason"), of_claude.get("permissionDecisionReason"))
    if fields.get("continue") is False and hook.event != "on_stop":  # Claude Code's word for an end
        decision, reason = "deny", _first(fields.get("stopReason"), reason)
    context = _first(fields.get("context"), of_claude.get("additionalContext"))
    words = _cut(redactor.text(clean(reason, MAX_REASON * 2)), MAX_REASON) or NO_REASON
    match decision:
        case str() if decision in _DENY:
            return HookAnswer("deny", words)
        case "ask":
            return HookAnswer("ask", words)
        case str() if decision not in _GO_ON:
            return HookAnswer("failed", f"it answered the unknown decision {clean(decision, 100)!r}")
        case None | str():
            return HookAnswer(
                "continue", context=_cut(redactor.text(clean(context, MAX_OF_JSON)), MAX_CONTEXT)
            )
        case _:
            return HookAnswer("failed", "it answered a decision that is no text")


MAX_OF_JSON = 1024 * 1024


def _object(stdout: bytes) -> dict[str, Any] | None:
    """Return the JSON object that the output is; None for any other text."""
    if not stdout.lstrip().startswith(b"{"):
        return None
    try:
        found = orjson.loads(stdout)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _first(own: Any, other: Any) -> Any:
    return other if own is None else own


def _text(raw: bytes, most: int, redactor: Redactor) -> str:
    return _cut(redactor.text(clean(raw.decode("utf-8", "replace"), len(raw))), most)


def _cut(text: str, most: int) -> str:
    """Return the text, of a long one the head and the tail: the end of an output often says what failed."""
    text = text.strip()
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[cut: {len(text) - 2 * half} characters]\n{text[-half:]}"


def in_marks(hook: CommandHook, text: str) -> str:
    """Return a hook's words for a model, between marks that nothing inside can end."""
    return f'<hook name="{hook.name}" event="{hook.event}">\n{_MARK.sub("&lt;", text)}\n</hook>'
