"""The identity of a run: one agent of one session, its actor, and its bounds.

Owns: these facts, which do not change while the run lasts. Never: what the run does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.events.payload import Origin
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.projects.session_roots import SessionRoot


@dataclass(frozen=True, slots=True)
class Scope:
    """The identity of one run. `run_id` is "" for work that an operator asks for outside of a run.

    A child's run has the id of its parent's tool call as `parent_call_id`, and the `root` of its parent, or a
    workspace of its own.
    `cage` is what the agent is held to, None when it has no cage."""

    session_id: str
    project_id: str
    root: SessionRoot
    run_id: str
    agent_path: str
    actor: str
    project: CompiledProject
    agent: CompiledAgent
    headless: bool = False
    cage: Mapping[str, Any] | None = None
    parent_call_id: str | None = None

    @property
    def project_root(self) -> Path:
        """Where the session works; tools take the project for what is here."""
        return self.root.path

    @property
    def origin(self) -> Origin:
        """Where events of the run come from."""
        return Origin(self.run_id or None, self.agent_path, self.parent_call_id)
