"""The third layer: permission rules of the project file, the operator and the session.

Owns: applying them, asking a person, and the words of a refusal. Never: the order of rules (`decision`), the
subjects (`subjects`).
Keeps S4 of docs/security.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.errors import ToolError
from app.tools.authorisation.decision import Decision, RuleBook, decide
from app.tools.authorisation.subjects import subjects_of
from app.tools.authorisation.suggestions import suggestions_for
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, ToolDefinition
from app.tools.contract.modes import is_planning
from app.tools.contract.rules import ConsentRequest, PermissionRule, Subject

CODE = "permission_denied"
_LEVELS = {"manifest": "Project", "session": "Session", "project": "Operator"}
_ASKERS = {
    "manifest": "A rule of the project file",
    "session": "A rule of the session",
    "project": "A rule of the operator",
}
_ANY = {"path": "any file", "command": "any command", "host": "any address"}
_VERBS = {"allow": "allows this", "ask": "asks for approval", "deny": "denies this"}
_MAX_SHOWN = 300
_MAX_SHOWN_INPUT = 4_000

Judged = tuple[Subject, Decision]


async def check_rules(
    definition: ToolDefinition, tools: tuple[str, ...], effects: Effects, context: ToolCallContext
) -> ToolCallContext:
    """Return the context of the call once all its subjects are allowed. Raises ToolError `permission_denied`
    when a rule denies one, or when a needed consent is refused or cannot be asked for."""
    if not any(rule.action != "allow" for rule in context.rules):
        return context
    if effects.reads or effects.writes or effects.commands:
        subjects = await asyncio.to_thread(subjects_of, definition, tools, effects, context)
    else:
        subjects = subjects_of(definition, tools, effects, context)
    commands = [subject for subject in subjects if subject.kind == "command"]
    if commands and all(subject.only_reads for subject in commands):
        context = replace(context, paths=replace(context.paths, only_reads=True))
    asked: list[Judged] = []
    for judged in _judge(subjects, context.rules):
        if judged[1].action == "deny":
            raise refused(*judged)
        if judged[1].action == "ask":
            asked.append(judged)
    if not asked:
        return context
    await _ask(definition, asked, context)
    paths = frozenset(subject.text for subject, _ in asked if subject.kind == "path")
    consented = context.paths.consented | paths
    return replace(context, paths=replace(context.paths, consented=consented))


def _judge(subjects: Sequence[Subject], rules: Sequence[PermissionRule]) -> list[Judged]:
    books: dict[tuple[tuple[str, ...], str | None, bool], RuleBook] = {}
    judged = []
    for subject in subjects:
        use = (subject.tools, subject.capability, subject.only_reads)
        book = books.get(use)
        if book is None:
            book = books[use] = RuleBook.about(rules, subject)
        judged.append((subject, book.decide(subject)))
    return judged


async def _ask(definition: ToolDefinition, asked: list[Judged], context: ToolCallContext) -> None:
    first, decision = asked[0]
    if context.headless:
        raise _error(first, decision, "needs the operator's approval, and this run cannot ask")
    answer = await context.ports.consent(_request(definition, asked, context))
    if answer not in {"once", "always"}:
        raise _error(first, decision, "was rejected by the operator")


def _request(definition: ToolDefinition, asked: list[Judged], context: ToolCallContext) -> ConsentRequest:
    subjects = tuple(subject for subject, _ in asked)
    permissions = {subject.permission for subject in subjects}
    return ConsentRequest(
        tool=definition.name,
        permission=permissions.pop() if len(permissions) == 1 else definition.name,
        subjects=tuple(dict.fromkeys(subject.text or definition.name for subject in subjects)),
        reason="\n".join((*dict.fromkeys(_asks(*one) for one in asked), *_inputs(subjects))),
        source="rule",
        suggestions=suggestions_for(subjects, context.rules),
        about=subjects,
    )


def _inputs(subjects: Iterable[Subject]) -> Iterator[str]:
    """Yield what commands are given to read: `python3` alone says nothing about the program in its input."""
    for subject in subjects:
        if subject.input:
            more = len(subject.input) - _MAX_SHOWN_INPUT
            rest = f"\n... and {more} more characters" if more > 0 else ""
            yield f"`{subject.text}` reads this input:\n{subject.input[:_MAX_SHOWN_INPUT]}{rest}"


def still_to_ask(request: ConsentRequest, rules: Sequence[PermissionRule]) -> bool:
    """Tell whether a question that a rule asked is still open under these `rules`."""
    return request.source != "rule" or any(
        decide(rules, subject).action != "allow" for subject in request.about
    )


def denied_by_now(request: ConsentRequest, rules: Sequence[PermissionRule]) -> ToolError | None:
    """Return the refusal of a call that waits for consent, when these `rules` deny it. What a watchdog asks
    about is denied in plan mode: it writes, or runs more than what only reads."""
    for subject in request.about:
        decision = decide(rules, subject)
        if decision.action == "deny":
            return refused(subject, decision)
    if request.source == "watchdog" and is_planning(rules):
        return ToolError(CODE, "The session is in mode `plan` now: the call was not run.")
    return None


def refused(subject: Subject, decision: Decision) -> ToolError:
    return _error(subject, decision, "is denied")


def _error(subject: Subject, decision: Decision, what: str) -> ToolError:
    shown = subject.text[:_MAX_SHOWN].encode("utf-8", "replace").decode()
    needed = f"permission {subject.permission}" + (f" for {shown}" if shown else "")
    detail: dict[str, Any] = {"needed": needed}
    if decision.rule is not None:
        rule = decision.rule
        detail["rule"] = {
            "permission": rule.permission,
            "pattern": rule.pattern,
            "action": rule.action,
            "scope": rule.scope,
            "pinned": rule.pinned,
        } | ({"id": rule.id} if rule.id else {})
    return ToolError(
        CODE,
        f"{shown or subject.permission}: this {what}. {_reason(decision)} "
        "Find another way, or tell the operator which permission you need and why.",
        detail=detail,
    )


def _asks(subject: Subject, decision: Decision) -> str:
    """Return which rule asks, for the person who is asked."""
    rule = decision.rule
    if rule is None:
        return "No rule allows it."
    asker = f"The mode `{rule.id}`" if rule.scope == "mode" else _ASKERS[rule.scope]
    what = "any call" if rule.permission == "*" else f"`{rule.permission}`"
    about = _ANY.get(subject.kind, "anything") if rule.pattern in {"*", "**"} else f"`{rule.pattern}`"
    doubt = " It may apply: the call cannot be analysed completely." if decision.uncertain else ""
    return f"{asker} asks before {what} on {about}.{doubt}"


def _reason(decision: Decision) -> str:
    rule = decision.rule
    if rule is None:
        return "No rule allows it."
    if rule.scope == "mode":
        made = (
            f"The session's mode `{rule.id}` {_VERBS[rule.action]} (rule `{rule.permission} {rule.pattern}`)"
        )
    else:
        made = f"{_LEVELS[rule.scope]} rule `{rule.permission} {rule.pattern}` {_VERBS[rule.action]}"
    if decision.uncertain:
        return f"{made}, and may apply: this call cannot be analysed completely."
    return f"{made}."
