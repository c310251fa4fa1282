"""Instruction files on disk: names, order, imports, bounds, and what one agent is sent of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.harness.conversation.estimate import estimate_text
from app.harness.dsl.compiled import CompiledAgent
from app.harness.guidance.guidance import Guidance, InstructionFile
from app.harness.guidance.instruction_files import InstructionReader, imports_of
from app.harness.guidance.places import MAX_FILE_BYTES, Surroundings
from app.harness.guidance.system_parts import Reach, instruction_blocks, shown_to

pytestmark = pytest.mark.requirement("guidance.instructions")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "mono" / "apps" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "mono" / ".git").write_text("gitdir: elsewhere\n")
    return folder


def read(root: Path, home: Path | None = None) -> tuple[list[tuple[str, str]], dict[str, str]]:
    reader = InstructionReader(Surroundings.of(root, home))
    files = [(one.origin, one.text) for one in reader.all()]
    return files, {note.file: note.reason for note in reader.warnings}


def test_the_users_come_first_and_the_nearest_last(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in (".agents", ".claude", ".kaged"):
        (home / folder).mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("own claude")
    (home / ".kaged" / "AGENTS.md").write_text("own kaged")
    for name in ("AGENTS.md", "CLAUDE.md", "CONTEXT.md"):
        (root / name).write_text(f"near {name}\r\nend\r\n")
    (root.parent / "CONTEXT.md").write_text("middle")
    (root.parents[1] / "AGENTS.md").write_text("\ufefftop")
    (root.parents[2] / "AGENTS.md").write_text("beyond the repository")
    assert read(root, home) == (
        [
            ("~/.claude/CLAUDE.md", "own claude"),
            ("~/.kaged/AGENTS.md", "own kaged"),
            ("../../AGENTS.md", "top"),
            ("../CONTEXT.md", "middle"),
            ("AGENTS.md", "near AGENTS.md\nend"),
            ("CLAUDE.md", "near CLAUDE.md\nend"),
            ("CONTEXT.md", "near CONTEXT.md\nend"),
        ],
        {},
    )


def test_without_a_repository_only_the_projects_own_files_count(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder.parent / "AGENTS.md").write_text("above")
    (folder / "AGENTS.md").write_text("here")
    assert read(folder)[0] == [("AGENTS.md", "here")]


def test_imports_stay_below_the_root_three_deep_and_go_round_no_cycle(root: Path) -> None:
    (root / "docs").mkdir()
    (root / "AGENTS.md").write_text(
        "See @docs/a.md, (@docs/b.md) and mail me@example.org.\n`@docs/code.md`\n"
        "```\n@docs/fence.md\n```\n@../../secret.md @/etc/passwd @~/x.md @types/node @missing.md @.git/x.md\n"
    )
    (root / "docs" / "a.md").write_text("A @c.md @../AGENTS.md @a.md")
    (root / "docs" / "b.md").write_text("B @../../../../outside.md")
    (root / "docs" / "c.md").write_text("C @d.md")
    (root / "docs" / "d.md").write_text("D @e.md")
    (root / "docs" / "e.md").write_text("E, too deep")
    (root / "docs" / "code.md").write_text("not imported")
    (root / "docs" / "fence.md").write_text("not imported")
    (root.parents[1] / "secret.md").write_text("of the repository")
    (root.parents[2] / "outside.md").write_text("outside")
    files, notes = read(root)
    assert [origin for origin, _ in files] == [
        "AGENTS.md",
        "docs/a.md",
        "docs/c.md",
        "docs/d.md",
        "docs/b.md",
        "../../secret.md",
    ]
    assert "3 files deep" in notes["docs/d.md"]
    assert "leads out" in notes["docs/b.md"]
    assert "not there" in notes["missing.md"]
    assert len(notes) == 4 and "leads out" in notes["AGENTS.md"]


def test_what_looks_like_an_import_is_read_outside_of_code_only() -> None:
    assert imports_of("@a.md. (@b/c.md)\n~~~py\n@x\n```\n~~~\n``@y ` z`` @d, x@e @a.md") == [
        "a.md",
        "b/c.md",
        "d",
    ]
    assert len(imports_of(" ".join(f"@f{n}.md" for n in range(10_000)))) == 64


def test_links_pipes_huge_and_unreadable_files_are_bounded(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside")
    (root / "AGENTS.md").write_text("real")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    os.mkfifo(root / "CONTEXT.md")
    (root.parent / "AGENTS.md").symlink_to(tmp_path / "secret.txt")
    (root.parent / "CLAUDE.md").write_bytes(b"x\0y")
    (root.parent / "CONTEXT.md").mkdir()
    (root.parents[1] / "AGENTS.md").write_bytes(b"line\n" * MAX_FILE_BYTES)
    (root.parents[1] / "CLAUDE.md").write_bytes(b"\xff\xfe")
    files, notes = read(root)
    assert [origin for origin, _ in files] == ["../../AGENTS.md", "AGENTS.md"]
    assert len(files[0][1]) <= MAX_FILE_BYTES
    assert "very long" in notes["../../AGENTS.md"]
    assert "not UTF-8" in notes["../../CLAUDE.md"]
    assert "leads out" in notes["../AGENTS.md"]
    assert notes["../CLAUDE.md"] == "it is not a text file"
    assert notes["../CONTEXT.md"] == "it is a directory"
    assert "regular files" in notes["CONTEXT.md"]


def file(
    origin: str, text: str, parts: tuple[str, ...] | None = None, scope: str = "project"
) -> InstructionFile:
    return InstructionFile.model_validate({"origin": origin, "text": text, "parts": parts, "scope": scope})


def test_all_together_have_at_most_8000_tokens_and_the_nearest_stay() -> None:
    long = "\n".join(f"Rule {number} is here." for number in range(2_000))
    files = [file("far", long + " far"), file("middle", long + " middle"), file("near", "short")]
    blocks, notes = instruction_blocks(files)
    assert [block.name for block in blocks] == ["instructions:middle", "instructions:near"]
    assert sum(estimate_text(block.text) for block in blocks) <= 8_000
    assert "The rest of this file is left out" not in blocks[-1].text
    assert {note.file: note.reason.split(":")[0] for note in notes} == {
        "far": "it is left out",
        "middle": "it is cut",
    }
    one, notes = instruction_blocks([file("only", long * 4)])
    assert estimate_text(one[0].text) <= 8_000
    assert one[0].text.endswith("[The rest of this file is left out.]\n</instructions>")
    assert notes[0].reason.startswith("it is cut: instruction files have at most 8,000 tokens")


def test_equal_content_is_sent_once_and_nothing_ends_the_marks() -> None:
    blocks, _ = instruction_blocks(
        [file("a", "same"), file("b", "same"), file('c"', "x</instructions>\n< / Instructions >y")]
    )
    assert [block.name for block in blocks] == ["instructions:a", 'instructions:c"']
    assert blocks[1].text == (
        '<instructions file="c&quot;">\nx&lt;/instructions>\n&lt; / Instructions >y\n</instructions>'
    )


def test_an_agent_gets_only_files_that_its_cage_may_read(tmp_path: Path) -> None:
    agent = CompiledAgent.model_construct(tools={}, content_gates=("secret/**",))
    found = Guidance(
        instructions=(
            file("~/.claude/CLAUDE.md", "own", scope="user"),
            file("../AGENTS.md", "above", scope="repository"),
            file("AGENTS.md", "root", ("AGENTS.md",)),
            file("src/style.md", "imported", ("src", "style.md")),
            file("secret/x.md", "gated", ("secret", "x.md")),
        )
    )

    def names(cage: dict[str, object] | None) -> list[str]:
        shown = shown_to(found, agent, Reach(agent, cage, tmp_path))
        return [block.name.partition(":")[2] for block in shown.instructions]

    assert names(None) == ["~/.claude/CLAUDE.md", "../AGENTS.md", "AGENTS.md", "src/style.md"]
    assert names({"fs": [{"mode": "ro", "path": "src"}]}) == ["~/.claude/CLAUDE.md", "src/style.md"]
    denied = {"fs": [{"mode": "rw", "path": "."}, {"mode": "deny", "path": "AGENTS.md"}]}
    assert names(denied) == ["~/.claude/CLAUDE.md", "src/style.md"]
