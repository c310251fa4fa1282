"""Links between the documents lead somewhere, and the index of tasks covers the pages."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(
    [*DOCS.glob("*.md"), *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))]
)
FOR_OTHERS = {
    "README.md",
    "architecture.md",
    "dependencies.md",
    "delegation.md",
    "interactions.md",
    "issues.md",
}
"""Pages that answer no task by themselves, or whose tasks are answered by a page with commands."""
_LINK = re.compile(r"\]\(([^()\s]+)\)")


def without_blocks(text: str) -> str:
    """Return a page without what stands between fences."""
    kept, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            kept.append(line)
    return "\n".join(kept)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    seen: Counter[str] = Counter()
    found = set()
    for line in without_blocks(page.read_text()).splitlines():
        marks, space, title = line.partition(" ")
        if space and marks and not marks.strip("#"):
            name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()).replace(
                " ", "-"
            )
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return frozenset(found)


def broken(page: Path) -> list[str]:
    """Return the links of a page within the repository that lead nowhere."""
    found = []
    for target in _LINK.findall(without_blocks(page.read_text())):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            found.append(target)
    return found


@pytest.mark.requirement("documents.links")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.requirement("documents.links")
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n## Twice\n## Twice\n[x](#a-b-c) [x](#twice-1) [x](#twice-2) [x](gone.md) [x](https://a.b/c)\n"
    )
    assert broken(page) == ["#twice-2", "gone.md"]


@pytest.mark.requirement("documents.tasks")
def test_the_index_of_tasks_links_to_a_section_for_each_and_covers_the_pages() -> None:
    index = (DOCS / "README.md").read_text()
    tasks = re.findall(r"^\| (?!Task |---)(.+?) \| (.+?) \|$", index, re.MULTILINE)
    assert len(tasks) >= 40 and len({task for task, _ in tasks}) == len(tasks)
    assert [task for task, answer in tasks if not _LINK.search(answer)] == []
    linked = {target.partition("#")[0] for _, answer in tasks for target in _LINK.findall(answer)}
    assert {page.name for page in DOCS.glob("*.md")} - FOR_OTHERS == linked
    assert "(docs/README.md)" in (ROOT / "README.md").read_text()
