"""The permission rules that hold for a call: of the project file, the project, the session and its mode.

Owns: the stored rules, kept in memory so that no call reads the database, and forgotten the moment
one changes. Never: deciding what a rule means (`tools.authorisation`), or who may change one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from app.errors import Conflict, NotFound
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.ids import new_id, now_ms
from app.observability import Redactor
from app.storage.keyed_effect import effect
from app.storage.models import AuditEvent, PermissionRuleRow
from app.storage.pages import Page
from app.storage.repositories.permissions import identity_of
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.modes import mode_rules
from app.tools.contract.rules import PermissionRule, RuleAction

T = TypeVar("T")

NO_CAUSE: Mapping[str, str] = {}

MAX_RULES = 500
"""How many rules one project, or one session, may have."""

MAX_KEPT = 1_000
"""The number of projects and sessions whose rules are kept in memory."""


@dataclass(frozen=True, slots=True)
class RuleScope:
    """Where a stored rule holds: in one session, or in all of a project's."""

    project_id: str
    session_id: str | None = None

    @property
    def key(self) -> str:
        return self.session_id or self.project_id


def manifest_rules(project: CompiledProject, agent: CompiledAgent) -> tuple[PermissionRule, ...]:
    """Return the rules of the project file for one agent: the project's, those handed down, its own."""
    return tuple(
        PermissionRule(rule.permission, rule.pattern, rule.action, "manifest", rule.pinned)
        for rule in (*project.permissions, *agent.permissions)
    )


def rules_above(project: CompiledProject, agent: CompiledAgent) -> tuple[PermissionRule, ...]:
    """Return the rules of the agents above one, each set marked with its agent: what they deny there is
    denied here, whatever the agent's own rules say."""
    return tuple(
        replace(rule, above=above.path)
        for above in (*project.above(agent.path), *project.above_root)
        for rule in manifest_rules(project, above)
    )


def declared_rules(project: CompiledProject, agent: CompiledAgent) -> tuple[PermissionRule, ...]:
    """Return all rules of the project file that an agent is held to: its own, and those above it."""
    return (*manifest_rules(project, agent), *rules_above(project, agent))


