"""What the output of a command tells of its cage's refusals."""

from __future__ import annotations

import pytest

from app.tools.shell.refusals import refusals

pytestmark = pytest.mark.requirement("in_use.root")
CAGE = {"fs": [{"mode": "rw", "path": "."}, {"mode": "ro", "path": "docs"}]}


def notes(desk, output: str, folder: str = ".") -> list[str]:
    context = desk.as_agent("primary", CAGE).context
    return refusals(output, folder, context, {"PATH": "/usr/bin:/bin"}, lambda _, places: list(places))


@pytest.mark.parametrize(
    ("output", "folder", "line"),
    [
        ("touch: cannot touch 'docs/a b': Read-only file system", ".", "path: docs/a b"),
        ("sh: 1: cannot create AGENTS.md: Read-only file system", ".", "path: AGENTS.md"),
        ("bash: ../AGENTS.md: Read-only file system", "sub", "path: AGENTS.md"),
        ("OSError: [Errno 30] Read-only file system: 'a/.npmrc'", ".", "path: a/.npmrc"),
        ("npm error EROFS: read-only file system, open '{root}/.npmrc'", ".", "path: .npmrc"),
        ("error: could not write {root}/docs/x: Read-only file system (os error 30)", ".", "path: docs/x"),
    ],
)
def test_the_place_that_was_not_written_to_is_found(desk, output: str, folder: str, line: str) -> None:
    (note,) = notes(desk, f"first\n{output.replace('{root}', str(desk.root))}\nlast\n", folder)
    assert f"`fs: [{{ mode: rw, {line} }}]`" in note


def test_hard_names_have_no_line(desk) -> None:
    (note,) = notes(desk, "touch: cannot touch '.git/x': Read-only file system")
    assert "never written" in note and "fs:" not in note


@pytest.mark.parametrize(
    "output",
    [
        "Read-only file system",
        ": Read-only file system",
        "touch: cannot touch '/usr/x': Read-only file system",
        "touch: cannot touch 'src/x': Read-only file system",
        "sh: 1: nosuchprogram: not found",
        ": not found",
        "'" * 900 + ": Read-only file system",
    ],
)
def test_what_no_line_can_help_has_no_note(desk, output: str) -> None:
    assert notes(desk, output) == []


def test_at_most_a_few_notes_are_made_of_a_long_output(desk) -> None:
    piece = "x: cannot touch 'docs/" + "'" * 900 + ": Read-only file system\n"
    assert len(notes(desk, piece * 4_000 + "a: not found\n" * 4_000)) <= 5
