"""Permission rules of a project file.

Owns: their validation and the default of `pinned`. Never: deciding a permission; the tool service does that.
"""

from __future__ import annotations

from pydantic import ValidationError

from app.harness.dsl.compiled import CompiledPermission
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, to_plain
from app.harness.dsl.spec_sections import PermissionRule


def compile_permissions(rules: Node | None, *, pinned: bool) -> tuple[CompiledPermission, ...]:
    """Compile a list of rules, keeping their order. Wrong rules are reported elsewhere and left out here."""
    compiled = []
    items = rules.value if rules is not None and isinstance(rules.value, tuple) else ()
    for node in items:
        try:
            rule = PermissionRule.model_validate(to_plain(node), context=DiagnosticBag())
        except ValidationError:
            continue
        effective = rule.pinned if rule.pinned is not None else pinned
        compiled.append(
            CompiledPermission(
                permission=rule.permission, pattern=rule.pattern, action=rule.action, pinned=effective
            )
        )
    return tuple(compiled)
