"""Renames in monorepos by an agent that a transcript plays, and by a call over REST: whole or refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.language_servers import server_command, server_environment
from tests.driver.sessions import PROJECT_YAML, Driver, driven, write_project
from tests.tools.code.monorepos import ALL, TWO_GO_MODULES, Monorepo

YAML = PROJECT_YAML + '    "code.*": { enabled: true }\n'
DIGEST = r"set confirm to .(?P<digest>[0-9a-f]{16})"
GO_NESTED = {
    "go.mod": "module example.org/depot\n\ngo 1.22\n\nrequire example.org/depot/scale v0.0.0\n\n"
    "replace example.org/depot/scale => ./scale\n",
    "depot.go": 'package depot\n\nimport "example.org/depot/scale"\n\nvar Full = scale.Weigh(2)\n',
    "scale/go.mod": TWO_GO_MODULES.files["scale/go.mod"],
    "scale/scale.go": TWO_GO_MODULES.files["scale/scale.go"],
}
"""The server that is started at the root loads the module below apart from the root's own."""


DONE, GIVEN_UP = "That is it.", "I give up."
TRIES = 3


def lsp(action: str, **arguments: Any) -> dict[str, Any]:
    return {"action": action, **arguments}


def step(answer: dict[str, Any], *, after: str | None = None) -> dict[str, Any]:
    """Return one answer of the model, which gives up when the results are others than the pattern `after`."""
    if after is None:
        return {"answer": [answer]}
    return {"answer": [answer], "expect": {"tool_result": after}, "otherwise": [{"text": GIVEN_UP}]}


def called(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"tool_call": {"name": "code.lsp", "arguments": arguments}}


@asynccontextmanager
async def agent(
    base: Path, repo: Monorepo, files: dict[str, str], conversations: dict[str, list[dict[str, Any]]]
) -> AsyncIterator[Driver]:
    """Run a daemon on a monorepo whose agent is played from these conversations, by the operator's words."""
    root = write_project(base / "depot", YAML)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for link, target in (repo.links or {}).items():
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(target)
    script = [{"says": words, "steps": steps} for words, steps in conversations.items()]
    transcript = base / "transcripts" / "agent.yaml"
    transcript.parent.mkdir()
    transcript.write_bytes(orjson.dumps({"description": "Renames", "conversations": script}))
    provider = {"driver": "replay", "transcript": str(transcript.parent), "options": {"speed": 0}}
    server = {"command": list(server_command(repo.server)), "env": server_environment(base / "home")}
    settings: dict[str, Any] = {
        "models": {"main": ["replay:agent"]},
        "providers": {"replay": provider},
        "lsp": {"servers": {repo.language: server}},
    }
    async with driven(base / "data", root, **settings) as driver:
        driver.client.timeout = 300  # a rename by a cold server
        yield driver


async def answered(driver: Driver, words: str) -> tuple[str, list[dict[str, Any]]]:
    """Post the operator's words; return what the agent says in the end, and the results of its calls."""
    known = len(await driver.messages())
    await driver.post(words)
    async with asyncio.timeout(300):
        while await driver.state() != "idle":  # noqa: ASYNC110  (it is asked)
            await asyncio.sleep(0.05)
    assert (await driver.last_run())["state"] == "succeeded"
    _, *new = (await driver.messages())[known:]
    return new[-1]["content"], [one for one in new if one["role"] == "tool"]


async def renames(driver: Driver, root: Path, repo: Monorepo, words: str) -> None:
    """Have the agent rename. A busy machine may refuse it: then nothing is renamed, and it is asked again."""
    results: list[dict[str, Any]] = []
    for _ in range(TRIES):
        said, results = await answered(driver, words)
        if said == DONE:
            assert is_renamed(root, repo)
            return
        assert said == GIVEN_UP and not is_renamed(root, repo), [one["content"] for one in results]
    raise AssertionError([one["content"] for one in results])


async def renamed_by_rest(
    driver: Driver, root: Path, repo: Monorepo, params: dict[str, Any]
) -> dict[str, Any]:
    """Undo the rename by a call over REST, and return its answer; a refusal is treated as above."""
    answer: dict[str, Any] = {}
    for _ in range(TRIES):
        answer = await driver.session_call(
            "POST", "/tools/code.lsp", {"params": params, "agent_path": "primary"}
        )
        if answer["type"] == "output":
            break
        assert is_renamed(root, repo), answer
    return answer


