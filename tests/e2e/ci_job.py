"""The jobs of examples/ci, run by a shell as the services run them.

Owns: which lines a job has, its variables, and the end of what it started. Never: what the lines are about.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.driver.daemon_process import REPOSITORY

FOLDER = REPOSITORY / "examples" / "ci"
SECONDS = 110


@dataclass(frozen=True, slots=True)
class Script:
    """What one shell runs, and the variables that it has beside the runner's."""

    text: str
    variables: dict[str, str]


@dataclass(slots=True)
class Job:
    """A job whose scripts run one after the other in `folder`; the first that fails is the last."""

    scripts: list[Script]
    folder: Path
    environment: dict[str, str]
    printed: str = ""
    groups: list[int] = field(default_factory=list)

    def run(self) -> int:
        """Return the exit code of the job. Nothing that it started is left."""
        try:
            return next((code for script in self.scripts if (code := self._run(script))), 0)
        finally:
            for group in self.groups:
                try:
                    os.killpg(group, signal.SIGTERM)
                except ProcessLookupError:
                    continue

    def _run(self, script: Script) -> int:
        log = self.folder.parent / "job.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", script.text],
                cwd=self.folder,
                env=self.environment | script.variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.groups.append(process.pid)
            code = process.wait(timeout=SECONDS)
        self.printed += log.read_text()
        return code


def github() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "github-actions.yml").read_text())
    return found


def gitlab() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "gitlab-ci.yml").read_text())
    return found


def github_scripts(values: dict[str, str]) -> list[Script]:
    """Return what the steps of the job run, each by `bash -e`, with the expressions filled in."""
    [job] = github()["jobs"].values()

    def filled(variables: dict[str, str]) -> dict[str, str]:
        return {
            name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text)
            for name, text in variables.items()
        }

    return [
        Script(f"set -e\n{step['run']}", filled(job.get("env", {}) | step.get("env", {})))
        for step in job["steps"]
        if "run" in step
    ]


def gitlab_scripts(values: dict[str, str]) -> list[Script]:
    """Return the one shell that runs `before_script` and `script`."""
    [job] = gitlab().values()
    variables = {
        name: re.sub(r"\$([A-Z_]+)", lambda match: values[match[1]], text)
        for name, text in job["variables"].items()
    }
    lines = [*job["before_script"], *job["script"]]
    return [Script("\n".join(["set -eo pipefail", *lines]), values | variables)]
