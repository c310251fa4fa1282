"""Commands as attacks: what a caged agent runs, beside what it may run.

Owns: the builders of such cases, for each tier. Never: the commands.
"""

from __future__ import annotations

import textwrap
from typing import Any

from tests.attacks.case import Case, Envelope, filled, refused, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import TIERS, Scene, TierName, unique

SEEN = "cat a.txt"
"""The neighbour of an attack that reads or writes."""


def run(scene: Scene, agent: str, command: str, **more: Any) -> Envelope:
    """Run a command with the scene's places filled in. It is in a file, so that whoever reads command
    lines does not refuse it before it gets to the cage. In the tier `none` it must be refused as such."""
    script = scene.place.project / "src" / f"{unique('attack')}.sh"
    script.write_text(filled(scene, textwrap.dedent(command)) + "\n")
    try:
        envelope = scene.shell(agent, f"sh ./{script.name}", **{"cwd": "src", **more})
    finally:
        script.unlink(missing_ok=True)
    if scene.kind.tier == "none" and agent != "primary":
        refused(envelope, ("cage_unavailable",))
    return envelope


def output(envelope: Envelope) -> str:
    return str(envelope["data"]["stdout"]) + str(envelope["data"]["stderr"])


def control(scene: Scene, agent: str, command: str, shows: str) -> None:
    """The allowed neighbour: in the tier `none` the root agent's, and a tool that needs no process."""
    if scene.kind.tier == "none":
        worked(scene.call(agent, "file.read", {"path": "src/a.txt"}), NEIGHBOUR)
        agent = "primary"
    envelope = run(scene, agent, command)
    worked(envelope)
    assert shows in output(envelope), envelope


def shell(
    area: str,
    name: str,
    attack: str,
    allowed: str = SEEN,
    *,
    agent: str = "runner",
    shows: str = NEIGHBOUR,
    never: tuple[str, ...] = (),
    must: str = "",
    tiers: tuple[TierName, ...] = TIERS,
) -> Case:
    """A command that tries something. `never` may not be in what it prints, `must` has to be."""

    def attacking(scene: Scene) -> None:
        envelope = run(scene, agent, attack)
        if scene.kind.tier == "none":
            return
        if envelope["type"] == "error":
            refused(envelope)
            assert not must, envelope
            return
        for word in never:
            assert filled(scene, word) not in output(envelope), envelope
        assert must in output(envelope), envelope

    def controlling(scene: Scene) -> None:
        control(scene, agent, allowed, shows)

    return Case(area, name, attacking, controlling, tiers)


def python(code: str) -> str:
    """Return a command that runs `code` with the machine's interpreter."""
    return f"/usr/bin/python3 - <<'PROGRAM'\n{textwrap.dedent(code).strip()}\nPROGRAM"
