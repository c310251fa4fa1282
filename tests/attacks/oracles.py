"""What must not have happened, seen from outside of the daemon.

Owns: the looks after each attack. Never: the daemon's own opinion of what it prevented.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.attacks.scene import Scene

LEFT_BEHIND = str(31_557_600 + os.getpid())
"""The argument of every `sleep` that an attack tries to leave behind. Other processes that try attacks at the
same time have another."""
PATIENCE = 30.0


class Oracles:
    """Looks at one scene after each attack; a finding is a sentence."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._digest = scene.place.outside_digest()
        self._hits = 0
        self._seen: dict[Path, tuple[int, int]] = {}

    def findings(self) -> list[str]:
        """Return what happened that must not. Empty: the attack did no harm."""
        return [
            *self._spoken(),
            *self._stored(),
            *self._changed(),
            *self._reached(),
            *self._left_behind(),
            *self._unhealthy(),
        ]

    def _spoken(self) -> list[str]:
        scene = self.scene
        logged = scene.log_since()
        scene.said.append(logged)
        texts, scene.said[:] = list(scene.said), []
        found = [f"said a canary: {_around(text, mark)}" for text in texts for mark in self._marks(text)]
        if "Traceback" in logged:
            found.append(f"a defect in the log: {logged[-2000:]}")
        return found

    def _marks(self, text: str) -> list[str]:
        return [mark for mark in (self.scene.place.mark, self.scene.token) if mark in text]

    def _stored(self) -> list[str]:
        """Look for canaries in all that the daemon wrote: its database with events and audit, and files."""
        found = []
        mark = self.scene.place.mark.encode()
        own_title = self.scene.place.canary("other-title").encode()
        for path in self.scene.place.data.rglob("*"):
            try:
                status = path.lstat()
                look = (status.st_size, status.st_mtime_ns)
                if not path.is_file() or path.parent.name == "kept" or self._seen.get(path) == look:
                    continue
                self._seen[path] = look
                content = path.read_bytes().replace(own_title, b"")
            except FileNotFoundError:
                continue
            if mark in content:
                found.append(
                    f"stored a canary in {path}: {_around(content.decode(errors='replace'), mark.decode())}"
                )
        return found

    def _changed(self) -> list[str]:
        digest = self.scene.place.outside_digest()
        changed, self._digest = digest != self._digest, digest
        return ["something outside of what was granted has changed"] if changed else []

    def _reached(self) -> list[str]:
        new = self.scene.listeners.hits[self._hits :]
        self._hits += len(new)
        return [f"a listener was reached: {hit}" for hit in new]

    def _left_behind(self) -> list[str]:
        deadline = time.monotonic() + PATIENCE
        while left := processes_with(LEFT_BEHIND):
            if time.monotonic() > deadline:
                return [f"a process survived: {line}" for line in left]
            time.sleep(0.02)
        return []

    def _unhealthy(self) -> list[str]:
        scene = self.scene
        if scene.process.poll() is not None:
            return ["the daemon has ended"]
        try:
            answer = scene.request("GET", f"{scene.url}/healthz", timeout=30)
        except Exception as problem:  # noqa: BLE001  (whatever it is, it is the finding)
            return [f"the daemon does not answer: {problem!r}"]
        return [] if answer.status_code == 200 else [f"the daemon answers {answer.status_code}"]


def processes_with(argument: str) -> list[str]:
    """Return the command lines of processes of this machine that have `argument`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if argument.encode() in words:
                found.append(f"{entry.name} {b' '.join(words).decode(errors='replace')}")
    return found


def _around(text: str, mark: str) -> str:
    position = text.find(mark)
    return text[max(0, position - 300) : position + len(mark) + 60]
