"""Questions about all of a monorepo are answered whole, or refused: a server knows one package by itself."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk, of_agent
from tests.tools.code.monorepos import ALL, NPM_WORKSPACES, TWO_GO_MODULES, TWO_PYPROJECTS, Monorepo


@asynccontextmanager
async def opened(base: Path, repo: Monorepo, server: str | None = None) -> AsyncIterator[CodeDesk]:
    declared = Declared(language=repo.language, command=server_command(server or repo.server))
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        put(desk, repo)
        yield desk


def put(desk: CodeDesk, repo: Monorepo) -> None:
    desk.put_all(repo.files)
    for link, target in (repo.links or {}).items():
        path = desk.root / link
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.symlink_to(target)


def line_of_use(repo: Monorepo) -> int:
    lines = repo.files[repo.used[1]].splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"{repo.name}(" in line)


def renamed(desk: CodeDesk, repo: Monorepo) -> bool:
    """Tell whether all is renamed; that a part of it is, is never so."""
    done = {path: desk.text(path) == repo.files[path].replace(repo.name, repo.other) for path in repo.used}
    assert len(set(done.values())) == 1, done
    # Where no cage forbids it, cargo writes its lock file anew.
    others = {path for path in set(repo.files) - set(repo.used) if not path.endswith("Cargo.lock")}
    assert {path: desk.text(path) for path in others} == {path: repo.files[path] for path in others}
    return done[repo.used[0]]


async def renames_whole(desk: CodeDesk, repo: Monorepo, *, at_use: bool = False) -> None:
    path, line = (repo.used[1], line_of_use(repo)) if at_use else repo.declared
    data = await desk.lsp("rename", path=path, line=line, symbol=repo.name, new_name=repo.other)
    assert data["files_changed"] == 2 and renamed(desk, repo)


@pytest.mark.requirement("language_servers.monorepos.references", "language_servers.monorepos.rename")
@pytest.mark.parametrize("name", ALL)
async def test_references_and_renames_reach_the_package_beside(tmp_path: Path, name: str) -> None:
    """Cold at the declaration, then warm, then at the use; then the rename on servers that are warm."""
    repo = ALL[name]
    async with opened(tmp_path, repo) as desk:
        path, line = repo.declared
        for _ in range(2):
            found = await desk.lsp("references", path=path, line=line, symbol=repo.name)
            assert {one["path"] for one in found["references"]} == {f"./{one}" for one in repo.used}
        at_use = {"path": repo.used[1], "line": line_of_use(repo), "symbol": repo.name}
        every = await desk.lsp("references", **at_use, include_declaration=True)
        assert every["count"] == found["count"] + 1
        beside = {one["path"] for one in found["not_looked_at"]}
        assert any(path.endswith("crane") for path in beside)  # it has a name of its own
        await renames_whole(desk, repo)


@pytest.mark.requirement("language_servers.monorepos.rename")
@pytest.mark.parametrize("name", [name for name in ALL if name != "two-crates"])
async def test_the_first_question_may_be_the_rename_at_a_use(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path, ALL[name]) as desk:
        await renames_whole(desk, ALL[name], at_use=True)


@pytest.mark.requirement("language_servers.monorepos.rename_file")
async def test_a_file_that_moves_takes_imports_of_other_packages_along(tmp_path: Path) -> None:
    repo = ALL["two-tsconfigs"]
    async with opened(tmp_path, repo) as desk:
        data = await desk.lsp("rename_file", path="scale/src/index.ts", new_name="scale/src/scales.ts")
        assert {one["path"] for one in data["changes"]} == {"./scale/src/index.ts", "./truck/src/index.ts"}
        assert '"../../scale/src/scales"' in desk.text("truck/src/index.ts")


GO_NESTED = {
    "go.mod": "module example.org/depot\n\ngo 1.22\n\nrequire example.org/depot/scale v0.0.0\n\n"
    "replace example.org/depot/scale => ./scale\n",
    "depot.go": 'package depot\n\nimport "example.org/depot/scale"\n\n// Weigh is said.\n'
    "var Full = scale.Weigh(2)\n",
    "scale/go.mod": TWO_GO_MODULES.files["scale/go.mod"],
    "scale/scale.go": TWO_GO_MODULES.files["scale/scale.go"],
}
"""The server that is started at the root loads the module below apart from the root's own."""


