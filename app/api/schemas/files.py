"""The files of a project on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.api.schemas.model import AnswerModel, PageOf, Time
from app.workspace.file_status import EntryStatus

_PATH = (
    "Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control "
    "characters, is `~bytes:` and its bytes in URL-safe base64."
)
EntryKind = Literal["file", "folder", "link", "other"]


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
    git: EntryStatus | None = Field(
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


class FilePosition(AnswerModel):
    """A place in a text."""

    line: int = Field(description="From 1.")
    column: int = Field(description="From 1, in code points.")


class FileProblem(AnswerModel):
    """What a language server reports for a part of a file."""

    severity: Literal["error", "warning", "information", "hint"]
    start: FilePosition
    end: FilePosition = Field(description="Behind the last character.")
    message: str = Field(description="At most 2,000 characters, without control characters.")
    source: str | None = Field(description="Which program reports it.")
    code: str | None = Field(description="Its rule or number there.")


class FileProblems(PageOf[FileProblem]):
    """What is wrong in a file. `known`: the answer is for the present content. `checking`: the server has not
    answered for it yet; ask again. `no_server`: no language server is known for the file. `not_installed`:
    the server is not there. `not_trusted`: nothing of the project runs. `unavailable`: there is no answer,
    for `reason`. Only with `known` does an empty list mean that nothing is wrong."""

    path: str = Field(description="The real path, links followed, relative to the project's folder.")
    state: Literal["known", "checking", "no_server", "not_installed", "not_trusted", "unavailable"]
    reason: str | None = Field(
        description="Why the problems are not known, in words. With `known`: what the server complains of, "
        "such as missing dependencies, else null."
    )
    server: str | None = Field(description="The name of the server that answered.")


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


class SymbolHit(AnswerModel):
    """A declaration whose name matches."""

    name: str = Field(description="At most 300 characters, without control and bidirectional characters.")
    kind: str = Field(
        description="What it is: `class`, `function`, `method`, `interface`, `struct`, `enum`, `type`, "
        "`module`, `constant` and the like."
    )
    container: str | None = Field(description="The name of the declaration around it.")
    path: str = Field(description=_PATH)
    line: int = Field(description="The line of the name, from 1.")
    score: int = Field(description="A higher score is better; comparable within one answer.")
    positions: list[int] = Field(
        description="The indexes of the characters of `name` that match, in code points from 0."
    )


class SymbolHits(PageOf[SymbolHit]):
    """The best matches, the best first, on one page."""

    state: Literal["ok", "pending", "none", "unavailable"] = Field(
        description="`pending`: files are still being read, and the items are what is known so far: ask "
        "again. `none`: no file is in a language whose declarations are known. `unavailable`: files cannot "
        "be read, for `reason`."
    )
    reason: str | None
    searched: int = Field(description="How many source files were searched.")
    complete: bool = Field(
        description="False with `pending`, and when files are left out: too many or too large ones, or those "
        "that cannot be parsed."
    )
