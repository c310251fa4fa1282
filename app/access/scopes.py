"""The caller of a request, and the rights of a token.

Owns: the scopes, what a token is bound to, and the identity that follows from it. Never: verifying
tokens (`access.tokens`) nor what each scope may ask for over HTTP (`api.scope_rules`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scope = Literal["operator", "read-only", "agent", "plugin", "chat"]


@dataclass(frozen=True, slots=True)
class Binding:
    """What a token is kept to. An agent's token has all but `plugin`: it acts as that agent in
    that session. A plugin's has its project and name. A chat client's has its project, and an agent unless it
    talks to all of them. Other tokens are bound to nothing."""

    project_id: str | None = None
    session_id: str | None = None
    agent_path: str | None = None
    plugin: str | None = None


UNBOUND = Binding()


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request. `actor` is its name in rows and the audit trail. All of it follows from the
    token (or the proxy): nothing that a request says changes it."""

    actor: str
    scope: Scope
    via: Literal["bearer", "cookie", "proxy", "insecure"]
    token_id: str | None = None
    bound: Binding = UNBOUND

    @property
    def may_write(self) -> bool:
        """Whether this is an operator: the others change nothing by themselves."""
        return self.scope == "operator"

    @property
    def is_bound(self) -> bool:
        """Whether only what the token is bound to may be asked for."""
        return self.scope in ("agent", "plugin", "chat")

    @property
    def is_caged(self) -> bool:
        """Whether a process of an agent may bear the token: it lets nobody do more than that agent."""
        return self.scope in ("agent", "plugin")

    def may_talk_to(self, project_id: str, agent_path: str) -> bool:
        """Return whether this caller may see an agent as one to talk to; only `operator` and `chat` may."""
        if self.scope != "chat":
            return not self.is_bound
        return self.bound.project_id == project_id and self.bound.agent_path in (None, agent_path)

    @property
    def key(self) -> str:
        """Return what distinguishes principals: two tokens may have one name."""
        return self.token_id or f"{self.via}:{self.actor}"

    @property
    def owner(self) -> str:
        """Return the name of whose sessions are not another token's, even of one with the same name: `actor`
        where nobody can choose it, and else with the token's id."""
        chosen = self.actor.startswith("token:") and self.token_id is not None
        return f"{self.actor}:{self.token_id}" if chosen else self.actor
