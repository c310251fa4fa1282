"""The agents of a session on the wire, with what each may reach."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel
from app.harness.dsl.compiled import CompiledAgent
from app.harness.dsl.spec_cage import CageSpec


class CageFileAnswer(AnswerModel):
    """What may be done below a path of the session's folder; of nested ones the deeper decides."""

    path: str
    mode: Literal["ro", "rw", "deny"] = Field(
        description="`ro`: it is read, `rw`: read and written, `deny`: hidden."
    )


class CageAnswer(AnswerModel):
    """What an agent may reach, as its project file says. Whatever the files are, prompts, programs and other
    names that steer agents are read-only. Variables of the cage are left out."""

    files: list[CageFileAnswer] = Field(description="Nothing else of the machine is there but the system.")
    hosts: list[str] = Field(description="`host`, `host:port` or `*.host:port`. Empty: no network.")
    capabilities: list[str] = Field(description="For example `shell` and `exec`. Without: it runs nothing.")
    unix_sockets: bool
    keeps_state: bool = Field(description="Its home is kept from run to run.")
    seconds: int | None = Field(description="After so long everything that runs in it is ended.")
    memory_mb: int | None

    @classmethod
    def of(cls, cage: CageSpec) -> CageAnswer:
        return cls(
            files=[CageFileAnswer(path=_shown(one.path), mode=one.mode) for one in cage.fs],
            hosts=list(cage.net.allow),
            capabilities=list(cage.capabilities),
            unix_sockets="unix" in cage.ipc,
            keeps_state=cage.state == "persistent",
            seconds=cage.limits.walltime_seconds,
            memory_mb=cage.limits.memory_mb,
        )


def _shown(path: str) -> str:
    """Return a path below the root in one spelling: `.` is all of it."""
    return path.removeprefix("{workspace}").strip("/").removeprefix("./") or "."


class SessionAgent(AnswerModel):
    """An agent of a session. `cage` is null without one: its programs have the rights of the daemon's
    user."""

    path: str
    name: str
    description: str | None
    cage: CageAnswer | None

    @classmethod
    def of(cls, agent: CompiledAgent) -> SessionAgent:
        return cls(
            path=agent.path,
            name=agent.name,
            description=agent.description,
            cage=None if agent.cage == "disabled" else CageAnswer.of(agent.cage),
        )
