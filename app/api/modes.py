"""Route for the modes of sessions.

Owns: answering. Never: what a mode means (`tools.contract.modes`).
"""

from __future__ import annotations

from fastapi import APIRouter

from app.api.kaged_route import noun_router
from app.api.schemas.modes import ModeAnswer, ModeList
from app.tools.contract.modes import MODES

router: APIRouter = noun_router("Sessions")


@router.get("/modes", summary="List the modes of a session")
async def list_modes() -> ModeList:
    """Each mode with its permission rules, the strictest mode first. The rules of a mode apply beside all
    others: a denial of any rule stays, and so does a question that the project file pins."""
    return ModeList.whole([ModeAnswer.model_validate(mode) for mode in MODES.values()])
