"""Why git's work is refused, as a client reads it.

Owns: the errors with their reasons. Never: finding out.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.errors import Conflict, KagedError
from app.harness.git.names import shown
from app.tools.processes.foreign_text import clean
from app.tools.processes.git_commands import NO_REPOSITORY, GitProblem, NoRepository
from app.workspace.any_names import address_of

MAX_LISTED = 100
MAX_TEXT = 16 * 1024


def as_error(problem: GitProblem) -> KagedError:
    """Return the error for a failure of git itself."""
    text = clean(str(problem), 1_000)
    if isinstance(problem, NoRepository):
        return no_repository(text)
    return Conflict(f"{text}.", reason="git_failed")


def no_repository(why: str = NO_REPOSITORY) -> Conflict:
    """Return the error for what needs a repository, in a project that has none."""
    known = "" if why == NO_REPOSITORY else f": {why}"
    return Conflict(
        f"The project has no git repository{known}. Run `git init` in its folder to create one.",
        reason="no_repository",
    )


def locked() -> Conflict:
    return Conflict(
        "Another program works in this repository: it holds the file index.lock. Try again when it is done; "
        "if no git runs any more, remove that file.",
        reason="index_locked",
    )


def is_locked(problem: Conflict) -> bool:
    return problem.details.get("reason") == "index_locked"


def in_progress(operation: str, what: str) -> Conflict:
    name = operation.replace("_", " ")
    return Conflict(
        f"A {name} is in progress, so {what}. Finish or abort it with git first.",
        reason="operation_in_progress",
        details={"operation": operation},
    )


def conflicts(names: Iterable[bytes]) -> Conflict:
    return _listing("These files have conflicts. Resolve and stage them first", "conflicts", names)


def would_overwrite(names: Iterable[bytes]) -> Conflict:
    return _listing(
        "The switch would overwrite changes that are not committed. Commit or stash them first",
        "would_overwrite",
        names,
    )


def daemons_own(names: Iterable[bytes]) -> Conflict:
    return _listing(
        "These files belong to kaged's daemon (its settings or its data), which kaged hides from git. Use "
        "git itself",
        "daemon_file",
        names,
    )


def filtered(names: Iterable[bytes], driver: str) -> Conflict:
    return _listing(
        f"The filter {clean(driver, 100)!r} of .gitattributes converts these files. kaged runs no filters, "
        "and without one git would store or write wrong content. Use git itself for them",
        "filtered",
        names,
    )


def changed_since(name: bytes) -> Conflict:
    return Conflict(
        f"{shown(name)} has changed since the diff. Get the diff again and choose from it.",
        reason="changed_since",
        details={"paths": [address_of(name)]},
    )


def no_identity(lacks: Iterable[str]) -> Conflict:
    commands = [f'git config --global user.{one} "{_EXAMPLES[one]}"' for one in lacks]
    return Conflict(
        f"git has no author for commits. Run, as the user of the daemon: {' and '.join(commands)}.",
        reason="identity_missing",
        details={"commands": commands},
    )


_EXAMPLES = {"name": "Your Name", "email": "you@example.com"}


def nothing_to_commit(why: str) -> Conflict:
    return Conflict(f"There is nothing to commit: {why}.", reason="nothing_to_commit")


def must_sign() -> Conflict:
    return Conflict(
        "Your git settings require signed commits (commit.gpgSign), and kaged does not sign. Commit with git "
        "itself, or send `unsigned: true`.",
        reason="signing_required",
    )


def hook_failed(output: str, why: str) -> Conflict:
    return Conflict(
        f"A hook of the repository refused the commit: {why}. Nothing was committed.",
        reason="hook_failed",
        details={"output": output},
    )


def _listing(text: str, reason: str, names: Iterable[bytes]) -> Conflict:
    found = sorted(set(names))
    some = ", ".join(shown(name) for name in found[:5]) + (", ..." if len(found) > 5 else "")
    listed = [address_of(name) for name in found[:MAX_LISTED]]
    return Conflict(f"{text}: {some}.", reason=reason, details={"paths": listed, "total": len(found)})
