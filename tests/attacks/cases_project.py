"""Project files of somebody else: loading one must read and run nothing that is not its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attacks.case import Case, filled
from tests.attacks.place import write
from tests.attacks.scene import Scene, unique

AREA = "project"
GOOD = """\
version: 1
project: tried
description: a good one
primary:
  model: main
  system_prompt: prompts/agent.md
  cage: disabled
  tools: { file.read: { enabled: true } }
"""
Plant = Callable[[Path, Scene], None]


def _load(scene: Scene, text: str | bytes, plant: Plant | None = None) -> tuple[int, Any]:
    """Load a project with this file; where that is possible, use what it says."""
    root = scene.place.top / "tried" / unique("project")
    write(root / "prompts" / "agent.md", "You are tried.\n")
    (root / ".kaged").mkdir()
    content = filled(scene, text).encode() if isinstance(text, str) else text
    (root / ".kaged" / "project.yaml").write_bytes(content)
    if plant is not None:
        plant(root, scene)
    scene.place.give(root.parent)
    loaded = scene.request("POST", "/projects/load", json={"path": str(root)})
    if loaded.status_code == 200:
        _use(scene, loaded.json()["id"])
    return loaded.status_code, loaded.json()


def _use(scene: Scene, project_id: str) -> None:
    for path in ("", "/dsl", "/dsl/synthesized", "/plugins", "/workflows"):
        scene.request("GET", f"/projects/{project_id}{path}")
    made = scene.request("POST", "/sessions", json={"project_id": project_id})
    if made.status_code == 201:
        session = f"/sessions/{made.json()['id']}"
        scene.request("GET", f"{session}/prompts")
        scene.request("POST", f"{session}/tools/file.read", json={"params": {"path": "."}})
        scene.request("DELETE", session)


def _works(scene: Scene) -> None:
    status, answer = _load(scene, GOOD)
    assert status == 200, answer


def _bad(name: str, text: str | bytes, plant: Plant | None = None) -> Case:
    """A file that must be refused."""

    def attack(scene: Scene) -> None:
        status, answer = _load(scene, text, plant)
        assert status in (400, 422), answer

    return Case(AREA, name, attack, _works)


def _harmless(name: str, text: str, plant: Plant | None = None) -> Case:
    """A file that may be loaded, or not, without harm."""

    def attack(scene: Scene) -> None:
        status, answer = _load(scene, text, plant)
        assert status in (200, 400, 422), answer

    return Case(AREA, name, attack, _works)


def _prompt(path: str) -> str:
    return GOOD.replace("prompts/agent.md", path)


def _link(name: str, target: Callable[[Scene], Path]) -> Plant:
    def plant(root: Path, scene: Scene) -> None:
        link = root / name
        if link.is_dir():
            link.rename(link.with_name("elsewhere"))
        link.unlink(missing_ok=True)
        link.symlink_to(target(scene))

    return plant


def _pipe(root: Path, _: Scene) -> None:
    os.mkfifo(root / "prompts" / "pipe.md")


def _child(entry: str) -> str:
    return GOOD + "  subagents:\n    child: " + entry + "\n"


def _load_path(name: str, path: str) -> Case:
    def attack(scene: Scene) -> None:
        answer = scene.request("POST", "/projects/load", json={"path": filled(scene, path)})
        assert answer.status_code in (400, 403, 404, 409, 422), answer.text

    return Case(AREA, name, attack, _works)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)

CASES: tuple[Case, ...] = (
    _bad("prompt-above", _prompt("../../outside/secret.txt")),
    _bad("prompt-absolute", _prompt("<outside>/secret.txt")),
    _bad("prompt-by-scheme", _prompt("config:/../../../outside/secret.txt")),
    _bad("prompt-by-file-uri", _prompt("file://<outside>/secret.txt")),
    _bad(
        "prompt-is-a-link",
        _prompt("prompts/link.md"),
        _link("prompts/link.md", lambda scene: scene.place.outside / "secret.txt"),
    ),
    _bad("prompts-are-a-link", GOOD, _link("prompts", lambda scene: scene.place.other / "prompts")),
    _bad("prompt-is-a-pipe", _prompt("prompts/pipe.md"), _pipe),
    _bad("prompt-is-a-device", _prompt("/dev/zero")),
    _bad("file-is-a-link", GOOD, _link(".kaged/project.yaml", lambda scene: scene.place.home / ".netrc")),
    _bad(
        "file-of-another-project",
        GOOD,
        _link(".kaged/project.yaml", lambda scene: scene.place.other / ".kaged" / "project.yaml"),
    ),
    _bad(
        "local-file-is-a-link",
        GOOD,
        _link(".kaged/project.local.yaml", lambda scene: scene.place.outside / "secret.txt"),
    ),
    _bad("reference-above", _child("{ path: ../../other, description: x }")),
    _bad("reference-absolute", _child("{ path: <other>, description: x }")),
    _bad(
        "reference-through-a-link",
        _child("{ path: linked, description: x }"),
        _link("linked", lambda scene: scene.place.other),
    ),
    _harmless("variable-of-the-environment", GOOD.replace("a good one", "${ATTACK_SECRET} $ATTACK_SECRET")),
    _harmless("model-is-a-path", GOOD.replace("model: main", "model: replay:../../outside/secret")),
    _harmless("key-of-a-provider", GOOD.replace("a good one", "{{providers.real.api_key}}")),
    _bad("alias-bomb", BOMB + GOOD),
    _bad("deep", "version: 1\nproject: " + "[" * 5_000 + "]" * 5_000),
    _bad("python-object", GOOD + "x: !!python/object/apply:os.system ['touch <outside>/made.txt']\n"),
    _bad("own-tag", GOOD.replace("a good one", "!include <outside>/secret.txt")),
    _bad("merge-key", GOOD + "<<: { primary: { cage: disabled } }\n"),
    _bad("key-twice", GOOD + "primary: { cage: disabled }\n"),
    _bad("not-utf-8", b"\xff\xfe" + GOOD.encode("utf-16-le")),
    _bad("two-documents", GOOD + "---\n" + GOOD),
    _bad("very-large", GOOD + "#" * 2_000_000),
    _bad("cage-of-the-root", GOOD.replace("cage: disabled", "cage: { fs: [{ mode: rw, path: / }] }")),
    _bad(
        "cage-with-an-unknown-key",
        _child(
            "{ model: main, system_prompt: prompts/agent.md, description: x, "
            "cage: { fs: [], privileged: true } }"
        ),
    ),
    _harmless(
        "plugin-above",
        GOOD + "  plugins: { evil: { package: ../../outside } }\n",
    ),
    _harmless(
        "plugin-through-a-link",
        GOOD + "  plugins: { evil: { package: ./linked } }\n",
        _link("linked", lambda scene: scene.place.outside),
    ),
    _load_path("load-a-file", "<outside>/secret.txt"),
    _load_path("load-the-outside", "<outside>"),
    _load_path("load-the-data-folder", "<data>"),
    _load_path("load-a-relative-path", "../other"),
    _load_path("load-the-kernels-files", "/proc/self/cwd"),
    _load_path("load-with-nul", "<project>\0/../outside"),
)
