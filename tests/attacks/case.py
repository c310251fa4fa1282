"""One attack with its positive control, as data, and the usual ways to write one.

Owns: `Case` and its builders. Never: a daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import TIERS, Scene, TierName

Step = Callable[[Scene], None]
Envelope = dict[str, Any]

REFUSALS = (
    "invalid_path",
    "invalid_params",
    "file_not_found",
    "capability_denied",
    "permission_denied",
    "watchdog_denied",
    "symbolic_link",
    "cage_unavailable",
    "bad_request",
    "invalid_pattern",
)


@dataclass(frozen=True)
class Case:
    """`attack` asserts that what it tries is refused or comes to nothing; `control` that the allowed
    neighbour of it works. Both run in each of `tiers`, the control first."""

    area: str
    name: str
    attack: Step
    control: Step
    tiers: tuple[TierName, ...] = TIERS

    @property
    def id(self) -> str:
        return f"{self.area}-{self.name}"


def filled(scene: Scene, value: Any) -> Any:
    """Put the scene's places in for `<outside>` and its kin, in texts at any depth."""
    if isinstance(value, str):
        place = scene.place
        for name in ("top", "project", "other", "outside", "home", "data", "log", "config"):
            value = value.replace(f"<{name}>", str(getattr(place, name)))
        for name in ("session_id", "project_id", "other_session_id", "other_id", "daemon_pid", "url"):
            value = value.replace(f"<{name}>", str(getattr(scene, name)))
        return value
    if isinstance(value, Mapping):
        return {key: filled(scene, one) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(scene, one) for one in value]
    return value


def refused(envelope: Envelope, codes: tuple[str, ...] = REFUSALS) -> None:
    assert envelope["type"] == "error", envelope
    assert envelope["code"] in codes, envelope


def worked(envelope: Envelope, shows: str = "") -> None:
    assert envelope["type"] == "output", envelope
    assert shows in str(envelope["data"]), envelope


def tool(
    area: str,
    name: str,
    agent: str,
    tool_name: str,
    attack: Mapping[str, Any],
    control: Mapping[str, Any],
    *,
    shows: str = "",
    codes: tuple[str, ...] | None = REFUSALS,
    tiers: tuple[TierName, ...] = TIERS,
) -> Case:
    """A call with bad parameters beside one with good ones. `codes` None: the bad call may also succeed,
    it only must do no harm."""

    def attacking(scene: Scene) -> None:
        envelope = scene.call(agent, tool_name, filled(scene, attack))
        if codes is not None:
            refused(envelope, codes)

    def controlling(scene: Scene) -> None:
        envelope = scene.call(agent, tool_name, filled(scene, control))
        if scene.kind.tier == "none" and envelope["code"] == "cage_unavailable":
            envelope = scene.call("primary", tool_name, filled(scene, control))
        worked(envelope, shows)

    return Case(area, name, attacking, controlling, tiers)


def reading(area: str, name: str, path: str, *, agent: str = "reader") -> Case:
    """`file.read` of `path`, beside that of a file that the agent may read."""
    return tool(area, name, agent, "file.read", {"path": path}, {"path": "src/a.txt"}, shows=NEIGHBOUR)
