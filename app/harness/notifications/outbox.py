"""The outbox: the notifications to deliver. A row is stored in the unit of work that stores its event.

Owns: the choice by kind and project, and what a row holds: who and what kind, never content. Never: delivery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.config import NotifySettings
from app.events.budgets import BudgetWarning
from app.events.interactions import InteractionRequested, PermissionRequested
from app.events.union import RunEnded
from app.harness.stream.frames import Frame
from app.ids import ROOT_AGENT, new_id
from app.states import RunState
from app.storage.models import Notification
from app.storage.unit_of_work import UnitOfWork

NOTIFYING = frozenset(
    {PermissionRequested.TYPE, InteractionRequested.TYPE, BudgetWarning.TYPE, RunEnded.TYPE}
)
PERMISSION = "permission"


@dataclass(frozen=True, slots=True)
class Occasion:
    """Why a notification is sent, from one event."""

    kind: str
    about: dict[str, Any]


class Outbox:
    """Makes the rows. `store` is given to the event hub and runs on the writer's thread."""

    def __init__(self, settings: NotifySettings) -> None:
        self._channels = settings.channels
        self._kinds = frozenset(settings.on)
        self._projects = frozenset(settings.projects)

    def store(self, uow: UnitOfWork, frames: Sequence[Frame]) -> None:
        """Store what is to be delivered of some frames; it fits into the unit that stores these."""
        for frame in frames:
            occasion = occasion_of(frame) if frame.type in NOTIFYING else None
            if occasion is not None and occasion.kind in self._kinds:
                self._add(uow, frame, occasion)

    def _add(self, uow: UnitOfWork, frame: Frame, occasion: Occasion) -> None:
        session = uow.sessions.get(frame.session_id)
        if session is None or not self._covers(uow, session.project_id):
            return
        uow.notifications.add_many(
            Notification(
                id=new_id("ntf"),
                session_id=session.id,
                project_id=session.project_id,
                agent_path=frame.origin.agent_path or ROOT_AGENT,
                channel=channel,
                kind=occasion.kind,
                about=occasion.about,
                due_at=frame.created_at,
                created_at=frame.created_at,
            )
            for channel in self._channels
        )

    def _covers(self, uow: UnitOfWork, project_id: str) -> bool:
        if not self._projects or project_id in self._projects:
            return True
        project = uow.projects.get(project_id)
        return project is not None and project.slug in self._projects


def occasion_of(frame: Frame) -> Occasion | None:
    """Return why a frame makes a notification; None when it makes none."""
    match frame.payload:
        case PermissionRequested(interaction_id=asked):
            return Occasion("question", {"asks": PERMISSION, "interaction_id": asked})
        case InteractionRequested(interaction_id=asked, kind=kind):
            return Occasion("question", {"asks": kind, "interaction_id": asked})
        case BudgetWarning(unpriced_model=None, unit=unit, reached=reached):
            return Occasion("budget", {"unit": unit, "reached": reached})
        case RunEnded() as end if (frame.origin.agent_path or ROOT_AGENT) == ROOT_AGENT:
            return _end(end)
        case _:
            return None


def _end(end: RunEnded) -> Occasion | None:
    if end.state == RunState.FAILED.value:
        return Occasion(
            "failure", {"code": (end.error or {}).get("code") or end.reason, "run_id": end.run_id}
        )
    if end.state == RunState.SUCCEEDED.value:
        return Occasion("finish", {"run_id": end.run_id})
    return None
