"""Bringing a workspace back: what it would change, and carrying that out.

Owns: what is merged with what, and the journal by which a merge that was interrupted is finished. All of it
is computed as objects of the daemon's repository first. Never: the states of workspaces (`service`), or
writing files (`bringing`) and refs (`branches`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from app.errors import Conflict
from app.harness.workspaces.agents_commits import has_others, take_in
from app.harness.workspaces.branches import Branches, refuse_busy_branch
from app.harness.workspaces.bringing import MOVABLE, Bringer, Bringing, Checkout
from app.harness.workspaces.checked_out import CheckedOutBranch, UserIndex, is_here, refuse_unfinished
from app.harness.workspaces.creation import Creation
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.given_conflicts import given_conflicts, unresolved_conflicts
from app.harness.workspaces.hooked_merge import HookedMerge
from app.harness.workspaces.identity import operator_identity
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.merge_notes import (
    WORKING_TREE,
    base_tree,
    is_given,
    whole_trees,
    written_trees,
)
from app.harness.workspaces.repository import Repository, repository_of
from app.harness.workspaces.snapshots import Snapshots
from app.harness.workspaces.trees import (
    Difference,
    commit_tree,
    differences,
    join,
    patch,
)
from app.states import WorkspaceState
from app.storage.models import Workspace
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem
from app.workspace.any_names import address_of, name_at

Strategy = Literal["squash", "merge"]
MAX_SHOWN = 100


@dataclass(frozen=True, slots=True)
class MergeWish:
    """How a workspace is brought back: into the checkout's files, or as a commit on a branch, which with
    `create` is made if it is not there; with `hooks` the user's hooks run for that commit."""

    strategy: Strategy = "squash"
    into: str = WORKING_TREE
    message: str | None = None
    dry_run: bool = False
    conflicts: Literal["refuse", "agent"] = "refuse"
    create: bool = False
    hooks: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge changes, or would: the files, those in which both sides contradict each other, and those
    that hinder it, with the reason; `diff` as text; the commit that a branch gets. `given`: the conflicts are
    in the workspace now, for its agent; the `unmarked` ones have its version there, and `shown_by` is the
    commit with the other."""

    into: str
    files: Sequence[Difference] = ()
    conflicts: Sequence[str] = ()
    blocked: Mapping[str, str] | None = None
    diff: str = ""
    commit: str | None = None
    given: bool = False
    unmarked: Sequence[str] = ()
    shown_by: str | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """The trees of what a target had of a workspace last, and of what it holds; git, the user's
    repository, and what is closed to everybody."""

    git: GitFolder
    repository: Repository | None
    base: str
    theirs: str
    closed: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    answer: Merged
    journal: dict[str, Any]

    def require_possible(self) -> None:
        """Raise `Conflict` with the files that hinder it, or that contradict each other."""
        blocked = self.answer.blocked or {}
        if blocked:
            first = next(iter(blocked.values()))
            way = "Commit, stash or move it" if first in MOVABLE else "Undo that change in the workspace"
            raise Conflict(
                f"The merge is blocked by {_named(list(blocked))} in the checkout ({first}). {way}, then "
                "merge again; or keep the branch and merge it with git.",
                reason="checkout_in_the_way",
                details={"paths": dict(list(blocked.items())[:MAX_SHOWN])},
            )
        if self.answer.conflicts and not self.answer.given:
            raise Conflict(
                f"There are conflicts in {_named(self.answer.conflicts)}. Let the agent resolve them "
                "(`--to-agent` of `kaged workspace merge`), or keep the branch and merge it with git.",
                reason="merge_conflicts",
                details={"paths": list(self.answer.conflicts)[:MAX_SHOWN]},
            )


class Merging:
    """Merges the workspaces of all projects."""

    def __init__(
        self,
        processes: CallProcesses,
        environment: Mapping[str, str],
        creation: Creation,
        branches: Branches,
        hooked: HookedMerge,
        notes: Path,
    ) -> None:
        """`notes` is the daemon's folder for changes of repositories that are under way."""
        self._hooked = hooked
        self._processes = processes
        self._environment = environment
        self._creation = creation
        self._branches = branches
        self._here = CheckedOutBranch(branches, UserIndex(processes, environment, notes))

    async def identity(self, root: Path) -> Mapping[str, str]:
        """Return who commits in a project's repository, by the settings of who runs the daemon."""
        return await operator_identity(self._processes, self._environment, root)

    async def has_changes(self, row: Workspace, layout: Layout, root: Path) -> bool:
        """Tell whether a workspace holds anything that was not brought back, also on another branch or
        stashed; of a kept one its operator let that go. Raises `GitProblem`."""
        repository = await self._repository(row, root)
        git = self._creation.folder(root, layout, repository)
        theirs, commit = await self._theirs(row, layout, git)
        if theirs not in (*whole_trees(row), await base_tree(row, git, None)):
            return True
        if row.kind == "copy" or row.state == WorkspaceState.KEPT.value:
            return False
        assert row.base_commit is not None
        return await has_others(git, layout.own_git, commit, row.base_commit)

    async def sides(
        self, row: Workspace, layout: Layout, root: Path, into: str | None, also: Layout | None = None
    ) -> Sides:
        """Return what a workspace holds now, and what a target had of it last; git reads `also` another
        workspace. Raises `GitProblem`."""
        repository = await self._repository(row, root)
        git = self._creation.folder(root, layout, repository, also=also)
        theirs, _ = await self._theirs(row, layout, git)
        return Sides(git, repository, await base_tree(row, git, into), theirs, self._processes.closed)

    async def prepare(self, row: Workspace, layout: Layout, root: Path, wish: MergeWish) -> Prepared:
        """Compute a merge; nothing is touched. Raises `GitProblem` and `Conflict`."""
        repository = await self._repository(row, root)
        git = self._creation.folder(root, layout, repository)
        theirs, commit = await self._theirs(row, layout, git)
        if wish.into == WORKING_TREE:
            if wish.hooks:
                raise no_commit_for_hooks()
            head = None if repository is None else repository.head
            base = await base_tree(row, git, WORKING_TREE, head)
            bringing = await self._bringer(git, root, repository).plan(base, theirs, written_trees(row))
            answer, given = await self._conflicts(row, git, wish, bringing, theirs, head)
            if given is not None:
                return given
            journal = {"into": WORKING_TREE, "base": theirs, "from": bringing.before, "tree": bringing.after}
            return Prepared(answer, journal)
        if repository is None:
            raise Conflict(
                "The workspace is a copy without a git repository: merge into `working_tree`.",
                reason="no_repository",
            )
        return await self._onto_branch(row, git, repository, wish, theirs, commit)

    async def _onto_branch(
        self,
        row: Workspace,
        git: GitFolder,
        repository: Repository,
        wish: MergeWish,
        theirs: str,
        commit: str,
    ) -> Prepared:
        target = await self._branches.target(repository, wish.into, create=wish.create)
        base = await base_tree(row, git, wish.into, target.commit)
        here = is_here(target, repository)
        if here:
            await refuse_unfinished(repository)
            bringing = await self._bringer(git, repository.top, repository).plan_commit(base, theirs)
        else:
            refuse_busy_branch(target)
            joined = await join(git, base, target.commit, theirs)
            changes = await differences(git, target.commit, joined.tree)
            bringing = Bringing(target.commit, joined.tree, changes, joined.conflicts)
        answer, given = await self._conflicts(row, git, wish, bringing, theirs, target.commit)
        if given is not None:
            return given
        if wish.dry_run or answer.conflicts:
            return Prepared(answer, {})
        journal: dict[str, Any] = {
            "into": target.name,
            "base": theirs,
            "from": target.commit,
            "tree": bringing.after,
            "new": target.is_new,
            "here": here,
        }
        if not bringing.changes:  # a commit would be empty
            return Prepared(answer, {**journal, "commit": target.commit})
        message = wish.message or f"{row.branch or row.id}\n"
        if wish.hooks:
            squash = wish.strategy == "squash"
            await self._hooked.require_possible(bringing, repository, here=here, squash=squash)
            return Prepared(answer, {**journal, "hooks": True, "message": message})
        identity = await self.identity(repository.top)
        parents = [target.commit]
        if wish.strategy == "merge":
            parents.append(await self._branches.whole(git, theirs, commit, message, identity))
        made = await commit_tree(git, bringing.after, parents, message, self._branches.signed(identity))
        return Prepared(replace(answer, commit=made), {**journal, "commit": made})

    async def _conflicts(
        self,
        row: Workspace,
        git: GitFolder,
        wish: MergeWish,
        bringing: Bringing,
        theirs: str,
        commit: str | None,
    ) -> tuple[Merged, Prepared | None]:
        """Return what a merge is answered with, and when its agent shall have the conflicts, how the target,
        at `commit`, is brought into the workspace with them. Those that it had before and has not resolved
        are conflicts still."""
        before = [name_at(one) for one in (row.merged or {}).get("marked", ())]
        unresolved = await unresolved_conflicts(git, theirs, before) if before else []
        bringing = replace(bringing, conflicts=tuple(dict.fromkeys((*bringing.conflicts, *unresolved))))
        answer = await self._answer(git, wish, bringing)
        if wish.dry_run or wish.conflicts != "agent" or not bringing.conflicts or answer.blocked:
            return answer, None
        given = await given_conflicts(git, bringing, theirs, unresolved)
        if given is None:
            return answer, None
        unmarked = [address_of(one) for one in given.unmarked]
        journal = {
            "into": "workspace",
            "for": wish.into,
            "base": bringing.before,
            "from": theirs,
            "tree": given.tree,
            "marked": [address_of(one) for one in given.marked],
        }
        return answer, Prepared(replace(answer, given=True, unmarked=unmarked, shown_by=commit), journal)

    async def carry_out(
        self, row: Workspace, layout: Layout, root: Path, journal: Mapping[str, Any], *, again: bool = False
    ) -> str | None:
        """Do what a journal says, as far as it is not done yet, and return the commit on a branch. `again`:
        a kill has cut it off. Raises `GitProblem` and `Conflict`."""
        repository = await self._repository(row, root)
        git = self._creation.folder(root, layout, repository)
        if journal.get("keep"):
            if repository is None:
                raise Conflict("The project no longer has a git repository.", reason="no_repository")
            identity = await self.identity(root)
            await self._branches.set(git, repository, journal["into"], journal["commit"], None, identity)
            return str(journal["commit"])
        changes = await differences(git, journal["from"], journal["tree"])
        bringing = Bringing(journal["from"], journal["tree"], changes)
        if is_given(journal):
            await Bringer(git, Checkout(layout.tree, "", None, journal["from"], ())).write(bringing)
        elif journal["into"] == WORKING_TREE:
            bringer = self._bringer(git, root, repository)
            try:
                await bringer.write(bringing)
            except Conflict:
                if again:  # somebody has changed one of its files since: none of them stays
                    await bringer.take_back(bringing, journal["from"])
                raise
        elif journal.get("hooks"):
            assert repository is not None
            bringer, name = self._bringer(git, repository.top, repository), journal["into"]
            if again:
                return await self._hooked.end(bringer, bringing, repository, name)
            return await self._hooked.carry_out(bringer, bringing, repository, name, journal["message"])
        else:
            assert repository is not None
            identity = await self.identity(root)
            if journal.get("here"):
                bringer = self._bringer(git, root, repository)
                await self._here.move(git, bringer, bringing, repository, journal, identity, again=again)
            else:
                old = None if journal.get("new") else journal["from"]
                await self._branches.set(git, repository, journal["into"], journal["commit"], old, identity)
        return journal.get("commit")

    async def plan_branch(self, row: Workspace, layout: Layout, root: Path) -> dict[str, Any]:
        """Return the journal by which the branch of a workspace, with everything that it holds, becomes one
        of the user's repository. Raises `GitProblem`."""
        repository = await self._repository(row, root)
        if repository is None or row.branch is None:
            raise GitProblem("the project no longer has a git repository")
        git = self._creation.folder(root, layout, repository)
        theirs, commit = await self._theirs(row, layout, git)
        made = await self._branches.whole(git, theirs, commit, row.branch, await self.identity(root))
        return {"into": row.branch, "commit": made, "base": theirs, "from": None, "keep": True}

    # -- inside -----------------------------------------------------------------------------

    async def _repository(self, row: Workspace, root: Path) -> Repository | None:
        """Return the repository that a workspace was cloned from. A copy has none, whatever is there now."""
        if row.kind == "copy":
            return None
        return await repository_of(self._creation.reading(root), root)

    async def _theirs(self, row: Workspace, layout: Layout, git: GitFolder) -> tuple[str, str]:
        """Return the tree of what a workspace holds now, and the last commit in it."""
        assert row.base_commit is not None
        commit = row.base_commit
        if row.kind == "worktree":
            own = {"GIT_DIR": str(layout.own_git)}
            try:
                found = await git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], environment=own)
                commit = found.decode().strip()
            except GitProblem as problem:
                if problem.exit_code is None and not problem.expected:
                    raise
            else:
                await take_in(git, layout.own_git / "objects", commit, row.base_commit)
        return await Snapshots(git).whole(layout.tree, layout.index, commit), commit

    def _bringer(self, git: GitFolder, root: Path, repository: Repository | None) -> Bringer:
        closed = self._processes.closed
        if repository is None:
            return Bringer(git, Checkout(root, "", None, None, closed))
        return Bringer(
            git, Checkout(repository.top, repository.prefix, repository.git_dir, repository.head, closed)
        )

    async def _answer(self, git: GitFolder, wish: MergeWish, bringing: Bringing) -> Merged:
        return Merged(
            wish.into,
            bringing.changes,
            [address_of(path) for path in bringing.conflicts],
            {address_of(path): reason for path, reason in sorted((bringing.blocked or {}).items())},
            await patch(git, bringing.before, bringing.after) if wish.dry_run else "",
        )


def no_commit_for_hooks() -> Conflict:
    return Conflict(
        "A merge into `working_tree` commits nothing, so no hooks run: commit afterwards with "
        "`kaged git commit --hooks`, or merge into the branch that is checked out.",
        reason="hooks_not_possible",
    )


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:5])
    return shown if len(paths) <= 5 else f"{shown} and {len(paths) - 5} more"
