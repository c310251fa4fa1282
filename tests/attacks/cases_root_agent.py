"""A caged root agent, with the whole project to write to: it tries to get out, and to steer who is next."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.case import Case, filled, refused, worked
from tests.attacks.place import NEIGHBOUR, write
from tests.attacks.scene import Scene, unique

AREA = "root-agent"
PROJECT = """\
version: 1
project: caged
primary:
  model: main
  system_prompt: prompts/root.md
  cage:
    fs: [{ mode: rw, path: . }, { mode: ro, path: shown }]
    capabilities: [shell, exec]
  tools: { file.*: { enabled: true }, shell.*: { enabled: true } }
  subagents:
    helper:
      description: Has what the root agent has.
      model: main
      system_prompt: prompts/root.md
      cage: disabled
      tools: { file.*: { enabled: true }, shell.*: { enabled: true } }
"""
MINE = {
    "prompts/root.md": "You are mine.\n",
    "AGENTS.md": "mine\n",
    ".github/workflows/ci.yml": "mine\n",
    ".git/config": "[core]\n\trepositoryformatversion = 0\n",
    "shown/text": f"{NEIGHBOUR}\n",
    "a.txt": f"{NEIGHBOUR}\n",
}
LATER_SECONDS = 60.0


@dataclass
class Held:
    """The project of one case, and the session of its root agent."""

    scene: Scene
    root: Path
    session: str

    def run(self, command: str, agent: str = "primary") -> dict[str, object]:
        script = self.root / f"{unique('attack')}.sh"
        script.write_text(filled(self.scene, command) + "\n")
        return self.scene.shell(agent, f"sh ./{script.name}", session=self.session)

    def is_mine(self) -> None:
        """Assert that nothing has changed of what is not the agent's to change."""
        for name, text in {**MINE, ".kaged/project.yaml": PROJECT}.items():
            assert (self.root / name).read_text() == text, name


def _held(scene: Scene) -> Held:
    root = scene.place.top / "caged" / unique("project")
    for name, text in MINE.items():
        write(root / name, text)
    write(root / ".kaged" / "project.yaml", PROJECT)
    scene.place.give(root.parent)
    loaded = scene.request("POST", "/projects/load", json={"path": str(root)})
    assert loaded.status_code == 200, loaded.text
    return Held(scene, root, scene.new_session(loaded.json()["id"]))


def _works(scene: Scene) -> None:
    held = _held(scene)
    envelope = held.run("cat a.txt")
    if scene.kind.tier == "none":
        refused(envelope, ("cage_unavailable",))
        assert "primary:\n  cage: disabled\n" in str(envelope["error_text"])
        envelope = scene.call("primary", "file.read", {"path": "a.txt"}, session=held.session)
    worked(envelope, NEIGHBOUR)


Look = Callable[[Held], None]


def _command(name: str, command: str, *, agent: str = "primary", look: Look | None = None) -> Case:
    """A command after which all is as it was; `look` looks further."""

    def attack(scene: Scene) -> None:
        held = _held(scene)
        envelope = held.run(f"{{ {command}\n}} 2>&1; true", agent)
        if scene.kind.tier == "none":
            refused(envelope, ("cage_unavailable",))
        held.is_mine()
        if look is not None:
            look(held)

    return Case(AREA, name, attack, _works)


def _file_tool(name: str, path: str, codes: tuple[str, ...]) -> Case:
    def attack(scene: Scene) -> None:
        held = _held(scene)
        for agent in ("primary", "helper"):
            scene.call(agent, "file.read", {"path": path}, session=held.session)
            params = {"path": path, "content": "theirs\n"}
            refused(scene.call(agent, "file.write", params, session=held.session), codes)
        held.is_mine()

    return Case(AREA, name, attack, _works)


def _pipe(scene: Scene) -> None:
    held = _held(scene)
    pipe = held.root / "shown" / "pipe"
    os.mkfifo(pipe)
    scene.place.give(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        held.run("timeout 5 sh -c 'echo theirs > shown/pipe'; true")
        try:
            heard = os.read(end, 100)
        except BlockingIOError:
            heard = b""
        assert heard == b""
    finally:
        os.close(end)


def _in_the_background(scene: Scene) -> None:
    held = _held(scene)
    envelope = held.run("(while :; do test -e .envrc || echo run > .envrc; sleep 3; done) & sleep 0.2")
    if scene.kind.tier == "none":
        refused(envelope, ("cage_unavailable",))
        return
    worked(envelope)
    deadline = time.monotonic() + LATER_SECONDS
    while (held.root / ".envrc").exists():
        assert time.monotonic() < deadline, "what a background command made is still there"
        time.sleep(0.01)
    assert scene.request("POST", f"/sessions/{held.session}/archive").status_code == 200
    assert not (held.root / ".envrc").exists()


def _no_hook(held: Held) -> None:
    assert not (held.root / ".git/hooks").exists()
    assert not (held.root / ".git/objects").exists()


CASES: tuple[Case, ...] = (
    _command("read-outside", "cat <outside>/secret.txt <home>/.netrc <data>/token <other>/src/a.txt"),
    _command("write-outside", "echo x > <outside>/made.txt; echo x >> <home>/.bashrc; rm -rf <other>"),
    _command("write-the-project-file", "echo x >> .kaged/project.yaml; mv .kaged x; rm -rf .kaged"),
    _command("rewrite-its-prompt", "echo theirs > prompts/root.md; rm -f prompts/root.md; mv prompts old"),
    _command("put-a-prompt-in-its-place", "mkdir new; echo theirs > new/root.md; mv -T new prompts"),
    _command("link-to-its-prompt", "ln prompts/root.md x && echo theirs > x; ln -sf x prompts/root.md"),
    _command("commit", "git init -q; git commit --allow-empty -qm x; mkdir .git/hooks", look=_no_hook),
    _command(
        "rewrite-what-others-obey", "echo theirs > AGENTS.md; sed -i s/mine/theirs/ .github/workflows/*"
    ),
    _command("subagent-without-a-cage", "cat <outside>/secret.txt; touch <outside>/made.txt", agent="helper"),
    _command("subagent-rewrites-a-prompt", "echo theirs > prompts/root.md", agent="helper"),
    _file_tool("write-a-prompt-by-a-tool", "prompts/root.md", ("capability_denied",)),
    _file_tool("write-the-project-file-by-a-tool", ".kaged/project.yaml", ("capability_denied",)),
    Case(AREA, "write-into-a-pipe-that-it-may-read", _pipe, _works),
    Case(AREA, "names-of-a-background-command", _in_the_background, _works),
)
