"""Protected names in two classes, by their exact path or by name, with a budget for each; all of them are
watched while anything runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.egress import Outside
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.new_names import Settled
from app.bridges.sandbox.tier import Tier
from app.cages.cage import Mount
from app.workspace.folder_rules import ProjectRules
from tests.driver.caged_machine import LANDLOCK, until
from tests.driver.caging import FULL, Caged, cage_of
from tests.driver.machine import need_tier

KEY = "test"


class Ground:
    """A project, cages, and what the audit is told of them."""

    def __init__(self, children: ChildProcesses, folder: Path, made: AsyncExitStack) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.cages: Cages
        self._children, self._made = children, made
        self._quarantine = folder / "quarantine"

    def put(self, path: str, text: str = "mine\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    async def caged(self, *more: Mount, tier: Tier = FULL, **fields: Any) -> Caged:
        need_tier(tier)

        def record(name: str, _: str, data: dict[str, Any]) -> None:
            self.told.append((name, data))

        self.cages = Cages(
            self._children,
            tier,
            outside=Outside(record=record),
            quarantine=self._quarantine,
            rules_of=ProjectRules,
        )
        self._made.push_async_callback(self.cages.aclose)
        cage = cage_of(self.root, *more, **fields)
        made = Caged(self.cages, await self.cages.children(KEY, cage, self.root), self.root)
        await made.sh("true")
        await self.cages.settle(KEY)
        await asyncio.sleep(0.05)  # time stamps of files are some milliseconds coarse
        return made

    async def settled(self) -> Settled:
        return await self.cages.settle(KEY)


@pytest.fixture
async def ground(children: ChildProcesses, tmp_path: Path) -> AsyncIterator[Ground]:
    async with AsyncExitStack() as made:
        yield Ground(children, tmp_path, made)


SOFT = (
    *("AGENTS.md", "CLAUDE.md", ".cargo/config.toml", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs"),
    *(
        ".pre-commit-config.yaml",
        ".github/workflows/ci.yml",
        ".gitattributes",
        ".mise.toml",
        ".tool-versions",
    ),
)


@pytest.mark.requirement("security.declared_files")
async def test_what_is_there_under_a_soft_name_is_read_only(ground: Ground) -> None:
    for path in (*SOFT, "sub/AGENTS.md"):
        ground.put(path)
    cage = await ground.caged()
    for path in (*SOFT, "sub/AGENTS.md"):
        done = await cage.sh(f"cat {path}; echo theirs >> {path} || rm -f {path} || mv {path} {path}.old")
        assert (done.stdout, done.exit_code != 0) == (b"mine\n", True), path
        assert (ground.root / path).read_text() == "mine\n"
    assert (await cage.sh("touch other .github/other .cargo/other; mv .github x")).exit_code != 0


@pytest.mark.requirement("security.declared_files")
async def test_a_new_soft_name_stays_and_is_reported_once(ground: Ground) -> None:
    cage = await ground.caged()
    done = await cage.sh(
        "mkdir -p .github/workflows; for f in AGENTS.md .github/workflows/a; do echo x > $f; done"
    )
    assert done.exit_code == 0
    settled = await ground.settled()
    made = [str(ground.root / name) for name in ("AGENTS.md", ".github/workflows")]
    assert sorted(settled.made) == sorted(made) and settled.taken_away == ()
    assert (await cage.sh("echo y >> AGENTS.md")).exit_code == 0
    assert (await ground.settled()).made == ()
    assert (ground.root / "AGENTS.md").read_text() == "x\ny\n"
    assert [data["path"] for name, data in ground.told if name == "cage.name_made"] == list(settled.made)


@pytest.mark.requirement("security.declared_files")
async def test_a_soft_name_is_free_where_the_cage_names_that_path(ground: Ground) -> None:
    ground.put("AGENTS.md")
    free = [Mount(ground.root / name, "rw") for name in ("AGENTS.md", ".npmrc", ".github/workflows")]
    (ground.root / ".github/workflows").mkdir(parents=True)
    cage = await ground.caged(*free)
    script = "echo x >> AGENTS.md && echo x > .npmrc && echo x > .github/workflows/ci.yml"
    assert (await cage.sh(script)).exit_code == 0
    assert (await ground.settled()).made == ()


@pytest.mark.requirement("security.declared_files")
async def test_soft_names_count_in_the_projects_own_tree_only(ground: Ground) -> None:
    ground.put(".gitignore", "/build-output/\n")
    ground.put("environment/pyvenv.cfg", "home = /usr\n")
    others = ("node_modules/a", "vendor/b", ".venv/c", "environment/lib", "build-output/d")
    for folder in others:
        ground.put(f"{folder}/AGENTS.md")
    cage = await ground.caged()
    for folder in others:
        script = f"echo x >> {folder}/AGENTS.md && echo x > {folder}/.npmrc"
        assert (await cage.sh(script)).exit_code == 0, folder
    assert (await ground.settled()).made == ()


@pytest.mark.requirement("security.declared_files", "security.protected_names")
async def test_each_class_has_a_budget_of_its_own_and_what_is_beyond_is_reported(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.protected.MAX_NAMES", 20)
    monkeypatch.setattr("app.bridges.sandbox.protected.MAX_SOFT_NAMES", 10)
    for number in range(30):
        ground.put(f"many/{number}/AGENTS.md")
        ground.put(f"many/{number}/node_modules/x/.vscode/a")
    ground.put("deep/a/b/.vscode/tasks.json")
    cage = await ground.caged()
    assert (await cage.sh("echo x >> deep/a/b/.vscode/tasks.json")).exit_code != 0
    (told,) = [data for name, data in ground.told if name == "cage.names_not_all_frozen"]
    assert told["more"] == 31 - 20 + 30 - 10


@pytest.mark.requirement("security.protected_names")
async def test_new_names_are_taken_away_however_many_there_are_already(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.protected.MAX_NAMES", 5)
    for number in range(8):
        ground.put(f"{number}/.vscode/a")
    cage = await ground.caged()
    await cage.sh("for i in 1 2 3; do mkdir -p new/$i/.git; done; echo run > .envrc")
    assert len((await ground.settled()).taken_away) == 4
    assert not (ground.root / ".envrc").exists()
    assert len(list(ground.root.glob("*/.vscode/a"))) == 8


@pytest.mark.requirement("security.protected_names")
@pytest.mark.parametrize("tier", [FULL, LANDLOCK], ids=lambda tier: tier.name)
async def test_names_that_a_background_command_makes_are_taken_away_while_it_runs(
    ground: Ground, tier: Tier
) -> None:
    cage = await ground.caged(tier=tier)
    child = await cage.start("echo run > .envrc; sleep 300", stdout="null", stderr="null", lingers=True)
    try:
        await until(lambda: any(name == "cage.name_taken_away" for name, _ in ground.told))
        assert not (ground.root / ".envrc").exists()
        assert not child.is_gone
    finally:
        await child.aclose()
    (taken,) = (await ground.settled()).taken_away
    assert taken.path == str(ground.root / ".envrc")


@pytest.mark.requirement("security.declared_files")
async def test_what_is_guarded_by_its_path_is_neither_written_nor_made_again(ground: Ground) -> None:
    ground.put("prompts/root.md")
    ground.put("docs/real.md")
    ground.put("texts/own.md")
    ground.put("theirs/own.md", "theirs\n")
    (ground.root / "linked.md").symlink_to("docs/real.md")
    (ground.root / "folder").symlink_to("texts")
    files = ("prompts/root.md", "linked.md", "docs/real.md", "tools/serve.sh", "texts/own.md")
    frozen = [Mount(ground.root / name, "ro") for name in files]
    guarded = tuple(ground.root / name for name in (*files, "folder"))
    cage = await ground.caged(*frozen, guarded=guarded)
    assert (await cage.sh("echo x > texts/new.md && echo x > folder/newer.md")).exit_code == 0
    attempts = (
        "echo theirs > prompts/root.md",
        "mv prompts old; mkdir prompts; echo theirs > prompts/root.md",
        "ln prompts/root.md x; echo theirs > x",
        "rm prompts/root.md; echo theirs > prompts/root.md",
        "echo theirs > linked.md",
        "rm -f linked.md; echo theirs > linked.md",
        "mkdir -p tools; echo theirs > tools/serve.sh",
        "mkdir -p y; echo theirs > y/serve.sh; mv y tools",
        "ln -sfn theirs folder",
        "rm -f folder; mkdir folder; echo theirs > folder/own.md",
        "rm -rf folder; cp -r theirs z; mv z folder",
    )
    for script in attempts:
        await cage.sh(script)
        await ground.settled()
        await asyncio.sleep(0.05)
        for name in (*files, "folder/own.md"):
            file = ground.root / name
            assert not file.exists() or file.read_text() == "mine\n", (script, name)
    assert (await cage.sh("echo x > prompts/new.md && echo x > tools/other.sh")).exit_code == 0
