"""Makes the clone that a session works in: its own refs, index, stash and settings, the objects shared.

Owns: what is written into the two repositories of a workspace, and the working tree. Never: what is read of
the user's repository (`repository`), or the states of a workspace. No program of anybody's settings is run:
git is given repositories that hold only what is written here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.harness.workspaces.copying import to_its_end
from app.harness.workspaces.git_folder import GitFolder, initial_files, write_files
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.repository import Repository
from app.harness.workspaces.small_files import read_small
from app.harness.workspaces.walking import remove_tree

CHECKOUT_SECONDS = 1800.0
WORKERS = "checkout.workers=2"
_SHARED_FILES = ("info/attributes", "info/exclude", "info/sparse-checkout")


@dataclass(frozen=True, slots=True)
class Begun:
    """What a clone begins with: the commit, the branch, and the refs that it knows beside its own."""

    commit: str
    branch: str
    refs: Sequence[tuple[str, str]] = ()
    identity: Mapping[str, str] | None = None


async def make_folder(layout: Layout) -> None:
    """Make the folder of a workspace, empty: what a crash left of it goes."""

    def make() -> None:
        remove_tree(layout.folder)
        layout.tree.mkdir(parents=True, mode=0o700)

    await to_its_end(make)


async def prepare(layout: Layout, repository: Repository | None) -> None:
    """Make the daemon's repository of a workspace; it borrows the objects of the user's."""
    await to_its_end(_prepare, layout, repository)


def _prepare(layout: Layout, repository: Repository | None) -> None:
    settings = _settings(repository)
    objects = [] if repository is None else [repository.objects]
    files = initial_files("refs/heads/base", settings, objects)
    for name in _SHARED_FILES:
        content = _small_file(repository, name)
        if content is not None:
            files[name] = content
    if repository is not None and repository.ignored:  # the repository's own rules come later: they win
        files["info/exclude"] = repository.ignored + b"\n" + files.get("info/exclude", b"")
    shallow = None if repository is None else read_small(repository.shallow)
    if shallow is not None:
        files["shallow"] = shallow
    write_files(layout.git, files)


async def check_out(git: GitFolder, layout: Layout, commit: str) -> None:
    """Write the files of a commit into the tree, and the daemon's index of them. Raises `GitProblem`."""
    await git.run(
        ["-c", WORKERS, "read-tree", "-u", "--reset", commit],
        index=layout.index,
        tree=layout.tree,
        seconds=CHECKOUT_SECONDS,
    )


async def give_repository(layout: Layout, repository: Repository | None, begun: Begun) -> None:
    """Give the tree a repository of its own, on the branch, with an index that knows the files. It is there
    whole or not at all."""
    await to_its_end(_give_repository, layout, repository, begun)


def _give_repository(layout: Layout, repository: Repository | None, begun: Begun) -> None:
    settings = _settings(repository) | {
        f"user.{name}": value for name, value in (begun.identity or {}).items() if value
    }
    objects = [] if repository is None else [repository.objects]
    branch = f"refs/heads/{begun.branch}"
    files = initial_files(branch, settings, objects)
    packed = {name: commit for name, commit in begun.refs if name != branch} | {branch: begun.commit}
    # git looks a name up among sorted bytes.
    lines = sorted((os.fsencode(name), commit.encode()) for name, commit in packed.items())
    header = b"# pack-refs with: sorted \n"
    files["packed-refs"] = b"".join((header, *(b"%b %b\n" % (commit, name) for name, commit in lines)))
    for name in (*_SHARED_FILES, "shallow"):
        with suppress(FileNotFoundError):
            files[name] = (layout.git / name).read_bytes()
    files["index"] = layout.index.read_bytes()
    unfinished = layout.folder / "own-git"
    remove_tree(unfinished)
    write_files(unfinished, files)
    packs = layout.git / "objects" / "pack"
    for pack in sorted(packs.iterdir()) if packs.is_dir() else ():
        # No second name of the file: agents could write what the daemon's repository has.
        shutil.copyfile(pack, unfinished / "objects" / "pack" / pack.name)
    times = layout.index.stat()
    os.utime(unfinished / "index", ns=(times.st_atime_ns, times.st_mtime_ns))
    unfinished.rename(layout.own_git)


def _settings(repository: Repository | None) -> dict[str, str]:
    if repository is None:
        return {}
    settings = dict(repository.settings)
    if repository.hash != "sha1":
        settings |= {"core.repositoryformatversion": "1", "extensions.objectformat": repository.hash}
    if repository.partial:  # so that what is missing is known to be missing, and nowhere fetched from
        settings |= {"core.repositoryformatversion": "1", "extensions.partialclone": "origin"}
        settings |= {"remote.origin.promisor": "true"}
    return settings


def _small_file(repository: Repository | None, name: str) -> bytes | None:
    """Return what the user's repository has in a file of `info`, which may be one of the linked tree. A link
    is not followed: agents read what comes of it."""
    folders = () if repository is None else dict.fromkeys((repository.git_dir, repository.common))
    found = (read_small(folder / name) for folder in folders)
    return next((content for content in found if content is not None), None)


def take_packs(source: Layout, target: Layout) -> None:
    """Give a workspace's repository in the making the objects of another one. Blocks."""
    place = target.git / "objects" / "pack"
    place.mkdir(parents=True, exist_ok=True)
    packs = source.git / "objects" / "pack"
    for pack in sorted(packs.iterdir()) if packs.is_dir() else ():
        shutil.copyfile(pack, place / pack.name)
