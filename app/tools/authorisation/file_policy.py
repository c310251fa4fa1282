"""The caller's rights on the file that was really opened: its cage, then its rules.

Owns: the policy that `app.workspace` applies to the real path at the moment of use. Never: opening files.
Keeps S1 and S3 of docs/security.md.
"""

from __future__ import annotations

from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.authorisation.decision import RuleBook
from app.tools.authorisation.permission_rules import refused
from app.tools.contract.call import ToolCallContext
from app.tools.contract.rules import Subject, plain
from app.workspace import Access

_CAPABILITIES: dict[Access, str] = {"ro": "fs.read", "rw": "fs.write"}


class RulePolicy:
    """The path rules of one call. What was consented to covers everything below it."""

    def __init__(self, context: ToolCallContext) -> None:
        self._tools = context.paths.tools
        self._consented = context.paths.consented
        self._books = {
            access: RuleBook(context.rules, self._tools, name, only_reads=context.paths.only_reads)
            for access, name in _CAPABILITIES.items()
        }

    @property
    def restricts(self) -> bool:
        return any(book.restricts for book in self._books.values())

    @property
    def reading_patterns(self) -> frozenset[str]:
        """The patterns of the rules that could keep the caller from reading."""
        return self._books["ro"].strict_patterns

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        """Raise ToolError `permission_denied` unless the rules let the caller use this path."""
        subject = Subject("path", self._tools, _CAPABILITIES[access], plain("/".join(parts) or "."))
        decision = self._books[access].decide(subject)
        if decision.action == "deny" or (decision.action == "ask" and not self._has_consent(parts)):
            raise refused(subject, decision)

    def _has_consent(self, parts: tuple[str, ...]) -> bool:
        above = ("/".join(parts[:length]) or "." for length in range(len(parts) + 1))
        return any(path in self._consented for path in above)


class CallerPolicy:
    """Cage and rules together; both must agree."""

    def __init__(self, cage: CagePolicy | None, rules: RulePolicy | None) -> None:
        self.cage = cage
        self.rules = rules

    def check(self, parts: tuple[str, ...], access: Access) -> None:
        for policy in (self.cage, self.rules):
            if policy is not None:
                policy.check(parts, access)

    def check_step(self, parts: tuple[str, ...]) -> None:
        """Raise ToolError unless the cage lets the caller know of `parts`; rules are about what is used."""
        if self.cage is not None:
            self.cage.check_step(parts)

    def mode(self, parts: tuple[str, ...]) -> str | None:
        """Return what the cage grants there; "rw" without a cage."""
        return "rw" if self.cage is None else self.cage.mode(parts)

    def reaches_below(self, parts: tuple[str, ...]) -> bool:
        """Tell whether the cage grants something below `parts` by an entry of its own."""
        return self.cage is not None and self.cage.reaches_below(parts)


def fs_policy(context: ToolCallContext) -> CallerPolicy | None:
    """Return the caller's policy for the workspace; None means the whole project."""
    cage = None if context.cage is None else CagePolicy(context.cage, context.project_root)
    rules = RulePolicy(context) if context.rules else None
    if rules is not None and not rules.restricts:
        rules = None
    return None if cage is None and rules is None else CallerPolicy(cage, rules)