class PermissionRules:
    """The stored rules of all projects and sessions."""

    def __init__(self, storage: Storage, redactor: Redactor) -> None:
        self._storage = storage
        self._redactor = redactor
        self._kept: dict[str, tuple[PermissionRule, ...]] = {}
        self._changes = 0

    async def applying_to(self, project_id: str, session_id: str) -> tuple[PermissionRule, ...]:
        """Return the rules of the session, its mode and its project; from memory after the first time."""
        own = await self._of(RuleScope(project_id, session_id))
        return own + await self._of(RuleScope(project_id))

    async def list(self, scope: RuleScope, *, limit: int, cursor: str | None) -> Page[PermissionRuleRow]:
        """Return a page of the rules made in one scope, the newest first."""
        return await self._storage.read(
            lambda uow: uow.permissions.list(scope.project_id, scope.session_id, limit=limit, cursor=cursor)
        )

    async def add(
        self, scope: RuleScope, permission: str, pattern: str, action: RuleAction, actor: str
    ) -> tuple[PermissionRuleRow, bool]:
        """Store a rule; return it, and whether it is new. The next call is judged by it.

        The same rule again is the one that exists; with another action it is a `Conflict`."""

        def store(uow: UnitOfWork) -> tuple[PermissionRuleRow, bool]:
            found = uow.permissions.find(scope.project_id, scope.session_id, permission, pattern)
            if found is None:
                row = new_row(scope, permission, pattern, action, actor)
                self._insert(uow, scope, row, actor)
                return row, True
            if found.action != action:
                raise Conflict(
                    f"There is a rule for {permission} {pattern!r} already, with the action "
                    f"{found.action}. Delete it first.",
                    reason="rule_exists",
                    details={"id": found.id, "action": found.action},
                )
            return found, False

        return await self._change(scope, self._storage.submit(effect(store), durable=True))

    async def remove(self, scope: RuleScope, rule_id: str, actor: str) -> None:
        """Delete a rule of this scope; raise `NotFound` when it has none such."""

        def store(uow: UnitOfWork) -> None:
            row = uow.permissions.get(rule_id)
            if row is None or (row.project_id, row.session_id) != (scope.project_id, scope.session_id):
                raise NotFound(f"There is no permission rule {rule_id} here.")
            uow.permissions.delete(rule_id)
            uow.audit.add_many([self._audit("permission.rule_removed", row, actor)])

        await self._change(scope, self._storage.submit(store, durable=True))

    def put_all(
        self,
        uow: UnitOfWork,
        scope: RuleScope,
        rules: Iterable[PermissionRule],
        actor: str,
        *,
        interaction_id: str,
    ) -> None:
        """Store rules as part of a unit, in place of equal ones with another action; the answer to a
        question made them.

        Call `changed` when the unit is committed."""
        why = {"interaction_id": interaction_id}
        for rule in rules:
            found = uow.permissions.find(scope.project_id, scope.session_id, rule.permission, rule.pattern)
            row = new_row(scope, rule.permission, rule.pattern, rule.action, actor)
            if found is None:
                self._insert(uow, scope, row, actor, why)
            elif found.action != rule.action:
                uow.permissions.update(found.id, action=rule.action, created_by=actor)
                changed = row.model_copy(update={"id": found.id})
                uow.audit.add_many([self._audit("permission.rule_changed", changed, actor, why)])

    def changed(self, scope: RuleScope) -> None:
        """Forget what is kept of a scope; a read that is under way is not kept either."""
        self._changes += 1
        self._kept.pop(scope.key, None)

    def _insert(
        self,
        uow: UnitOfWork,
        scope: RuleScope,
        row: PermissionRuleRow,
        actor: str,
        why: Mapping[str, str] = NO_CAUSE,
    ) -> None:
        if uow.permissions.count(scope.project_id, scope.session_id) >= MAX_RULES:
            raise Conflict(
                f"There are {MAX_RULES} rules already; delete some, or write one that stands for several.",
                reason="too_many_rules",
                details={"limit": MAX_RULES},
            )
        uow.permissions.add(row)
        uow.audit.add_many([self._audit("permission.rule_added", row, actor, why)])

    async def _change(self, scope: RuleScope, stored: asyncio.Future[T]) -> T:
        # Also when the caller has gone away meanwhile.
        stored.add_done_callback(lambda _: self.changed(scope))
        return await asyncio.shield(stored)

    async def _of(self, scope: RuleScope) -> tuple[PermissionRule, ...]:
        kept = self._kept.get(scope.key)
        while kept is None:
            before = self._changes
            found = await self._storage.read(lambda uow: _rules_in(uow, scope))
            if before == self._changes:
                kept = self._kept[scope.key] = found
                if len(self._kept) > MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
        return kept

    def _audit(
        self, event: str, row: PermissionRuleRow, actor: str, why: Mapping[str, str] = NO_CAUSE
    ) -> AuditEvent:
        rule = {"permission": row.permission, "pattern": row.pattern, "action": row.action}
        return AuditEvent(
            created_at=now_ms(),
            event=event,
            actor=actor,
            project_id=row.project_id,
            session_id=row.session_id,
            data=self._redactor.data({"rule_id": row.id, **rule, **why}),
        )


def _rules_in(uow: UnitOfWork, scope: RuleScope) -> tuple[PermissionRule, ...]:
    rules = rules_of(uow.permissions.of_scope(scope.project_id, scope.session_id))
    session = None if scope.session_id is None else uow.sessions.get(scope.session_id)
    return rules if session is None else rules + mode_rules(session.mode)


def new_row(
    scope: RuleScope, permission: str, pattern: str, action: RuleAction, actor: str
) -> PermissionRuleRow:
    return PermissionRuleRow(
        id=new_id("rul"),
        project_id=scope.project_id,
        session_id=scope.session_id,
        permission=permission,
        pattern=pattern,
        identity=identity_of(permission, pattern),
        action=action,
        created_by=actor,
        created_at=now_ms(),
    )


def rules_of(rows: Sequence[PermissionRuleRow]) -> tuple[PermissionRule, ...]:
    """Return stored rules as a call is given them."""
    return tuple(
        PermissionRule(
            row.permission,
            row.pattern,
            row.action,  # type: ignore[arg-type]
            "project" if row.session_id is None else "session",
            id=row.id,
        )
        for row in rows
    )
