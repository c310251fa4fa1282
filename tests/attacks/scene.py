"""A daemon under attack: a real process, as some user, in some tier, and everything that it says.

Owns: starting and stopping it, calls and requests to it, the record of every answer, frame and log line.
Never: what is tried (`cases_*`), and what must not have happened (`oracles`).
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.attacks.listeners import Listeners
from tests.attacks.place import Place
from tests.driver import machine

REPOSITORY = Path(__file__).parents[2]
KEEPER = Path(__file__).with_name("keeper_process.py")
START_SECONDS = 100
STOP_SECONDS = 100
ORDINARY_USER = 65534

TierName = Literal["full", "landlock", "none"]
TIERS: tuple[TierName, ...] = ("full", "landlock", "none")


@dataclass(frozen=True)
class Kind:
    """Whose daemon it is, and in which tier."""

    user: Literal["root", "ordinary"]
    tier: TierName

    def __str__(self) -> str:
        return f"{self.user}-{self.tier}"


class Scene:
    """One daemon over one place, for many attacks; started when it is made."""

    def __init__(self, kind: Kind, *, ordinary: int = ORDINARY_USER) -> None:
        self.kind = kind
        self.uid = os.geteuid() if kind.user == "root" or os.geteuid() else ordinary
        # Not below /tmp, which a cage has of its own: what lies beside the project must be kept out.
        self.place = Place(Path(tempfile.mkdtemp(prefix="kaged-attacks-", dir="/var/tmp")), self.uid)
        self.place.top.chmod(0o755)
        self.place.write()
        self.listeners = Listeners(self.place.outside)
        self._tell_programs()
        self.said: list[str] = []
        """Every answer, frame and log line since the oracles looked last."""
        self.report = self.place.top / "report.json"
        self._connections = ExitStack()
        self._threads: list[threading.Thread] = []
        self._log_read = 0
        self._tokens: dict[str, str] = {}
        self.process = self._start()
        try:
            self._get_ready()
        except BaseException:
            self.stop()
            raise

    def _tell_programs(self) -> None:
        """Tell the hostile programs of the project where to look."""
        place, listeners = self.place, self.listeners
        known = {
            "secret": place.outside / "secret.txt",
            "data": place.data / "kept" / "secret.txt",
            "home": place.home / ".netrc",
            "ungranted": place.project / "secret" / "key.txt",
            "denied": place.project / "src" / "private" / "hidden.txt",
            "link": place.project / "src" / "to_secret",
            "granted": place.project / "src" / "a.txt",
            "made": place.outside / "made.txt",
            "hook": place.project / ".git" / "hooks" / "pre-commit",
            "project_file": place.project / ".kaged" / "project.yaml",
            "tcp": [listeners.tcp, listeners.tcp_outward],
            "path": listeners.path,
            "abstract": listeners.abstract,
            "daemon": "self",
        }
        place.tell_programs(known)

    def _start(self) -> subprocess.Popen[bytes]:
        place = self.place
        python, packages = python_for(self.uid)
        serve = [python, "-m", "app", "serve", "--json", "--port", "0"]
        projects = ["--project", str(place.project), "--project", str(place.other)]
        namespaces = "no" if self.kind.tier == "none" else "yes"
        with place.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(KEEPER), str(self.report), str(self.uid), namespaces, *serve, *projects],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env={
                    **self._environment(os.environ["PATH"]),
                    "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *packages]),
                },
            )

    def _environment(self, path: str) -> dict[str, str]:
        """Return the daemon's environment. `path` is where the machine's programs are."""
        place = self.place
        return {
            "PATH": place.search_path(path),
            "HOME": str(place.home),
            "LANG": "C.UTF-8",
            "KAGED_CONFIG": str(place.config),
            "KAGED_DAEMON__DATA_DIR": str(place.data),
            "KAGED_PROJECTS__TRUSTED": str(place.top),
            "KAGED_SANDBOX__MODE": "landlock" if self.kind.tier == "landlock" else "auto",
            "ATTACK_SECRET": place.canary("environment"),
            "AWS_SECRET_ACCESS_KEY": place.canary("environment-aws"),
            "SSH_AUTH_SOCK": str(self.listeners.path),
        }

    def _get_ready(self) -> None:
        assert self.process.stdout is not None
        arrived, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        line = self.process.stdout.readline() if arrived else b""
        assert line, f"the daemon did not start: {self.place.log.read_text()[-3000:]}"
        ready = json.loads(line)
        self.url: str = ready["url"]
        self.daemon_pid: int = ready["pid"]
        self.token = Path(ready["token_file"]).read_text().strip()
        ids = {Path(project["root"]).name: project["id"] for project in ready["projects"]}
        self.project_id, self.other_id = ids["project"], ids["other"]
        self.client = self._connections.enter_context(self.client_as(self.token))
        found = self.request("GET", f"{self.url}/readyz").json()["checks"]["sandbox"]["detail"]
        assert found.startswith(f"{self.kind.tier}: "), found
        self.session_id = self.new_session(self.project_id)
        self.other_session_id = self.new_session(self.other_id, title=self.place.canary("other-title"))
        self.said.clear()
        self.watch(f"/sessions/{self.session_id}/ws?after_seq=0")

    def client_as(self, token: str | None, **headers: str) -> httpx2.Client:
        """Return a client with the header of `token`, or without any; its answers are recorded."""
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return httpx2.Client(
            base_url=f"{self.url}/api/v1",
            headers=headers,
            trust_env=False,
            timeout=90,
            event_hooks={"response": [self._record]},
        )

    def _record(self, answer: httpx2.Response) -> None:
        answer.read()
        self.said.append(f"{answer.headers}\n{answer.text}")

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send a request with the operator's token."""
        return self.client.request(method, path, **options)

    def raw(self, content: bytes, seconds: float = 30) -> bytes:
        """Send bytes as they are and return what is answered until the daemon closes, or says no more."""
        host, port = self.url.removeprefix("http://").split(":")
        answer = bytearray()
        with socket.create_connection((host, int(port)), timeout=seconds) as connection:
            with suppress(OSError):  # it may close before it has read all
                connection.sendall(content)
            with suppress(OSError):
                while piece := connection.recv(65_536):
                    answer += piece
                    connection.settimeout(0.2)
        self.said.append(answer.decode(errors="replace"))
        return bytes(answer)

    def token_of(self, kind: str) -> str | None:
        """Return a token: of a scope (`read-only`, `agent`, `plugin`), `operator`, `wrong`, `revoked`, or
        `none`."""
        if kind in ("none", "operator"):
            return self.token if kind == "operator" else None
        if kind == "wrong":
            return "kgd_" + "x" * 43
        if kind not in self._tokens:
            bound: dict[str, str] = {}
            if kind == "agent":
                bound = {"session_id": self.session_id, "agent_path": "primary.subagents.reader"}
            elif kind == "plugin":
                bound = {"project_id": self.project_id, "plugin": "notes"}
            scope = "operator" if kind == "revoked" else kind
            answer = self.request("POST", "/tokens", json={"name": unique(kind), "scope": scope, **bound})
            assert answer.status_code == 201, answer.text
            self._tokens[kind] = answer.json()["token"]
            if kind == "revoked":
                self.request("DELETE", f"/tokens/{answer.json()['id']}")
        return self._tokens[kind]

    def new_session(self, project_id: str, title: str = "attack") -> str:
        answer = self.request("POST", "/sessions", json={"project_id": project_id, "title": title})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def call(
        self, agent: str, tool: str, params: dict[str, Any] | None = None, *, session: str | None = None
    ) -> dict[str, Any]:
        """Call a tool as one of the agents, as its model would; return the envelope. A request that is
        refused as such comes back as an envelope, too."""
        path = "primary" if agent == "primary" else f"primary.subagents.{agent}"
        answer = self.request(
            "POST",
            f"/sessions/{session or self.session_id}/tools/{tool}",
            content=json.dumps({"params": params or {}, "agent_path": path}),
            headers={"content-type": "application/json"},
        )
        if answer.status_code == 400:
            return {"type": "error", "code": answer.json()["error"]["code"], "data": None}
        assert answer.status_code == 200, answer.text
        envelope: dict[str, Any] = answer.json()
        return envelope

    def shell(self, agent: str, command: str, *, session: str | None = None, **more: Any) -> dict[str, Any]:
        return self.call(agent, "shell.bash", {"command": command, **more}, session=session)

    def websocket(self, path: str, token: str | None = "", **options: Any) -> connect:
        """Return a WebSocket, for `with`: with the operator's token, with `token`, or with none (None)."""
        headers = dict(options.pop("additional_headers", {}))
        chosen = self.token if token == "" else token
        if chosen is not None:
            headers["authorization"] = f"Bearer {chosen}"
        url = f"ws{self.url.removeprefix('http')}/api/v1{path}"
        return connect(url, additional_headers=headers, proxy=None, max_size=None, **options)

    def watch(self, path: str) -> None:
        """Record every frame of a WebSocket until the end."""
        stream = self._connections.enter_context(self.websocket(path))

        def read() -> None:
            with suppress(WebSocketException, EOFError):
                for frame in stream:
                    self.said.append(str(frame))

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        self._threads.append(thread)

    def log_since(self) -> str:
        """Return what the daemon has logged since the last look."""
        with self.place.log.open("rb") as log:
            log.seek(self._log_read)
            text = log.read()
        self._log_read += len(text)
        return text.decode(errors="replace")

    def stop(self) -> dict[str, Any]:
        """End the daemon and return the keeper's report: its exit code, and who survived it."""
        self._connections.close()
        for thread in self._threads:
            thread.join()
        if self.process.poll() is None:
            self._end(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._end(signal.SIGKILL)
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.listeners.close()
        return json.loads(self.report.read_text()) if self.report.exists() else {}

    def _end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@cache
def python_for(uid: int) -> tuple[str, tuple[str, ...]]:
    """Return an interpreter that `uid` can run, and the folders of packages that it needs.

    Skips the test where it can run none: nobody but root reads what lies in root's home.
    """
    packages = tuple(path for path in sys.path if path.endswith("site-packages"))
    candidates = [(sys.executable, ())]
    version = f"python3.{sys.version_info.minor}"
    candidates += [(f"/usr/bin/{version}", packages), (f"/usr/local/bin/{version}", packages)]
    for python, folders in candidates:
        found = os.pathsep.join([str(REPOSITORY), *folders])
        identity = {"user": uid, "group": uid, "extra_groups": ()} if uid != os.geteuid() else {}
        with suppress(OSError):
            tried = subprocess.run(
                [python, "-c", "import app, fastapi"],
                env={"PYTHONPATH": found, "PATH": os.environ["PATH"]},
                capture_output=True,
                cwd="/",
                check=False,
                **identity,  # type: ignore[arg-type]
            )
            if tried.returncode == 0:
                return python, folders
    tried_ones = ", ".join(one for one, _ in candidates)
    command = "put the project and its interpreter where every user can read them"
    pytest.skip(
        str(machine.Lack(f"an interpreter for user {uid}", f"it can run none of {tried_ones}", command))
    )


def unique(stem: str) -> str:
    """Return a name that no other attack uses."""
    return f"{stem}-{uuid.uuid4().hex[:8]}"
