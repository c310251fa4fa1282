"""A daemon in a process of its own, and things in it that generated requests may name.

Owns: starting it, filling it, and putting ids that exist into a generated request. Never: judging answers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import orjson

REPOSITORY = Path(__file__).parents[2]
WAIT_SECONDS = 60.0

CONFIG = """\
[models]
main = "replay:transcript"
[providers.replay]
transcript = "transcript.yaml"
[log]
level = "error"
[limits]
sessions_per_project = 100000
sessions_per_operator = 100000
requests_per_minute = 10000000
anonymous_requests_per_minute = 10000000
failed_sign_ins_per_minute = 10000000
"""

PROJECT = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: ./prompts/primary.md
  cage: disabled
  tools:
    file.*: { enabled: true }
    compute.calc: { enabled: true }
    todo: { enabled: true }
permissions:
  - { permission: file.write, pattern: "*", action: ask }
workflows:
  count:
    description: Count
    system_prompt: ./prompts/primary.md
    inputs:
      what: { type: string }
"""

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: write
    steps:
      - answer:
          - tool_call: { name: file.write, arguments: { path: a.txt, content: x } }
      - answer: [{ text: Written. }]
fallback:
  steps:
    - answer:
        - tool_call: { name: file.read, arguments: { path: README.md } }
    - answer: [{ text: It sells things. }]
"""


@dataclass
class FuzzedDaemon:
    """Its address, the operator's token, and ids that exist, by the names that parameters have."""

    url: str
    token: str
    root: Path
    known: dict[str, list[Any]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    lacking: bool = True

    def __post_init__(self) -> None:
        headers = {"authorization": f"Bearer {self.token}"}
        self._client = httpx2.Client(
            base_url=f"{self.url}/api/v1", headers=headers, trust_env=False, timeout=WAIT_SECONDS
        )

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = self._client.post(path, json=body or {})
        assert answer.status_code < 300, (path, answer.text)
        made: dict[str, Any] = answer.json()
        return made

    def items(self, path: str) -> list[dict[str, Any]]:
        answer = self._client.get(path)
        assert answer.status_code == 200, (path, answer.text)
        found: list[dict[str, Any]] = answer.json()["items"]
        return found

    def close(self) -> None:
        self._client.close()

    def is_alive(self) -> bool:
        return self._client.get(f"{self.url}/readyz").status_code == 200

    def fill(self) -> None:
        """Make one of everything, anew when an earlier request may have taken it away."""
        if not self.lacking:
            return
        self.lacking = False
        project = self.post("/projects/load", {"path": str(self.root)})["id"]
        session = self._talk(project, "What is this?", "idle")
        asking = self._talk(project, "Please write.", "pending")
        stopped = self._talk(project, "Please write.", "pending")
        self.post(f"/sessions/{stopped}/pause")
        self.owners = {"interaction_id": asking, "checkpoint_id": stopped}
        at, issues = f"/sessions/{session}", f"/projects/{project}/issues"
        number = self.post(issues, {"title": "One"})["number"]
        other = self.post(issues, {"title": "Two"})["number"]
        todo = self.post(f"{issues}/{number}/todos", {"content": "Do it"})
        link = self.post(f"{issues}/{number}/links", {"kind": "blocks", "target": other})
        rule = {"permission": "file.read", "pattern": "*.txt", "action": "allow"}
        upload = self._client.post(f"/uploads?project_id={project}&name=a.txt", content=b"hello").json()
        self.known = {
            "project_id": [project],
            "session_id": [session, stopped],
            "run_id": [run["id"] for run in self.items(f"{at}/runs")],
            "message_id": [message["id"] for message in self.items(f"{at}/messages")],
            "checkpoint_id": [found["id"] for found in self.items(f"/sessions/{stopped}/checkpoints")],
            "interaction_id": [found["id"] for found in self.items(f"/sessions/{asking}/interactions")],
            "rule_id": [self.post(f"{at}/permissions", rule)["id"]],
            "upload_id": [upload["id"]],
            "uploads": [[upload["id"]]],
            "number": [number, other],
            "issue_number": [number],
            "todo_id": [todo["id"]],
            "link_id": [link["id"]],
            "agent_path": ["primary"],
            "workflow": ["count"],
            "workflow_run_id": [self.post(f"/projects/{project}/workflows/count/invoke")["id"]],
            "token_id": [self.post("/tokens", {"name": "spare"})["id"]],
            "name": ["file.read", "file.write", "compute.calc", "replay"],
            "path": [str(self.root)],
        }
        self._make_tokens(project, session)

    def _talk(self, project: str, words: str, until: str) -> str:
        session: str = self.post("/sessions", {"project_id": project})["id"]
        self.post(f"/sessions/{session}/messages", {"content": words})
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            detail = self._client.get(f"/sessions/{session}").json()
            if detail["state"] == until or (until == "pending" and detail["pending_interactions"]):
                return session
            assert time.monotonic() < deadline, f"the session is {detail['state']}, not {until}"
            time.sleep(0.005)

    def _make_tokens(self, project: str, session: str) -> None:
        bound = {
            "read-only": {},
            "agent": {"session_id": session, "agent_path": "primary"},
            "plugin": {"project_id": project, "plugin": "notes"},
        }
        for scope, more in bound.items():
            made = self.post("/tokens", {"name": scope, "scope": scope, **more})
            self.tokens[scope] = made["token"]
        self.tokens |= {"operator": self.token, "wrong": "kgd_wrong", "nobody": ""}

    def name_what_exists(self, part: Any, choice: int) -> None:
        """Replace generated ids in a part of a request by ones that exist; `choice` 0 leaves it alone."""
        if not isinstance(part, dict) or choice == 0:
            return
        for name in part:
            if found := self.known.get(name):
                part[name] = found[choice % len(found)]
        for name, owner in self.owners.items():
            if name in part and "session_id" in part:
                part["session_id"] = owner


@contextmanager
def fuzzed_daemon(folder: Path) -> Iterator[FuzzedDaemon]:
    """Start a daemon with a project and a model that plays a transcript."""
    root = folder / "shop"
    for name, content in {
        "config.toml": f'{CONFIG}[projects]\ntrusted = ["{folder}"]\n',
        "transcript.yaml": TRANSCRIPT,
        "shop/.kaged/project.yaml": PROJECT,
        "shop/prompts/primary.md": "You keep the shop.\n",
        "shop/README.md": "# Shop\n\nIt sells things.\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    command = [sys.executable, "-m", "app", "serve", "--json", "--port", "0"]
    command += ["--data-dir", str(folder / "data"), "--config", str(folder / "config.toml")]
    command += ["--project", str(root)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=REPOSITORY, env=environment | {"PYTHONPATH": str(REPOSITORY)}
    ) as process:
        try:
            assert process.stdout is not None
            ready = orjson.loads(process.stdout.readline())
            daemon = FuzzedDaemon(ready["url"], Path(ready["token_file"]).read_text().strip(), root)
            yield daemon
            daemon.close()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_SECONDS)