@pytest.mark.requirement("language_servers.monorepos.refused")
async def test_a_rename_that_would_be_half_done_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    asked = {"path": "scale/scale.go", "line": 3, "symbol": "Weigh", "new_name": "Heft"}
    async with opened(tmp_path, TWO_GO_MODULES) as desk:
        shutil.rmtree(desk.root)
        desk.put_all(GO_NESTED)
        refused = await desk.refused("rename", **asked)
        assert refused.code == "rename_incomplete" and "./depot.go:6" in refused.error_text
        assert refused.detail["not_looked_at"] == ["./depot.go:6"]  # not the comment in line 5
        assert desk.text("scale/scale.go") == GO_NESTED["scale/scale.go"]
        for wrong in (True, "0" * 16):
            assert (await desk.refused("rename", **asked, confirm=wrong)).code == "rename_incomplete"
        desk.put("depot.go", "\n" + GO_NESTED["depot.go"])  # the list is another one now
        assert (await desk.refused("rename", **asked, confirm=refused.detail["confirm"])).detail["confirm"]
        desk.put("depot.go", GO_NESTED["depot.go"])
        done = await desk.lsp("rename", **asked, confirm=refused.detail["confirm"])
        assert done["files_changed"] == 1 and done["mentions"] == 1
        assert desk.text("depot.go") == GO_NESTED["depot.go"]


@pytest.mark.requirement("language_servers.monorepos.counted")
async def test_comments_strings_and_other_languages_are_counted_and_stop_nothing(tmp_path: Path) -> None:
    asked = {"path": "scale/scale.go", "line": 3, "symbol": "Weigh", "new_name": "Heft"}
    async with opened(tmp_path, TWO_GO_MODULES) as desk:
        shutil.rmtree(desk.root)
        said = (
            'package depot\n\nimport _ "example.org/depot/scale"\n\n// Weigh is said.\nvar Full = "Weigh"\n'
        )
        desk.put_all(GO_NESTED | {"depot.go": said, "use.py": "Weigh = 1\n", "notes.yaml": "Weigh: 1\n"})
        done = await desk.lsp("rename", **asked)
        assert done["mentions"] == 3 and done["not_looked_at"][0]["files"] == 1
        assert desk.text("use.py") == "Weigh = 1\n" and desk.text("depot.go") == said


@pytest.mark.requirement("language_servers.monorepos.cage")
@pytest.mark.parametrize("outside", ["mark", "none"])
async def test_a_caged_agent_renames_no_half_and_hears_of_nothing_outside(
    tmp_path: Path, outside: str
) -> None:
    """The package beside uses the name, and the agent may not read it."""
    repo = TWO_PYPROJECTS
    async with opened(tmp_path, repo) as desk:
        agent = of_agent(desk, ("rw", "scale"), outside=outside)
        path, line = repo.declared
        refused = await agent.refused("rename", path=path, line=line, symbol=repo.name, new_name="heft")
        assert refused.code == "rename_scope_exceeds_cage" and not renamed(desk, repo)
        assert ("truck/load.py" in refused.error_text) is (outside == "mark")
        found = await agent.lsp("references", path=path, line=line, symbol=repo.name)
        named = {one["path"] for one in [*found["references"], *found.get("not_looked_at", ())]}
        assert ("./truck/load.py" in named) is (outside == "mark") and "./crane" not in named
        desk.put("truck/load.py", "# weigh\n")  # what only holds the word stops nobody
        assert (await agent.lsp("rename", path=path, line=line, symbol=repo.name, new_name="heft"))["changes"]


@pytest.mark.requirement("language_servers.monorepos.rename")
@pytest.mark.parametrize("server", ["typescript-7"])
async def test_typescript_7_knows_the_workspaces_beside(tmp_path: Path, server: str) -> None:
    async with opened(tmp_path, NPM_WORKSPACES, server) as desk:
        await renames_whole(desk, NPM_WORKSPACES)
