"""Branches of the user's repository: where one stands, and moving it to a commit of a workspace.

Owns: bringing the objects over, and setting a ref whose old value is checked. Never: working trees and
indexes; a branch that is checked out is not touched.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict, ValidationFailed
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.pins import Pins
from app.harness.workspaces.repository import Repository
from app.harness.workspaces.small_files import read_small
from app.harness.workspaces.trees import SECONDS, commit_tree, tree_of
from app.ids import new_id
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.foreign_text import clean
from app.tools.processes.git_commands import GitCommands, GitProblem


@dataclass(frozen=True, slots=True)
class Target:
    """A branch with its commit, and the working tree that has it checked out. `in_use` says what is under way
    with it, as a rebase, which moves it at its end. One that `is_new` is not there yet, and begins at that
    commit."""

    name: str
    commit: str
    checked_out: str | None
    in_use: str | None = None
    is_new: bool = False


class Branches:
    """The branches of all projects' repositories."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], pins: Pins) -> None:
        self._processes = processes
        self._environment = environment
        self._pins = pins

    async def target(self, repository: Repository, name: str, *, create: bool = False) -> Target:
        """Return a branch by its short name, or the one that it is another name of; with `create` one that is
        not there begins at the commit that is checked out. Raises `ValidationFailed` when there is none such,
        and `Conflict`."""
        git = await self._pins.writing(repository)
        said = await git.run(
            [
                "for-each-ref",
                "--format=%(refname)%00%(objectname)%00%(worktreepath)%00%(symref)",
                "refs/heads",
            ]
        )
        # A name may have separators of lines that are no newlines, and a folder has anything.
        fields = said.decode("utf-8", "surrogateescape").split("\0")
        found: dict[str, tuple[str, str]] = {}
        other_names: dict[str, str] = {}
        ref = fields[0]
        for commit, place, last in zip(fields[1::3], fields[2::3], fields[3::3], strict=True):
            symref, _, following = last.partition("\n")
            found[ref] = (commit, place)
            if symref:
                other_names[ref] = symref
            ref = following
        wanted = f"refs/heads/{name}"
        wanted = other_names.get(wanted, wanted)
        if wanted in found and wanted not in other_names:
            commit, place = found[wanted]
            in_use = await asyncio.to_thread(_in_use, repository.common, wanted)
            return Target(wanted.removeprefix("refs/heads/"), commit, place or None, in_use)
        if create:
            return await _new_target(git, repository, name)
        raise ValidationFailed(
            f"The repository has no branch {clean(name, 200)!r}.",
            fields={"into": "name a branch, or `working_tree`; with `create` the branch is created"},
        )

    async def whole(
        self, git: GitFolder, tree: str, last: str, message: str, identity: Mapping[str, str]
    ) -> str:
        """Return a commit with a workspace's whole content: its last one, or another above that."""
        if await tree_of(git, last) == tree:
            return last
        return await commit_tree(git, tree, [last], message, self.signed(identity))

    def signed(self, identity: Mapping[str, str]) -> dict[str, str]:
        """Return the environment in which a commit is an operator's."""
        return {
            f"GIT_{role}_{field.upper()}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in identity.items()
        }

    async def set(
        self,
        git: GitFolder,
        repository: Repository,
        name: str,
        commit: str,
        old: str | None,
        identity: Mapping[str, str],
    ) -> None:
        """Move a branch from `old` (None: it is new) to a commit of a workspace; done twice it is as once.
        Raises `Conflict` when it is somewhere else by now."""
        writing = await self._pins.writing(repository)
        ref = f"refs/heads/{name}"
        if await _where(writing, ref) == commit:
            return
        await self.bring_objects(git, repository, commit, old or repository.head)
        try:
            async with self._pins.changing(repository, ref):
                await writing.run(
                    [
                        "update-ref",
                        "--create-reflog",
                        "-m",
                        "kaged: workspace",
                        ref,
                        commit,
                        old or "0" * len(commit),
                    ],
                    environment=self.signed(identity),
                )
        except GitProblem as problem:
            if problem.exit_code is None or await _where(writing, ref) == old:
                raise
            raise _moved(name) from None

    async def tip(self, repository: Repository, name: str) -> str | None:
        """Return the commit that a branch is at; None when it is not there."""
        return await _where(await self._pins.writing(repository), f"refs/heads/{name}")

    async def require(self, repository: Repository, name: str, *commits: str) -> None:
        """Raise `Conflict` when a branch is at none of these commits."""
        if await _where(await self._pins.writing(repository), f"refs/heads/{name}") not in commits:
            raise _moved(name)

    async def bring_objects(
        self, git: GitFolder, repository: Repository, commit: str, known: str | None
    ) -> None:
        """Put into the user's repository what a commit needs and `known` does not hold."""
        folder = git.git / f"pack-{new_id('wks')}"
        await asyncio.to_thread(folder.mkdir)
        try:
            wanted = f"{commit}\n" + (f"^{known}\n" if known is not None else "")
            await git.run(
                ["pack-objects", "--revs", "--non-empty", "-q", str(folder / "pack")],
                wanted.encode(),
                seconds=SECONDS,
            )
            # The agents' repository may have a forged index: git computes the name of each object again.
            for pack in await asyncio.to_thread(lambda: sorted(folder.glob("*.pack"))):
                await asyncio.to_thread(pack.with_suffix(".idx").unlink)
                await git.run(["index-pack", str(pack)], seconds=SECONDS)
            async with self._pins.changing(repository) as name:
                await asyncio.to_thread(_place, folder, repository.objects / "pack", name)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _new_target(git: GitCommands, repository: Repository, name: str) -> Target:
    try:
        await git.run(["check-ref-format", "--branch", name])
    except GitProblem as problem:
        if problem.exit_code is None:
            raise
        why = "is not a valid name of a branch"
        raise ValidationFailed(f"{clean(name, 200)!r} {why}.", fields={"into": why}) from None
    if name.startswith("@{") or repository.head is None:
        raise Conflict("The repository has no commit that a branch could start at.", reason="no_commits")
    return Target(name, repository.head, None, is_new=True)