def is_renamed(root: Path, repo: Monorepo) -> bool:
    """Tell whether all uses are renamed; that a part of them is, is never so."""
    done = {
        path: (root / path).read_text() == repo.files[path].replace(repo.name, repo.other)
        for path in repo.used
    }
    assert len(set(done.values())) == 1, done
    others = {path for path in set(repo.files) - set(repo.used) if not path.endswith("Cargo.lock")}
    assert all((root / path).read_text() == repo.files[path] for path in others)
    return done[repo.used[0]]


@pytest.mark.requirement("language_servers.monorepos.rename", "language_servers.monorepos.references")
@pytest.mark.parametrize("name", ALL)
@pytest.mark.timeout(400)  # a cold server of Rust on a busy machine
async def test_an_agent_and_rest_rename_in_each_kind_of_monorepo_whole(tmp_path: Path, name: str) -> None:
    """Cold by the agent; then back by REST, when the servers are warm, and once more by the agent."""
    repo = ALL[name]
    path, line = repo.declared
    there = {"path": path, "line": line, "symbol": repo.name, "new_name": repo.other}
    back = {**there, "symbol": repo.other, "new_name": repo.name}
    look = {"path": path, "line": line, "symbol": repo.name}
    conversations = {
        "cold": [step(called(lsp("rename", **there))), step({"text": DONE}, after='"files_changed": ?2')],
        "warm": [
            step(called(lsp("references", **look))),
            step(called(lsp("rename", **there)), after=repo.used[1].rpartition(".")[0]),
            step({"text": DONE}, after='"files_changed": ?2'),
        ],
    }
    async with agent(tmp_path, repo, dict(repo.files), conversations) as driver:
        root = tmp_path / "depot"
        # rust-analyzer refuses a rename until it has loaded the workspace, which references wait for.
        await renames(driver, root, repo, "warm" if repo.language == "rust" else "cold")
        done = await renamed_by_rest(driver, root, repo, lsp("rename", **back))
        assert done["type"] == "output" and done["data"]["files_changed"] == 2, done
        assert not is_renamed(root, repo)
        await renames(driver, root, repo, "warm")


@pytest.mark.requirement("language_servers.monorepos.refused")
@pytest.mark.timeout(400)
async def test_an_agent_is_refused_half_a_rename_reads_what_is_left_and_confirms(tmp_path: Path) -> None:
    """The refusal names the place and the digest, as the model reads it. The agent confirms just that."""
    asked = {"path": "scale/scale.go", "line": 3, "symbol": "Weigh", "new_name": "Heft"}
    conversations = {
        "look": [step(called(lsp("rename", **asked))), step({"text": DONE}, after=r"\./depot\.go")],
        "rename": [
            step(called(lsp("rename", **asked))),
            step(called(lsp("rename", **asked, confirm="${digest}")), after=DIGEST),
            step({"text": DONE}, after='"files_changed": ?1'),
        ],
    }
    async with agent(tmp_path, TWO_GO_MODULES, GO_NESTED, conversations) as driver:
        root = tmp_path / "depot"
        said, [refused] = await answered(driver, "look")
        assert said == DONE, refused
        assert (
            refused["details"]["isError"]
            and (root / "scale/scale.go").read_text() == GO_NESTED["scale/scale.go"]
        )
        over_rest = await driver.session_call(
            "POST", "/tools/code.lsp", {"params": lsp("rename", **asked), "agent_path": "primary"}
        )
        assert over_rest["code"] == "rename_incomplete"
        [left] = over_rest["detail"]["not_looked_at"]
        assert left in {"./depot.go:5", "./depot.go"}  # without a line where parsing takes too long
        said, [first, second] = await answered(driver, "rename")
        assert said == DONE and first["details"]["isError"] and not second["details"].get("isError")
        assert (root / "depot.go").read_text() == GO_NESTED["depot.go"]
        assert "func Heft(" in (root / "scale/scale.go").read_text()
