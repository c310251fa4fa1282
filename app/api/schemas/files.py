"""The files of a project on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel, PageOf, Time

_PATH = (
    "Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control "
    "characters, is `~bytes:` and its bytes in URL-safe base64."
)
EntryKind = Literal["file", "folder", "link", "other"]
GitWord = Literal["modified", "added", "deleted", "renamed", "conflicted", "untracked"]


class FileLinkTarget(AnswerModel):
    """Where a symbolic link leads within the project."""

    path: str
    kind: EntryKind


class FileEntry(AnswerModel):
    """A file, a folder, a symbolic link, or something else, such as a named pipe."""

    path: str = Field(description=_PATH)
    name: str = Field(description="For people: bytes that are not UTF-8 are replaced.")
    kind: EntryKind
    size: int | None = Field(description="In bytes; null for what is not a file.")
    modified_at: Time | None
    executable: bool
    ignored: bool = Field(description="Whether git ignores it.")
    readable: bool = Field(description="False for a folder that cannot be read, and for what is deleted.")
    target: FileLinkTarget | None = Field(
        description="Null for a link that leads out of the project or nowhere, and for all that is no link."
    )
    git: GitWord | None = Field(
        description="How it differs from the last commit, if it does. A deleted file is listed, too."
    )
    old_path: str | None = Field(description="Where a renamed file was.")
    changes: dict[str, int] = Field(
        description="For a folder: how many files below it are `modified`, `added`, `deleted`, `renamed`, "
        "`conflicted` and `untracked`. A folder of which nothing is tracked counts as one."
    )


class GitStateAnswer(AnswerModel):
    """What git says of the project. `none`: it is no repository. `pending`: git takes long; ask again.
    `unavailable`: git failed, for `reason`. Only with `ok` do the entries have `git`."""

    state: Literal["ok", "none", "pending", "unavailable"]
    reason: str | None
    branch: str | None = Field(description="Null with a detached `HEAD`.")
    commit: str | None = Field(description="The last commit; null before the first.")


class FileTreePage(PageOf[FileEntry]):
    """A page of a folder's entries: folders before files, each folder directly before what is in it."""

    folder: str = Field(description="The listed folder, links followed; empty for the project's folder.")
    complete: bool = Field(description="False when there are more entries than are counted.")
    git: GitStateAnswer


class FileText(AnswerModel):
    """Lines of a text file."""

    path: str = Field(description="The real path, links followed, relative to the project's folder.")
    first_line: int = Field(description="The number of the first of `lines`, from 1.")
    lines: list[str] = Field(
        description="Without their ends. Of a line beyond 2,000 characters the beginning, and ` [truncated]`."
    )
    next_line: int | None = Field(description="The `line` of the next request; null at the end.")
    total_lines: int | None = Field(description="Null when the file is too large to be counted.")
    size: int
    modified_at: Time | None
    encoding: str = Field(description="The encoding in the file; `lines` are always Unicode.")
    line_ending: Literal["lf", "crlf", "mixed"] = Field(description="Of the lines that are shown.")
    digest: str | None = Field(
        description="XXH3 in 128 bits of the whole file, in hexadecimal; null when it is too large."
    )


class FileHit(AnswerModel):
    """A file or folder whose path matches."""

    path: str = Field(description=_PATH)
    name: str = Field(description="For people: bytes that are not UTF-8 are replaced.")
    kind: Literal["file", "folder"]
    score: int = Field(description="A higher score is better; comparable within one answer.")
    positions: list[int] = Field(
        description="The indexes of the characters of `path` that match, in code points from 0. Empty for a "
        "`~bytes:` path."
    )
    modified_at: Time | None


class FileHits(PageOf[FileHit]):
    """The best matches, the best first, on one page."""

    searched: int = Field(description="How many files were searched.")
    complete: bool = Field(description="False when there are more files than are searched.")
