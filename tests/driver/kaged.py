"""The command `kaged` as a user has it: its own process, its own home, a project, a replayed model.

Owns: starting the daemon and running commands against it. Never: calling into `app`.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx2
import orjson
import pexpect

from tests.driver.warm_start import WARM, WarmProcess

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "app"]
WAIT_SECONDS = 60

PROJECT_YAML = """\
version: 1
project: library
primary:
  model: demo
  system_prompt: prompts/primary.md
  cage: disabled
  tools:
    file.*: { enabled: true }
"""

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: read
    steps:
      - answer:
          - thinking: Where would that be written?
          - text: Let me look.
          - tool_call: { name: file.read, arguments: { path: README.md } }
          - tool_call: { name: file.read, arguments: { path: ABSENT.md } }
      - answer:
          - text: "It lends books.\\nThe other file is not there."
  - when: escape
    steps:
      - answer:
          - text: "title \\e]0;owned\\a and \\e[31mred"
  - when: stall
    steps:
      - answer:
          - text: "Thinking it over "
          - stall: true
  - when: circles
    steps:
"""
TRANSCRIPT += (
    """\
      - answer:
          - tool_call: { name: file.read, arguments: { path: ABSENT.md } }
"""
    * 8
)
TRANSCRIPT += """\
  - when: fail
    steps:
      - answer:
          - error: { kind: auth, message: the key was refused }
"""


@dataclass
class Home:
    """A home of its own: config, data and a project, and none of the tester's keys."""

    folder: Path
    trusted: bool = True
    """Whether the settings trust the projects in it."""

    def __post_init__(self) -> None:
        (self.project / ".kaged").mkdir(parents=True)
        (self.project / "prompts").mkdir()
        (self.project / ".kaged" / "project.yaml").write_text(PROJECT_YAML)
        (self.project / "prompts" / "primary.md").write_text("You keep the library.\n")
        (self.project / "README.md").write_text("# Library\n\nIt lends books.\n")
        (self.folder / "demo.yaml").write_text(TRANSCRIPT)
        self.config.write_text(
            '[models]\ndemo = "replay:demo"\n'
            '[providers.replay]\ntranscript = "demo.yaml"\n'
            "[daemon]\nport = 0\n"
        )

    @property
    def project(self) -> Path:
        return self.folder / "library"

    def give(self, project: str, transcript: str | None = None) -> Home:
        """Have another project file, and another transcript of the model."""
        (self.project / ".kaged" / "project.yaml").write_text(project)
        if transcript is not None:
            (self.folder / "demo.yaml").write_text(transcript)
        return self

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def environment(self, **extra: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "KAGED_CONFIG": str(self.config),
            "KAGED_DAEMON__DATA_DIR": str(self.data_dir),
            "KAGED_PROJECTS__TRUSTED": str(self.folder) if self.trusted else "",
            **extra,
        }

    def run(
        self, *arguments: str, cwd: Path | None = None, stdin: str = "", **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end and return what it printed."""
        cwd, env = cwd or self.project, self.environment(**extra)
        # What the interpreter itself is told counts at its start.
        if not WARM.cold and not any(name.startswith("PYTHON") for name in extra):
            return WARM.run(arguments, cwd=cwd, env=env, stdin=stdin, timeout=WAIT_SECONDS)
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )

    def background(self, *arguments: str) -> subprocess.Popen[str]:
        """Start one command and return at once."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def json(self, *arguments: str, cwd: Path | None = None) -> Any:
        """Run one command with `--json` and return its answer; it must succeed."""
        done = self.run(*arguments, "--json", cwd=cwd)
        assert done.returncode == 0, done.stderr
        return orjson.loads(done.stdout)

    def question(self, *arguments: str) -> str:
        """Send a message that makes the agent ask, with nobody to answer; return the question's id."""
        sending = self.background("send", *arguments)
        try:
            assert sending.stderr is not None
            for line in sending.stderr:
                if "kaged answer itx_" in line:
                    return line.partition("kaged answer ")[2].partition("`")[0]
        finally:
            sending.kill()
            sending.communicate()
        raise AssertionError("nothing was asked")

    def until_idle(self) -> None:
        """Wait until the newest session has nothing to do."""
        done = self.run("attach", "last", "--until-idle")
        assert done.returncode == 0, done.stderr

    def terminal(self, *arguments: str, **extra: str) -> pexpect.spawn:
        """Run one command in a terminal of its own."""
        return pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], *arguments],
            cwd=str(self.project),
            env=self.environment(**{"TERM": "xterm-256color", **extra}),
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            dimensions=(40, 120),
        )


@dataclass
class DaemonProcess:
    """A daemon that `kaged serve --json` started; `ready` is its ready line. Started, it is a context manager
    that stops it."""

    home: Home
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[str] | WarmProcess = field(init=False)
    ready: dict[str, Any] = field(init=False)
    lines: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue, init=False)

    def start(self) -> DaemonProcess:
        log = (self.home.folder / "daemon.log").open("a")
        with log:
            self.process = self._begin(["serve", "--json", *self.arguments], log)
        threading.Thread(target=self._read, daemon=True).start()
        try:
            line = self.lines.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            self.stop()
            raise AssertionError(f"the daemon did not get ready:\n{self.log()}") from None
        assert line, f"the daemon ended before it was ready:\n{self.log()}"
        self.ready = orjson.loads(line)
        return self

    def _begin(self, arguments: list[str], log: IO[str]) -> subprocess.Popen[str] | WarmProcess:
        cwd, env = self.home.project, self.home.environment()
        if not WARM.cold:
            return WARM.start(arguments, cwd=cwd, env=env, stderr=log)
        command = [*COMMAND, *arguments]
        return subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=log, text=True)

    def __enter__(self) -> DaemonProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def token(self) -> str:
        return Path(self.ready["token_file"]).read_text().strip()

    @property
    def project_id(self) -> str:
        return str(self.ready["projects"][0]["id"])

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call a route below `/api/v1` and return its answer; it must succeed. It takes a small part of the
        time of a command, where no command is to be shown."""
        answer = httpx2.request(
            method,
            f"{self.ready['url']}/api/v1{path}",
            json=body,
            headers={"authorization": f"Bearer {self.token}"},
            trust_env=False,
            timeout=WAIT_SECONDS,
            verify=False,
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def newest_session(self) -> dict[str, Any]:
        session: dict[str, Any] = self.call("GET", "/sessions?limit=1")["items"][0]
        return session

    def log(self) -> str:
        return (self.home.folder / "daemon.log").read_text()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(timeout=WAIT_SECONDS)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.wait()

    def further_output(self) -> list[str]:
        """Return what came on standard output after the ready line; call it after the end."""
        self.wait()
        rest = []
        while line := self.lines.get(timeout=WAIT_SECONDS):
            rest.append(line)
        return rest

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self.lines.put(line)
        self.lines.put("")
