"""Modes of sessions on the wire."""

from __future__ import annotations

from app.api.schemas.model import AnswerModel, PageOf
from app.api.schemas.permissions import RuleAnswer
from app.tools.contract.modes import ModeName


class ModeAnswer(AnswerModel):
    name: ModeName
    label: str
    description: str
    rules: list[RuleAnswer]


class ModeList(PageOf[ModeAnswer]):
    """All modes, on one page."""
