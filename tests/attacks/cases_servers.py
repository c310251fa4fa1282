"""A language server that is hostile: what it answers, and what it does itself."""

from __future__ import annotations

from typing import Any

from tests.attacks.case import Case, Envelope, refused, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene

AREA = "language-server"
FILE = {"path": "src/file.hostile", "line": 1, "character": 1}


def _ask(scene: Scene, agent: str, action: str, **more: Any) -> Envelope:
    envelope = scene.call(agent, "code.lsp", {"action": action, **FILE, **more})
    if scene.kind.tier == "none":
        refused(envelope, ("cage_unavailable", "capability_denied"))
    return envelope


def _control(scene: Scene) -> None:
    if scene.kind.tier == "none":
        worked(scene.call("reader", "file.read", {"path": "src/file.hostile"}), NEIGHBOUR)
        return
    worked(_ask(scene, "reader", "hover"), "hover of the server")


def _answers(name: str, agent: str, action: str, **more: Any) -> Case:
    """Places outside: none of them is shown with its text, and those outside the project not at all."""

    def attack(scene: Scene) -> None:
        envelope = _ask(scene, agent, action, **more)
        assert "root:x:0" not in str(envelope)

    return Case(AREA, name, attack, _control)


def _edits(name: str, agent: str, action: str, **more: Any) -> Case:
    """Edits of files outside: none is made, and those of the same answer neither."""

    def attack(scene: Scene) -> None:
        before = (scene.place.project / "src" / "file.hostile").read_text()
        envelope = _ask(scene, agent, action, **more)
        assert envelope["type"] == "error" or not (envelope["data"] or {}).get("applied"), envelope
        assert (scene.place.project / "src" / "file.hostile").read_text() == before

    return Case(AREA, name, attack, _control)


CASES: tuple[Case, ...] = (
    _answers("looks-around", "reader", "hover"),
    _answers("definition-outside", "reader", "definition"),
    _answers("definition-outside-for-another", "writer", "definition"),
    _answers("references-outside", "reader", "references"),
    _answers("references-outside-unmentioned", "blind", "references"),
    _answers("implementation-outside", "reader", "implementation"),
    _answers("type-outside", "reader", "type_definition"),
    _answers("symbols-outside", "reader", "symbols", scope="workspace", query="stolen"),
    _edits("rename-changes-outside", "writer", "rename", new_name="renamed"),
    _edits("rename-changes-outside-for-a-reader", "reader", "rename", new_name="renamed"),
    _edits("action-changes-outside", "writer", "code_actions"),
)
