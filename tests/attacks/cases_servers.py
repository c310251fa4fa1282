"""Language servers: a hostile one that agents may write, what it answers and does itself, and an honest one
that is asked for what its askers may not read."""

from __future__ import annotations

from typing import Any

from tests.attacks.case import Case, Envelope, refused, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene

AREA = "language-server"
FILE = {"path": "src/file.hostile", "line": 1, "character": 1}


def _ask(scene: Scene, agent: str, action: str, **more: Any) -> Envelope:
    envelope = scene.call(agent, "code.lsp", {"action": action, **FILE, **more})
    if scene.kind.tier != "full":
        refused(envelope, ("cage_unavailable", "capability_denied", "program_writable_in_cage"))
    return envelope


def _control(scene: Scene) -> None:
    if scene.kind.tier != "full":
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


def _rewritten(name: str, agent: str) -> Case:
    """The server's program is written anew by an agent without a shell. Who reads more than that agent is not
    served by it."""

    def attack(scene: Scene) -> None:
        program = scene.place.project / "src" / "server.py"
        before = program.read_text()
        stolen = "looked_around() + open(PLACES['ungranted']).read()"
        scene.call("writer", "file.read", {"path": "src/server.py"})
        change = {"old_string": '"hover of the server\\n" + looked_around()', "new_string": stolen}
        edited = scene.call("writer", "edit.text", {"path": "src/server.py", **change})
        try:
            worked(edited)
            scene.call("writer", "code.lsp", {"action": "reload"})
            envelope = scene.call(agent, "code.lsp", {"action": "hover", **FILE})
            if agent == "primary" or scene.kind.tier != "full":
                refused(envelope, ("cage_unavailable", "capability_denied", "program_writable_in_cage"))
        finally:
            program.write_text(before)
            scene.call("primary", "code.lsp", {"action": "reload"})

    return Case(AREA, name, attack, _control)


def _literal(name: str, agent: str) -> Case:
    """A readable file imports one that is not: its literal is in no answer."""

    def attack(scene: Scene) -> None:
        place = {"path": "src/imports.py", "line": 4, "symbol": "API_KEY"}
        for call in (
            {"action": "hover", **place},
            {"action": "diagnostics", "path": "src/imports.py"},
            {"action": "definition", **place},
            {"action": "code_actions", "path": "src/imports.py", "line": 3},
            {
                "action": "request",
                "path": "src/imports.py",
                "query": "textDocument/completion",
                "payload": "{}",
            },
            {
                "action": "request",
                "path": "src/imports.py",
                "query": "textDocument/signatureHelp",
                "payload": "{}",
            },
        ):
            envelope = scene.call(agent, "code.lsp", call)
            if call["action"] in ("hover", "code_actions", "request") and scene.kind.tier != "full":
                refused(envelope)

    def control(scene: Scene) -> None:
        asked = {"action": "hover", "path": "src/code.py", "line": 5, "symbol": "GREETING"}
        envelope = scene.call(agent, "code.lsp", asked)
        if scene.kind.tier == "full":
            worked(envelope, "GREETING")
        else:
            refused(envelope)

    return Case(AREA, name, attack, control)


CASES: tuple[Case, ...] = (
    *(_literal(f"literal-of-a-denied-file-for-{agent}", agent) for agent in ("reader", "blind", "writer")),
    *(_rewritten(f"rewritten-program-for-{agent}", agent) for agent in ("writer", "reader", "primary")),
    _answers("looks-around", "reader", "hover"),
    _answers("looks-around-for-who-wrote-it", "writer", "hover"),
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
