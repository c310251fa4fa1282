"""A debug adapter and a plugin that are hostile: what they answer, ask for, and do themselves."""

from __future__ import annotations

from typing import Any

from tests.attacks.case import Case, Envelope, refused, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene

DEBUGGER = "debug-adapter"
PLUGIN = "plugin"
LAUNCH = {"action": "launch", "runtime": "hostile", "script": "src/file.hostile", "stop_on_entry": True}


def _debug(scene: Scene, *actions: dict[str, Any]) -> list[Envelope]:
    """Launch the hostile adapter in the cage of the agent that may debug, and do these actions."""
    launched = scene.call("relaxed", "debug", {**LAUNCH, "cwd": "src"})
    if scene.kind.tier == "none":
        refused(launched, ("cage_unavailable", "program_writable_in_cage"))
        return []
    worked(launched)
    try:
        return [scene.call("relaxed", "debug", action) for action in actions]
    finally:
        worked(scene.call("relaxed", "debug", {"action": "disconnect"}))


def _debugging(name: str, *actions: dict[str, Any]) -> Case:
    def attack(scene: Scene) -> None:
        for envelope in _debug(scene, *actions):
            assert "root:x:0" not in str(envelope)

    def control(scene: Scene) -> None:
        if scene.kind.tier == "none":
            worked(scene.call("relaxed", "file.read", {"path": "src/file.hostile"}), NEIGHBOUR)
            return
        (evaluated,) = _debug(scene, {"action": "evaluate", "expression": "1"})
        worked(evaluated, "evaluated by the adapter")

    return Case(DEBUGGER, name, attack, control)


def _for_who_reads_more() -> Case:
    """The adapter lies where caged agents may write: it is not started for who reads more than they do."""

    def attack(scene: Scene) -> None:
        for agent in ("primary", "relaxed"):
            if agent == "primary" or scene.kind.tier == "none":
                launched = scene.call(agent, "debug", {**LAUNCH, "cwd": "src"})
                refused(launched, ("cage_unavailable", "program_writable_in_cage"))

    case = _debugging("written-by-others")
    return Case(DEBUGGER, "written-by-who-reads-less", attack, case.control)


def _look(scene: Scene, how: str) -> Envelope:
    return scene.call("primary", "spy.look", {"how": how})


def _plugin_control(scene: Scene) -> None:
    if scene.kind.tier == "none":
        worked(scene.call("primary", "file.read", {"path": "src/a.txt"}), NEIGHBOUR)
    else:
        worked(_look(scene, "hello"), "hello of the plugin")


def _plugin(name: str, how: str, *, refusal: bool = True) -> Case:
    """What the plugin asks of the daemon without leave: a refusal is all that it is told."""

    def attack(scene: Scene) -> None:
        envelope = _look(scene, how)
        if scene.kind.tier == "none":
            assert envelope["type"] == "error", envelope
            return
        worked(envelope)
        if refusal:
            assert "'error'" in str(envelope["data"]), envelope

    return Case(PLUGIN, name, attack, _plugin_control)


def _no_second_plugin() -> Case:
    """A caged agent that did not declare the plugin does not have its tools."""

    def attack(scene: Scene) -> None:
        refused(scene.call("runner", "spy.look", {"how": "hello"}), ("tool_not_found",))

    return Case(PLUGIN, "of-another-agent", attack, _plugin_control)


CASES: tuple[Case, ...] = (
    _debugging("evaluates", {"action": "evaluate", "expression": "1"}),
    _debugging("frames-outside", {"action": "stack_trace"}),
    _debugging("variables", {"action": "variables"}),
    _debugging("sources-outside", {"action": "loaded_sources"}),
    _debugging(
        "breakpoint-outside", {"action": "set_breakpoint", "path": "../outside/folder/deep.py", "line": 1}
    ),
    _debugging(
        "breakpoint-in-what-is-not-granted", {"action": "set_breakpoint", "path": "secret/key.txt", "line": 1}
    ),
    _debugging("goes-on-outside", {"action": "step_over"}, {"action": "stack_trace"}),
    _for_who_reads_more(),
    _plugin("looks-around", "around", refusal=False),
    _plugin("writes-to-storage-without-leave", "write"),
    _plugin("key-is-a-path", "path", refusal=False),
    _plugin("lists-sessions", "sessions"),
    _plugin("answers-for-the-operator", "approve"),
    _plugin("mints-a-token", "mint"),
    _plugin("loads-a-project", "load"),
    _plugin("reads-another-projects-storage", "other-project", refusal=False),
    _no_second_plugin(),
)
