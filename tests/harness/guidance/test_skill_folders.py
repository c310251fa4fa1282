"""Skills on disk: where they are looked for, which one wins, what public ones look like, what is bad."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.harness.guidance.guidance import Skill
from app.harness.guidance.places import MAX_FILE_BYTES, Surroundings
from app.harness.guidance.skill_folders import SkillFinder

pytestmark = pytest.mark.requirement("guidance.skills")

PUBLIC = """\
---
name: pdf
description: >-
  Extracts text and tables from PDF files, fills forms: and
  merges documents.
license: Proprietary. LICENSE.txt has complete terms
allowed-tools: Read, Bash(python:*)
metadata:
  version: "1.0"
  tags: [documents, "forms"]
---

# PDF

Read references/forms.md.
"""


def skill(folder: Path, name: str, description: str = "Does things.", body: str = "Body.") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return folder


def found(finder: SkillFinder) -> dict[str, Skill]:
    return {one.name: one for one in finder.all()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "mono" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "mono" / ".git").mkdir()
    return folder


def finder(root: Path, home: Path | None, *paths: str) -> SkillFinder:
    return SkillFinder(Surroundings.of(root, home), paths)


def test_the_first_of_a_name_wins_from_the_project_upward_to_the_user_and_then_the_configured(
    root: Path, home: Path
) -> None:
    places = [
        *(root / name / "skills" for name in (".agents", ".claude", ".kaged")),
        *(root.parent / name / "skills" for name in (".agents", ".claude", ".kaged")),
        *(home / name / "skills" for name in (".agents", ".claude", ".kaged")),
        root / "tools" / "skills",
    ]
    for number, place in enumerate(places):
        for name in range(number, len(places)):
            skill(place / f"s{name}", f"s{name}", f"From {number}.")
    (root / "tools" / "alone").mkdir()
    skill(root / "tools" / "alone" / "one", "alone")
    looking = finder(root, home, "tools/skills", "tools/alone/one")
    skills = looking.all()
    assert [one.name for one in skills] == [*(f"s{number}" for number in range(10)), "alone"]
    assert {one.description for one in skills if one.name != "alone"} == {"From 0."}
    assert [note.reason for note in looking.warnings if "s9/" in note.file] == [
        "another skill is called 's9': .agents/skills/s9/SKILL.md is used"
    ] * 9
    assert not [note for note in looking.warnings if "/s0/" in note.file]


def test_each_place_counts_and_is_known_by_its_path(root: Path, home: Path) -> None:
    skill(root / ".claude" / "skills" / "near", "near")
    skill(root.parent / ".agents" / "skills" / "above", "above")
    skill(home / ".kaged" / "skills" / "own", "own")
    skill(root / "more" / "set", "set")
    (root.parent.parent / ".claude" / "skills").mkdir(parents=True)
    skill(root.parent.parent / ".claude" / "skills" / "beyond", "beyond")
    looking = finder(root, home, "more")
    known = found(looking)
    assert {name: (one.origin, one.scope, one.parts) for name, one in known.items()} == {
        "near": (".claude/skills/near/SKILL.md", "project", (".claude", "skills", "near")),
        "above": ("../.agents/skills/above/SKILL.md", "repository", None),
        "own": ("~/.kaged/skills/own/SKILL.md", "user", None),
        "set": ("more/set/SKILL.md", "project", ("more", "set")),
    }
    assert looking.warnings == []


@pytest.mark.parametrize("before", ["", "\ufeff"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_public_skill_loads_unchanged(root: Path, before: str, ends: str) -> None:
    folder = root / ".claude" / "skills" / "pdf"
    (folder / "references").mkdir(parents=True)
    (folder / "scripts").mkdir()
    (folder / "SKILL.md").write_bytes((before + PUBLIC).replace("\n", ends).encode())
    (folder / "references" / "forms.md").write_text("Forms.")
    looking = finder(root, None)
    assert found(looking)["pdf"].description == (
        "Extracts text and tables from PDF files, fills forms: and merges documents."
    )
    assert looking.warnings == []


@pytest.mark.parametrize(
    ("front", "description"),
    [
        ("description: Use when: a user says so", "Use when: a user says so"),
        ("description: |\n  One.\n  Two.", "One. Two."),
        ('description: "Quoted: yes"', "Quoted: yes"),
        ("description: 'It''s'", "It's"),
        ("description: Runs\n  over lines", "Runs over lines"),
        ("description: Tag !x & *y\nextra: !tag 1", "Tag !x & *y"),
        ("description: [not, text]", None),
        ("description:", None),
        ("other: 1", None),
        (f"description: {'x' * 2_000}", "x" * 1_023 + "\u2026"),
        ("description: a\x1b[31mb", "a [31mb"),
    ],
)
def test_descriptions_are_read_as_they_are_written(root: Path, front: str, description: str | None) -> None:
    folder = root / ".agents" / "skills" / "x"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: x\n{front}\n---\nBody\n")
    looking = finder(root, None)
    known = found(looking)
    assert (known["x"].description if known else None) == description
    if description is None:
        assert [note.reason for note in looking.warnings] == ["it has no `description`"]


def test_bad_skills_warn_with_file_and_reason_and_stop_nothing(root: Path, tmp_path: Path) -> None:
    skills = root / ".claude" / "skills"
    skill(skills / "good", "good")
    skill(skills / "nameless", "")
    skill(skills / "quoted", 'a"b<c')
    for name, content in {
        "plain": b"# No front matter\n",
        "binary": b"---\nname: b\0\n---\n",
        "latin": "---\nname: l\ndescription: \xe4\n---\n".encode("latin-1"),
        "open": b"---\nname: o\ndescription: never closed\n",
    }.items():
        (skills / name).mkdir()
        (skills / name / "SKILL.md").write_bytes(content)
    (skills / "huge").mkdir()
    (skills / "huge" / "SKILL.md").write_bytes(
        b"---\nname: huge\ndescription: Long.\n---\n" + b"x" * (MAX_FILE_BYTES * 2)
    )
    (skills / "pipe").mkdir()
    os.mkfifo(skills / "pipe" / "SKILL.md")
    (skills / "folder" / "SKILL.md").mkdir(parents=True)
    (skills / "lost").mkdir()
    (skills / "lost" / "SKILL.md").symlink_to("nowhere")
    (tmp_path / "outside").mkdir()
    skill(tmp_path / "outside" / "thief", "thief")
    (skills / "thief").symlink_to(tmp_path / "outside" / "thief")
    (skills / "leak").mkdir()
    (skills / "leak" / "SKILL.md").symlink_to(tmp_path / "outside" / "thief" / "SKILL.md")
    (skills / "loop").symlink_to("loop")
    (skills / "README.md").write_text("Not a skill.")
    looking = finder(root, None, "missing", "../up")
    assert set(found(looking)) == {"good", "nameless", "huge"}
    reasons = {note.file.removeprefix(".claude/skills/"): note.reason for note in looking.warnings}
    assert "known as 'nameless'" in reasons["nameless/SKILL.md"]
    assert "without quotes" in reasons["quoted/SKILL.md"]
    assert "front matter" in reasons["plain/SKILL.md"] and "front matter" in reasons["open/SKILL.md"]
    assert reasons["binary/SKILL.md"] == "it is not a text file"
    assert "not UTF-8" in reasons["latin/SKILL.md"]
    assert "only its beginning" in reasons["huge/SKILL.md"]
    assert "regular files" in reasons["pipe/SKILL.md"]
    assert reasons["folder/SKILL.md"] == "it is a directory"
    assert "leads nowhere" in reasons["lost/SKILL.md"]
    assert "leads out" in reasons["leak/SKILL.md"]
    assert {"thief", "loop", "missing", "../up"} <= set(reasons)


def test_links_within_the_repository_and_of_the_user_are_followed_and_known_once(
    root: Path, home: Path, tmp_path: Path
) -> None:
    skill(root / ".agents" / "skills" / "one", "one")
    (root / ".claude" / "skills").mkdir(parents=True)
    (root / ".claude" / "skills" / "one").symlink_to("../../.agents/skills/one")
    skill(tmp_path / "dotfiles" / "two", "two")
    (home / ".claude" / "skills").mkdir(parents=True)
    (home / ".claude" / "skills" / "two").symlink_to(tmp_path / "dotfiles" / "two")
    looking = finder(root, home)
    assert {name: one.folder for name, one in found(looking).items()} == {
        "one": str(root / ".agents" / "skills" / "one"),
        "two": str(tmp_path / "dotfiles" / "two"),
    }
    assert looking.warnings == []


def test_a_users_skill_that_lies_in_the_project_is_bound_by_cages(root: Path, home: Path) -> None:
    skill(root / "secret" / "one", "one")
    (home / ".claude" / "skills").mkdir(parents=True)
    (home / ".claude" / "skills" / "one").symlink_to(root / "secret" / "one")
    assert found(finder(root, home))["one"].parts == ("secret", "one")


def test_a_repository_above_that_belongs_to_another_is_not_looked_into(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill(root.parent / ".claude" / "skills" / "above", "above")
    assert set(found(finder(root, None))) == {"above"}
    owner = Path.stat

    def stat(self: Path, **options: object) -> os.stat_result:
        status = owner(self, **options)  # type: ignore[arg-type]
        if self != root.parent:
            return status
        values = list(status)
        values[4] = status.st_uid + 4_242
        return os.stat_result(values)

    monkeypatch.setattr(Path, "stat", stat)
    assert found(finder(root, None)) == {}


def test_a_folder_with_files_of_the_daemon_is_no_skill(root: Path, home: Path) -> None:
    folder = skill(home / ".claude" / "skills" / "wide", "wide")
    (folder / "data").mkdir()
    looking = SkillFinder(Surroundings.of(root, home, (folder / "data",)))
    assert looking.all() == []
    assert [note.reason for note in looking.warnings] == ["its folder has files of the daemon in it"]
