"""Hosts that a call learns of while it runs, and hosts on private addresses.

Owns: judging a further host by the caller's cage and rules, and which private hosts operators allow. Never:
addresses (`app.cages.address_vetting`), or asking a person.
Keeps S23 of docs/security.md.
"""

from __future__ import annotations

from app.errors import ToolError
from app.tools.authorisation.capabilities import check_capabilities
from app.tools.authorisation.decision import decide
from app.tools.authorisation.patterns import escaped
from app.tools.authorisation.permission_rules import CODE, refused
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, ToolDefinition
from app.tools.contract.naming import rule_name
from app.tools.contract.rules import Subject, plain


def check_further_host(definition: ToolDefinition, place: str, context: ToolCallContext) -> None:
    """Raise ToolError unless the caller's cage and rules allow `place` (`host:port`) without a question. A
    call that has begun asks nobody: the model may make a call of its own."""
    check_capabilities(definition, Effects(hosts=(place,)), context)
    subject = Subject("host", (rule_name(definition.name),), "net", plain(place))
    decision = decide(context.rules, subject)
    if decision.action == "deny":
        raise refused(subject, decision)
    if decision.action == "ask":
        raise ToolError(
            CODE,
            f"{place} needs the operator's approval, which a redirect does not ask for. "
            f"Call {definition.name} with that address to ask.",
            detail={"needed": f"permission net for {place}"},
        )


def allows_private(place: str, context: ToolCallContext) -> bool:
    """Tell whether an operator's rule `net` allows exactly this `host:port`. Such a host may have a private
    address. Rules of the project file, patterns, and rules of a tool's name do not count."""
    patterns = {place, escaped(place)}
    return any(
        rule.permission == "net"
        and rule.action == "allow"
        and rule.scope != "manifest"
        and rule.above is None
        and rule.pattern.casefold() in patterns
        for rule in context.rules
    )
