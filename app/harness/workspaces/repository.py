"""The repository of a project, as far as workspaces need to know it. It is only read here.

Owns: where it lies, what it is at, and which of its settings say how files are written. Never: what becomes
of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import Conflict, ValidationFailed
from app.harness.git.status import Operation, operation_at
from app.tools.processes.foreign_text import clean
from app.tools.processes.git_commands import GitCommands, GitProblem, lines_of
from app.workspace.repository import foreign_objects, repository_folders

CARRIED = (
    "core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase",
    "core.precomposeunicode", "core.sparsecheckout", "core.sparsecheckoutcone",
)  # fmt: skip
"""The settings that a clone takes over: they name no program and no file."""
_MAX_REFS = 2000


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with the project at `prefix` of its working tree `top`. `head` is None before the first
    commit, `branch` when no branch is checked out. `operation` is one in progress. `ignored` are ignore rules
    of the user, which hold beside the repository's own."""

    top: Path
    prefix: str
    git_dir: Path
    common: Path
    objects: Path
    hash: str
    head: str | None
    branch: str | None
    settings: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    operation: Operation | None = None
    ignored: bytes = b""

    @property
    def shallow(self) -> Path:
        return self.common / "shallow"


async def repository_of(git: GitCommands, root: Path) -> Repository | None:
    """Return the repository of the project at `root`; None where there is none. Raises `GitProblem` when it
    cannot be used."""
    try:
        await git.open()
        kind = (await git.run(["rev-parse", "--show-object-format"])).decode().strip()
    except GitProblem as problem:
        if problem.expected:
            return None
        raise
    # Found without git: its answers are lines, and a path may hold a newline.
    folders = await asyncio.to_thread(repository_folders, root)
    if folders is None:
        return None
    real = Path(await asyncio.to_thread(os.path.realpath, root))
    prefix = "" if real == folders.top else str(real.relative_to(folders.top))
    head, branch, settings = await asyncio.gather(_head(git), _branch(git), _settings(git))
    return Repository(
        folders.top,
        prefix,
        folders.own,
        folders.common,
        folders.common / "objects",
        kind,
        head,
        branch,
        {name: settings[name] for name in CARRIED if name in settings},
        any(name.endswith(".promisor") for name in settings) or "extensions.partialclone" in settings,
        await asyncio.to_thread(operation_at, folders.own),
    )


async def refuse_foreign(root: Path) -> None:
    """Raise `Conflict` when a workspace of the project at `root` would have objects of another repository:
    agents would read all of that, whatever their cage denies."""
    foreign = await asyncio.to_thread(foreign_objects, root)
    if foreign:
        raise Conflict(
            f"The repository has its objects from {foreign[0]}, outside of the project. An agent in a "
            "workspace would read everything there. Copy them first: with `git repack -a -d`, and remove "
            "`objects/info/alternates`; or move the repository's folder to `.git`.",
            reason="foreign_repository",
            details={"places": [str(one) for one in foreign]},
        )


async def _head(git: GitCommands) -> str | None:
    try:
        return (await git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])).decode().strip()
    except GitProblem as problem:
        if problem.exit_code == 1:
            return None
        raise


async def _branch(git: GitCommands) -> str | None:
    try:
        said = await git.run(["symbolic-ref", "--quiet", "HEAD"])
    except GitProblem as problem:
        if problem.exit_code == 1:
            return None
        raise
    return said.decode("utf-8", "surrogateescape").strip()


async def _settings(git: GitCommands) -> dict[str, str]:
    listed = (await git.run(["config", "--list", "-z"])).decode("utf-8", "surrogateescape")
    pairs = (one.partition("\n") for one in listed.split("\0") if one)
    # A name without a value is true; one with an empty value is false.
    return {name: value if has_value else "true" for name, has_value, value in pairs}


async def commit_of(git: GitCommands, ref: str) -> str:
    """Return the commit that a ref names. Raises `ValidationFailed` when there is none such."""
    try:
        said = await git.run(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"])
    except GitProblem as problem:
        if problem.exit_code is None:
            raise
        said = b""
    commit = said.decode().strip()
    if not commit or commit.startswith("^"):  # that is what "without" is to git
        raise ValidationFailed(
            f"The repository has no commit {clean(ref, 200)!r}.",
            fields={"workspace.base": "name a branch, a tag or a commit, or say `head` or `working`"},
        )
    return commit


async def has_folder(git: GitCommands, commit: str, folder: str) -> bool:
    """Tell whether a commit has a folder; the name "" is that of its top."""
    asked = ["cat-file", "-e", f"{commit}:{folder}"]
    try:
        await git.run(asked)
    except GitProblem as problem:
        if problem.exit_code is None:
            raise
        return False
    return True


async def refs_within(git: GitCommands, commit: str) -> Sequence[tuple[str, str]]:
    """Return the branches and tags that the history of a commit holds, with their commits: what the pin of
    the commit keeps from being pruned."""
    said = await git.run(
        ["for-each-ref", f"--count={_MAX_REFS}", f"--merged={commit}",
         "--format=%(refname) %(objectname) %(*objectname)", "refs/heads", "refs/tags"]
    )  # fmt: skip
    found = []
    for line in lines_of(said):
        name, own, peeled = line.split(" ")
        found.append((name, peeled or own))
    return found
