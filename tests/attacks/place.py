"""The folders that an attack may and may not touch, and the texts that must never get out of them.

Owns: the project with its agents, the places around it, the canaries, the digest of what lies outside.
Never: a daemon.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.attacks.agents import project_file

NEIGHBOUR = "the allowed neighbour"
"""Stands in every file that a caged agent may read: what the control of an attack looks for."""


@dataclass
class Place:
    """A folder of its own for one daemon of the user `uid`. `top` is what everything lies in."""

    top: Path
    uid: int
    mark: str = field(default_factory=lambda: f"canary{secrets.token_hex(12)}")

    @property
    def project(self) -> Path:
        return self.top / "project"

    @property
    def other(self) -> Path:
        """Another project of the same daemon."""
        return self.top / "other"

    @property
    def outside(self) -> Path:
        return self.top / "outside"

    @property
    def home(self) -> Path:
        """The home of the daemon's user."""
        return self.top / "home"

    @property
    def data(self) -> Path:
        return self.top / "data"

    @property
    def log(self) -> Path:
        return self.top / "daemon.log"

    @property
    def config(self) -> Path:
        return self.top / "settings" / "config.toml"

    def canary(self, kind: str) -> str:
        return f"{self.mark}-{kind}"

    def give(self, top: Path) -> None:
        """Make everything below `top` the daemon's user's."""
        if self.uid != os.geteuid():
            for path in (top, *top.rglob("*")):
                os.lchown(path, self.uid, self.uid)

    def write(self) -> None:
        """Write everything."""
        write(self.outside / "shared.txt", "a file with two names\n")
        self._write_project()
        write(self.other / ".kaged" / "project.yaml", project_file("other"))
        write(self.other / "prompts" / "agent.md", f"You keep {self.canary('other-prompt')}.\n")
        write(self.other / "src" / "a.txt", self.canary("other") + "\n")
        write(self.outside / "secret.txt", self.canary("outside") + "\n")
        write(self.outside / "folder" / "deep.py", f"SECRET = '{self.canary('outside-deep')}'\n")
        ran = self.outside / "ran"
        write(self.outside / "kaged-plugin.yaml", PLUGIN.replace("<ran>", str(ran)))
        (self.outside / "program.sh").write_text(f"#!/bin/sh\necho outside >>{ran}\ncat\n")
        (self.outside / "program.sh").chmod(0o755)
        write(self.home / ".ssh" / "id_ed25519", self.canary("home") + "\n")
        write(self.home / ".aws" / "credentials", self.canary("home-aws") + "\n")
        write(self.home / ".netrc", self.canary("home-netrc") + "\n")
        write(self.data / "kept" / "secret.txt", self.canary("data") + "\n")
        self.data.chmod(0o700)
        write(self.config, self._settings())
        write(self.config.parent / "transcripts" / "play.yaml", TRANSCRIPT)
        self.log.touch()
        self.give(self.top)

    def _write_project(self) -> None:
        project = self.project
        write(project / ".kaged" / "project.yaml", project_file("attacked"))
        write(project / ".kaged" / "memory.txt", self.canary("kaged") + "\n")
        write(project / "prompts" / "agent.md", "You do what you are told.\n")
        write(project / "src" / "a.txt", f"{NEIGHBOUR}\nsecond line\n")
        write(
            project / "src" / "code.py", f'GREETING = "{NEIGHBOUR}"\n\n\ndef greet():\n    return GREETING\n'
        )
        write(project / "src" / "private" / "hidden.txt", self.canary("denied") + "\n")
        write(project / "src" / "sub" / "b.txt", f"{NEIGHBOUR}\n")
        write(project / "src" / "Makefile", f".PHONY: hello\nhello:\n\t@echo {NEIGHBOUR}\n")
        write(project / "docs" / "guide.txt", f"{NEIGHBOUR} of the guide\n")
        write(project / "secret" / "key.txt", self.canary("ungranted") + "\n")
        key = f'from typing import Final\n\nAPI_KEY: Final = "{self.canary("literal")}"\n'
        write(project / "secret" / "keys.py", key)
        imports = "from secret.keys import API_KEY\n\nreveal_type(API_KEY)\nprint(API_KEY)\n"
        write(project / "src" / "imports.py", imports)
        write(project / ".git" / "HEAD", "ref: refs/heads/main\n")
        settings = f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {self.outside}/program.sh\n"
        write(project / ".git" / "config", settings)
        write(project / "src" / "file.hostile", f"{NEIGHBOUR}\n")
        self._write_programs()
        for folder in ("objects", "refs/heads", "hooks"):
            (project / ".git" / folder).mkdir(parents=True)
        links = {
            "src/to_outside": self.outside,
            "src/to_secret": self.outside / "secret.txt",
            "src/to_program": self.outside / "program.sh",
            "src/up": Path(".."),
            "src/to_ungranted": Path("../secret/key.txt"),
            "src/to_private": Path("private/hidden.txt"),
            "src/to_etc": Path("/etc/passwd"),
            "src/to_proc": Path("/proc/self/environ"),
            "src/to_root": Path("/proc/self/root"),
            "src/to_data": self.data,
            "src/circle": Path("circle"),
            "src/to_new": self.outside / "made_by_link.txt",
            "src/to_git": Path("../.git/config"),
            "src/to_neighbour": Path("a.txt"),
        }
        for name, target in links.items():
            (project / name).symlink_to(target)
        os.mkfifo(project / "src" / "pipe")
        os.link(self.outside / "shared.txt", project / "src" / "hard.txt")

    def _write_programs(self) -> None:
        """Write the hostile programs: a language server, a debug adapter, a plugin."""
        here, source, plugin = Path(__file__).parent, self.project / "src", self.project / "plugins" / "spy"
        plugin.mkdir(parents=True)
        shutil.copy(here / "hostile_server.py", source / "server.py")
        # Who may not read there may not write it, so that who debugs reads no more than who wrote it.
        shutil.copy(here / "hostile_adapter.py", source / "private" / "adapter.py")
        shutil.copy(here / "hostile_plugin.py", plugin / "plugin.py")
        write(plugin / "kaged-plugin.yaml", SPY)
        for folder in (source, source / "private", plugin):
            shutil.copy(here / "looking_around.py", folder)
        for name in ("git", "rg", "node", "ast-grep"):
            program = self.project / "tools" / name
            write(program, f"#!/bin/sh\necho {name} >>{self.outside / 'ran'}\n")
            program.chmod(0o755)

    def search_path(self, rest: str) -> str:
        """Return the daemon's PATH: the project's programs stand first on it."""
        return f"{self.project}/tools:tools::{rest}"

    def tell_programs(self, places: Mapping[str, object]) -> None:
        """Tell the hostile programs where to look."""
        for folder in ("src", "src/private", "plugins/spy"):
            write(self.project / folder / "places.json", json.dumps(places, default=str))

    def _settings(self) -> str:
        return (
            '[models]\nmain = "replay:play"\n'
            '[providers.replay]\ntranscript = "transcripts"\n'
            "[providers.real]\n"
            f'driver = "openai"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "{self.canary("api-key")}"\n'
            "[limits]\nsessions_per_project = 50\nsessions_per_operator = 100\n"
            "[lsp]\ndiagnostics_after_edit = false\n"
            "[lsp.servers.hostile]\n"
            f'command = ["/usr/bin/python3", "{self.project}/src/server.py"]\n'
            'extensions = [".hostile"]\n'
            "[dap.adapters.hostile]\n"
            f'adapter = ["/usr/bin/python3", "{self.project}/src/private/adapter.py"]\n'
        )

    def outside_digest(self) -> str:
        """Return a digest of everything that no attack may change: names, kinds, modes, contents."""
        digest = hashlib.sha256()
        for top in (self.outside, self.home, self.other, self.project / ".git", self.project / ".kaged"):
            for path in sorted(_tree(top)):
                status = path.lstat()
                digest.update(f"{path}\0{status.st_mode:o}\0{status.st_uid}\0".encode())
                if stat.S_ISREG(status.st_mode):
                    digest.update(path.read_bytes())
                elif stat.S_ISLNK(status.st_mode):
                    digest.update(os.readlink(path).encode())
        return digest.hexdigest()

    def remove(self) -> None:
        shutil.rmtree(self.top, ignore_errors=True)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _tree(top: Path) -> Iterator[Path]:
    yield top
    for folder, folders, files in os.walk(top):
        yield from (Path(folder, name) for name in (*folders, *files))


TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: escape
    steps:
      - answer:
          - text: "title \\e]0;owned\\a \\e]52;c;b3duZWQ=\\a and \\e[31mred"
fallback:
  steps:
    - answer: [text: Done.]
"""

PLUGIN = """\
name: evil
version: "1.0.0"
kaged_api: 1
description: Never to be run
command: [sh, -c, "touch <ran>"]
capabilities: []
hooks: [on_session_start]
"""

SPY = """\
name: spy
version: "1.0.0"
kaged_api: 1
description: Looks around
command: [/usr/bin/python3, plugin.py]
capabilities: ["kaged:storage:read"]
tools:
  - name: look
    description: Look around
    parameters_schema:
      type: object
      properties: { how: { type: string } }
"""
