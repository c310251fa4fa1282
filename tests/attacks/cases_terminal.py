"""Control characters that would steer the terminal of whoever reads them, or forge lines of the log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pexpect

from tests.attacks.case import Case, worked
from tests.attacks.scene import REPOSITORY, Scene, TierName, unique

AREA = "terminal"
EVIL = "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x9b31mevil"
ONCE: tuple[TierName, ...] = ("full",)
"""What is shown does not depend on cages."""


def _shown(scene: Scene, *arguments: str) -> str:
    """Return what a command of `kaged` shows on a real terminal."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(scene.place.home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(REPOSITORY),
        "KAGED_CONFIG": str(scene.place.config),
        "KAGED_DAEMON__DATA_DIR": str(scene.place.data),
    }
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "app", *arguments],
        cwd=str(scene.place.project),
        env=environment,
        encoding="utf-8",
        timeout=60,
    )
    terminal.expect(pexpect.EOF)
    terminal.close()
    return str(terminal.before)


def _harmless(text: str) -> None:
    for bad in ("\x1b]", "\x9b", "\x07", "\x1b[2J"):
        assert bad not in text, repr(text)


def _showing(name: str, attack: Callable[[Scene], str], control: Callable[[Scene], str], shows: str) -> Case:
    def attacking(scene: Scene) -> None:
        _harmless(attack(scene))

    def controlling(scene: Scene) -> None:
        assert shows in control(scene)

    return Case(AREA, name, attacking, controlling, ONCE)


def _send(text: str) -> Callable[[Scene], str]:
    return lambda scene: _shown(scene, "send", "--session", scene.session_id, text)


def _sessions(title: str) -> Callable[[Scene], str]:
    def show(scene: Scene) -> str:
        answer = scene.request("POST", "/sessions", json={"project_id": scene.project_id, "title": title})
        shown = _shown(scene, "session", "list")
        if answer.status_code == 201:
            scene.request("DELETE", f"/sessions/{answer.json()['id']}")
        return shown

    return show


def _log_lines() -> Case:
    """What a client sends does not begin a line of the log, nor steers the terminal that shows it."""

    def attack(scene: Scene) -> None:
        before = scene.place.log.stat().st_size
        forged = unique("forged")
        with scene.client_as(None) as client:
            for path in (f"/projects/%1b[2J%0a{forged}", f"/sessions/%0d%0aERROR%20{forged}"):
                client.get(path, headers={"user-agent": f"x\t{forged}"})
        scene.raw(f"GET /\x1b[2J HTTP/1.1\r\nHost: \x1b[2J\n{forged}\r\n\r\n".encode())
        scene.request("POST", "/projects/load", json={"path": f"/\x1b[2J\n{forged}"})
        with scene.place.log.open("rb") as log:
            log.seek(before)
            text = log.read()
        assert b"\x1b" not in text
        assert not any(line.startswith(forged.encode()) for line in text.splitlines())

    def control(scene: Scene) -> None:
        assert scene.request("GET", "/logs").status_code == 200

    return Case(AREA, "forged-log-lines", attack, control)


def _names_of_files() -> Case:
    """A file's name with control characters comes back as JSON, never raw."""

    def attack(scene: Scene) -> None:
        file = scene.place.project / "src" / "\x1b]0;owned\x07\nname.txt"
        file.write_text("x")
        try:
            for tool, params in (("file.read", {"path": "src"}), ("search.glob", {"pattern": "*name.txt"})):
                worked(scene.call("reader", tool, params))
            assert not any("\x1b" in text for text in scene.said)
        finally:
            file.unlink()

    def control(scene: Scene) -> None:
        worked(scene.call("reader", "file.read", {"path": "src"}), "a.txt")

    return Case(AREA, "names-of-files", attack, control)


def _check_file() -> Case:
    """`kaged check` of a project file that is somebody else's."""

    def check(scene: Scene, text: str) -> str:
        root = scene.place.top / "tried" / unique("checked")
        (root / ".kaged").mkdir(parents=True)
        (root / ".kaged" / "project.yaml").write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "app", "check", str(root)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "HOME": str(root)},
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout + done.stderr

    def attack(scene: Scene) -> None:
        _harmless(check(scene, 'version: 1\nproject: "\\e]0;owned\\a"\n"\\e[2Jkey": 1\n'))

    def control(scene: Scene) -> None:
        assert "unknown" in check(scene, "version: 1\nproject: x\nkey: 1\n").lower()

    return Case(AREA, "findings-of-a-project-file", attack, control, ONCE)


CASES: tuple[Case, ...] = (
    _showing("text-of-a-model", _send("escape"), _send("hello"), "Done."),
    _showing("title-of-a-session", _sessions(EVIL), _sessions("a plain title"), "a plain title"),
    _check_file(),
    _log_lines(),
    _names_of_files(),
)