async def _where(git: GitCommands, ref: str) -> str | None:
    try:
        return (await git.run(["rev-parse", "--verify", "--quiet", ref])).decode().strip()
    except GitProblem as problem:
        if problem.exit_code == 1:
            return None
        raise


def _moved(name: str) -> Conflict:
    return Conflict(
        f"The branch {name} got other commits during the merge: check it, then merge again.",
        reason="changed_since",
    )


def _place(source: Path, target: Path, name: str) -> None:
    """Put packs into a repository, each whole and the index last: git reads a pack that has one. While they
    are written, their names begin with `name`."""
    target.mkdir(exist_ok=True)
    for suffix in (".pack", ".idx"):
        for file in sorted(source.glob(f"*{suffix}")):
            temporary = target / f"{name}{new_id('wks')}"
            try:
                shutil.copyfile(file, temporary)
                os.chmod(temporary, 0o444)
                with open(temporary, "rb") as written:
                    os.fsync(written.fileno())
                temporary.replace(target / file.name)
            finally:
                temporary.unlink(missing_ok=True)


def _in_use(common: Path, ref: str) -> str | None:
    """Return what is under way with a branch in any working tree of a repository, and where. Blocks."""
    linked = common / "worktrees"
    trees = sorted(linked.iterdir()) if linked.is_dir() else []
    for folder in (common, *trees):
        for name, (file, what) in _BRANCH_OF.items():
            content = read_small(folder / name / file if file else folder / name) or b""
            if content.strip() in (os.fsencode(ref), os.fsencode(ref.removeprefix("refs/heads/"))):
                return f"{what} of it is in progress in {folder}"
    return None


_BRANCH_OF = {
    "rebase-merge": ("head-name", "a rebase"),
    "rebase-apply": ("head-name", "a rebase"),
    "BISECT_START": ("", "a bisect"),
}
"""Where git notes the branch that it goes back to when something is over."""


def refuse_busy_branch(target: Target) -> None:
    """Raise `Conflict` for a branch that is checked out somewhere, or will be moved by what is under way."""
    if target.in_use is not None:
        raise Conflict(
            f"The branch {target.name} is in use: {target.in_use}. Finish or abort that, then merge again.",
            reason="operation_in_progress",
        )
    if target.checked_out is not None:
        raise Conflict(
            f"The branch {target.name} is checked out in {target.checked_out}: merge into `working_tree`, "
            "and commit there.",
            reason="branch_checked_out",
            details={"checked_out": target.checked_out},
        )
