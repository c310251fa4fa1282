"""git in a workspace: it works for agents, caged or not, and the user's repository stays byte for byte."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_files import git, repository
from tests.harness.workspaces.placing import BRANCH, Pair, called, paired, whole

pytestmark = pytest.mark.requirement("workspace.repository")

CAGED = "primary.subagents.caged"
YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools:
    "file.*": { enabled: true }
    "shell.*": { enabled: true }
  subagents:
    caged:
      model: main
      description: Works in a cage.
      system_prompt: project:/prompts/primary.md
      cage:
        fs: [{ mode: rw, path: . }]
        capabilities: [shell, exec]
      tools:
        "file.*": { enabled: true }
        "shell.*": { enabled: true }
"""
DOES = """
set -e
git status --porcelain
echo changed >> a.txt
git stash -q
git stash pop -q
git stash push -q && git stash drop -q
git config user.x y || echo config refused
echo kept >> a.txt
git add -A && git {who} commit -q -m "by an agent"
git branch side && git branch -D side main
git tag v1 && git {who} commit -q --allow-empty -m more && git reset -q --hard HEAD~1
git reflog expire --expire=now --all && git gc -q --prune=now
git log --format=%s -1
git status --porcelain
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(write_project(tmp_path / "shop", YAML))


@pytest.fixture
async def pair(
    project: Path, tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> AsyncIterator[Pair]:
    async with paired(tmp_path / "data", project, **settings_overrides) as found:
        yield found


async def caged(pair: Pair, command: str) -> dict[str, Any]:
    return await called(pair.own, "shell.bash", agent_path=CAGED, command=command, timeout=120_000)


@pytest.mark.parametrize(
    "agent", ["primary", pytest.param(CAGED, marks=pytest.mark.needs("cages"))], ids=["uncaged", "caged"]
)
async def test_an_agents_git_leaves_the_users_repository_byte_for_byte(
    agent: str, pair: Pair, project: Path
) -> None:
    before, settings = whole(project), (pair.tree / ".git" / "config").read_bytes()
    command = DOES.replace("{who}", "-c user.name=T -c user.email=t@t" if agent == "primary" else "")
    done = await called(pair.own, "shell.bash", agent_path=agent, command=command, timeout=120_000)
    assert done["exit_code"] == 0, done["stdout"]
    assert done["stdout"].split()[-3:] == ["by", "an", "agent"], done["stdout"]
    assert whole(project) == before
    assert git(pair.tree, "log", "--format=%s", "-1", BRANCH).strip() == "by an agent"
    assert git(pair.tree, "branch", "--format=%(refname:short)").split() == [BRANCH]
    git(pair.tree, "fsck", "--no-dangling")
    assert ((pair.tree / ".git" / "config").read_bytes() == settings) is (agent == CAGED)
    git(project, "fsck", "--no-dangling")


@pytest.mark.needs("cages")
async def test_a_cage_shows_the_workspace_and_nothing_else_of_the_daemon_or_the_user(
    pair: Pair, project: Path
) -> None:
    up = "d=$KAGED_WORKSPACE; for _ in 1 2 3 4; do d=$(dirname $d); ls -A $d; done; cat $d/token"
    listed = (await caged(pair, up))["stdout"].replace("\r", "").splitlines()
    assert listed[:-1] == ["tree", pair.tree.parent.name, pair.own.project_id, "workspaces"], listed
    assert "No such file" in listed[-1]
    seen = await caged(pair, f"find {project} -maxdepth 2 -not -path '*/objects/*'; touch {project}/new")
    paths = {line for line in seen["stdout"].replace("\r", "").splitlines() if line.startswith("/")}
    assert paths == {str(project), f"{project}/.git", f"{project}/.git/objects"}
    assert not (project / "new").exists()
    wrote = await caged(pair, f"touch {project}/.git/objects/new")
    assert wrote["exit_code"] != 0 and not (project / ".git" / "objects" / "new").exists()
    assert (await caged(pair, 'test "$KAGED_WORKSPACE" = "$PWD"'))["exit_code"] == 0


@pytest.mark.needs("cages")
async def test_what_steers_git_outside_of_a_cage_cannot_be_written_in_it(pair: Pair, tmp_path: Path) -> None:
    own, canary = pair.tree / ".git", tmp_path / "canary"
    for name in ("hooks", "info", "objects/info"):
        (own / name).mkdir(exist_ok=True)
    before = {
        name: (own / name).exists() for name in ("commondir", "modules", "worktrees", "info/attributes")
    }
    for attack in (
        f"echo '[core] fsmonitor = touch {canary}' >> .git/config",
        f"git config core.fsmonitor 'touch {canary}'",
        "mv .git/config .git/config.old",
        "mv .gi[t] moved",
        "echo x > .git/hooks/post-checkout",
        "mv .git/hooks .git/hooks2; mkdir .git/hooks",
        "echo /tmp > .git/objects/info/alternates",
        "mv .git/objects .git/objects2",
    ):
        done = await caged(pair, attack)
        assert done["exit_code"] != 0, (attack, done["stdout"])
    for name in ("commondir", "config.worktree", "info/attributes"):
        await caged(pair, f"cp -r .git .evil; echo $PWD/.evil > .git/{name}")
        assert not (own / name).exists(), name
    await caged(pair, "mkdir -p .git/modules/x .git/worktrees/x")
    assert {name: (own / name).exists() for name in before} == before
    assert git(pair.tree, "status") and not canary.exists()
    # Other protected names hold as in the project, for commands and for file tools.
    assert (await caged(pair, "echo x >> .kaged/project.yaml"))["exit_code"] != 0
    await caged(pair, "mkdir sub && git init -q sub")
    assert not (pair.tree / "sub" / ".git").exists()


@pytest.mark.needs("cages")
async def test_a_project_in_a_part_of_its_repository_has_git_in_its_cage(
    tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    top = tmp_path / "house"
    project = write_project(top / "shop", YAML)
    (top / "beside.txt").write_text("beside\n")
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    before = whole(top)
    async with paired(tmp_path / "data", project, repository=top, **settings_overrides) as pair:
        assert pair.tree.name == "shop"
        done = await caged(
            pair, "pwd && echo new > new.txt && git add -A && git commit -qm more && git status -s"
        )
        assert (done["exit_code"], done["stdout"].strip()) == (0, str(pair.tree)), done["stdout"]
        assert git(pair.tree, "show", "--format=", "--name-status").split() == ["A", "shop/new.txt"]
        assert (await caged(pair, "echo x >> ../beside.txt"))["exit_code"] != 0
        assert (await caged(pair, "cat ../beside.txt"))["stdout"].strip() == "beside"
    assert whole(top) == before
