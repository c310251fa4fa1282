"""Whether a rule that an operator makes can change anything, or the project file overrules it.

Owns: the comparison of a rule with those of the project file, as they are written. It is for the
answer to the author of the rule: what a call may do is decided for each call (`tools.authorisation`).
"""

from __future__ import annotations

from app.harness.dsl.compiled import CompiledProject
from app.harness.projects.permissions import manifest_rules
from app.tools.authorisation.patterns import covers_everything, matches
from app.tools.contract.rules import PermissionRule, SubjectKind
from app.workspace.globs import text_matches

_KINDS: tuple[tuple[str, SubjectKind], ...] = (
    ("shell", "command"),
    ("bash", "command"),
    ("exec", "command"),
    ("net", "host"),
    ("web", "host"),
)
"""What the uses of a permission are compared as, by how its name begins; everything else: paths."""


def overruled_by(
    permission: str, pattern: str, action: str, project: CompiledProject
) -> PermissionRule | None:
    """Return the rule of the project file that leaves this one without effect for every agent.

    A denial there overrules whatever is weaker, and a pinned `ask` overrules `allow`. None when the
    rule has an effect for some agent, or when it cannot be seen from how the rules are written."""
    found: PermissionRule | None = None
    for agent in project.agents():
        rules = manifest_rules(project, agent)
        found = next((rule for rule in rules if _overrules(rule, permission, pattern, action)), None)
        if found is None:
            return None
    return found


def _overrules(rule: PermissionRule, permission: str, pattern: str, action: str) -> bool:
    stronger = action != "deny" if rule.action == "deny" else rule.action == "ask" and action == "allow"
    if not stronger or (rule.action == "ask" and not rule.pinned):
        return False
    if not (rule.permission in ("*", permission) or text_matches(permission, rule.permission)):
        return False
    if covers_everything(rule.pattern) or rule.pattern == pattern:
        return True
    return permission != "*" and matches(rule.pattern, pattern, _kind_of(permission))


def _kind_of(permission: str) -> SubjectKind:
    return next((kind for prefix, kind in _KINDS if permission.startswith(prefix)), "path")
