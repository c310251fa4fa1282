"""The daemon's own repository of one workspace, and git in it.

Owns: its first files, and the environment in which git uses it with some working tree. Its settings are only
those that stand here, so that no filter, hook or other program is run, whatever the working tree says. Never:
what is asked of git.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.ids import new_id
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import MAX_OUTPUT, NO_CONFIGURATION, SECONDS, GitCommands
from app.tools.processes.project_cage import GitPlaces
from app.workspace.repository import alternate

KAGED = {
    "GIT_AUTHOR_NAME": "kaged", "GIT_AUTHOR_EMAIL": "kaged@localhost",
    "GIT_COMMITTER_NAME": "kaged", "GIT_COMMITTER_EMAIL": "kaged@localhost",
}  # fmt: skip
FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "logs", "hooks")


@dataclass(frozen=True, slots=True)
class GitFolder:
    """git with the repository in the folder `git`. All commands have one cage, which shows the project at
    `root` and what is in `places`."""

    processes: CallProcesses
    environment: Mapping[str, str]
    git: Path
    root: Path
    places: GitPlaces

    async def run(
        self,
        arguments: Sequence[str],
        given: bytes = b"",
        *,
        index: Path | None = None,
        tree: Path | None = None,
        environment: Mapping[str, str] | None = None,
        most: int = MAX_OUTPUT,
        seconds: float = SECONDS,
    ) -> bytes:
        """Run one command with the working tree `tree`, if any, and an index. Raises `GitProblem`."""
        commands = GitCommands(self.processes, self.environment, self.root, self.places)
        own = {"GIT_DIR": str(self.git), "GIT_WORK_TREE": str(tree if tree is not None else self.git)}
        own |= {**KAGED, **NO_CONFIGURATION, **(environment or {})}
        if index is not None:
            own["GIT_INDEX_FILE"] = str(index)
        cwd = self.git if tree is None else tree
        return await commands.run(arguments, given, environment=own, most=most, seconds=seconds, cwd=cwd)

    def new_index(self) -> Path:
        """Return a name for an index that lasts for one piece of work."""
        return self.git / f"index-{new_id('wks')}"


def initial_files(branch: str, settings: Mapping[str, str], objects: Sequence[Path]) -> dict[str, bytes]:
    """Return the files of a new repository on a branch, which borrows from folders of objects."""
    own = {
        "core.repositoryformatversion": "0",
        "core.bare": "false",
        "core.logallrefupdates": "true",
        "gc.auto": "0",
        **settings,
    }
    files = {"HEAD": f"ref: {branch}\n".encode(), "config": _config(own)}
    if objects:
        files["objects/info/alternates"] = b"".join(map(alternate, objects))
    return files


def _config(settings: Mapping[str, str]) -> bytes:
    lines: list[str] = []
    for name, value in settings.items():
        section, _, key = name.rpartition(".")
        outer, _, inner = section.partition(".")
        head = f'[{outer} "{inner}"]' if inner else f"[{outer}]"
        plain = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'{head}\n\t{key} = "{plain}"\n')
    return "".join(lines).encode("utf-8", "surrogateescape")


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a repository's folder with these files. Blocks."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
