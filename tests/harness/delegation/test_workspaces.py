"""Subagents in workspaces of their own: what they change reaches their caller when that takes it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.family import Cast, agent, calling, enabled, write_family
from tests.driver.sessions import Driver, check_stream, driven
from tests.driver.workspaces import git
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("workspaces.subagents")

A, B = "primary.subagents.a", "primary.subagents.b"
LINES = "".join(f"line {n}\n" for n in range(1, 21))
KEPT = "kept\n" + "a line\n" * 10
FILE_TOOLS = enabled("file.*", "edit.*")
SHELL = enabled("shell.bash")
Run = Callable[..., AbstractAsyncContextManager[Driver]]


def child(name: str, **more: Any) -> dict[str, Any]:
    return agent(name, **{"workspace": "worktree", "tools": FILE_TOOLS, **more})


def family(*, a: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    children = {"a": child("a", tools=a or FILE_TOOLS), "b": child("b")}
    return agent("primary", **{"tools": FILE_TOOLS | enabled("task"), "subagents": children, **more})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "family"


@pytest.fixture
def run(tmp_path: Path, project: Path, settings_overrides: dict[str, Any]) -> Run:
    """Return what drives a daemon over a family of agents in a repository."""

    @asynccontextmanager
    async def run(
        primary: dict[str, Any],
        *,
        repository: bool = True,
        session: dict[str, Any] | None = None,
        files: dict[str, str] | None = None,
        **more: Any,
    ) -> AsyncIterator[Driver]:
        write_family(project, primary, **more)
        for name, text in (files or {}).items():
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text(text)
        (project / "lines.txt").write_text(LINES)
        (project / "kept.txt").write_text(KEPT)
        if repository:
            git(project, "init", "-q", "-b", "main"), git(project, "add", "-A")
            git(project, "commit", "-qm", "first")
        async with driven(tmp_path / "data", project, **settings_overrides) as driver:
            if session is not None:
                await driver.new_session(**session)
            yield driver

    return run


def edit(old: str, new: str, path: str = "lines.txt") -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the calls that read a file and replace a text in it."""
    return ("file_read", {"path": path}), ("edit_text", {"path": path, "old_string": old, "new_string": new})


def works(cast: Cast, name: str, *calls: tuple[str, dict[str, Any]]) -> None:
    """Let an agent make one call after the other, and then answer."""
    cast.script(name, *(calling(one) for one in calls), text_reply(f"{name} is done."))


def changes(action: str, **more: Any) -> Callable[[RecordedRequest], Reply]:
    """Return an answer that calls `kaged.changes` for the run of a child, by the name of that."""
    of = more.pop("of", None)

    def answer(request: RecordedRequest) -> Reply:
        given = {"action": action, **more}
        return calling(("kaged_changes", given if of is None else {**given, "run_id": run_of(request, of)}))

    return answer


def run_of(request: RecordedRequest, name: str) -> str:
    said = json.dumps(request.json["messages"])
    found = re.search(rf'subagents\.{name}\\*",\\*"run_id\\*":\\*"(run_\w+)', said)
    assert found is not None, said
    return found[1]


def last(cast: Cast, name: str = "primary", index: int = -1) -> str:
    return str(cast.messages(name, index)[-1]["content"])


async def results(driver: Driver, name: str = "primary") -> list[str]:
    """Return what the tools of an agent answered, in their order."""
    messages = (await driver.session_call("GET", "/messages?limit=100"))["items"]
    return [str(one["content"]) for one in messages if one["role"] == "tool" and one["agent_path"] == name]


async def workspaces(driver: Driver, *, every: bool = False) -> list[dict[str, Any]]:
    items = (await driver.call("GET", f"/projects/{driver.project_id}/workspaces"))["items"]
    return [one for one in items if every or one["removed_at"] is None]


async def until_workspaces(driver: Driver, count: int) -> list[dict[str, Any]]:
    """Wait until so many workspaces are left."""
    async with asyncio.timeout(60):
        while len(found := await workspaces(driver)) != count:  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.05)
    return found


async def test_two_at_once_change_one_file_and_their_caller_takes_what_fits(
    run: Run, cast: Cast, project: Path
) -> None:
    works(
        cast, "a", *edit("line 2\n", "line two\n"), ("file_create", {"path": "new/a.txt", "content": "a\n"})
    )
    works(cast, "b", *edit("line 2\n", "LINE 2\n"), *edit("kept\n", "kept by b\n", "kept.txt"))
    cast.script(
        "primary",
        calling(("agent-a", {"task": "x"}), ("agent-b", {"task": "x"})),
        changes("list"),
        changes("diff", of="a"),
        changes("apply", of="a"),
        changes("apply", of="b"),
        changes("apply", of="b", paths=["kept.txt"]),
        changes("discard", of="b"),
        changes("list"),
        text_reply("Done."),
    )
    async with run(family()) as driver, driver.watching() as watch:
        (project / "loose.txt").write_text("not committed\n")
        before = git(project, "rev-parse", "HEAD"), git(project, "stash", "list")
        await driver.run("Go")
        told = await results(driver)
        changed = (await driver.session_call("GET", "/changes"))["items"]
        [left] = await until_workspaces(driver, 1)
        every = await workspaces(driver, every=True)

    both = [one for one in told if '"files"' in one and "take_with" in one]
    assert len(both) == 2 and '"changed":2' in both[0] and "kaged.changes" in both[0]
    listed, diff, applied, refused, part, given_up, nothing = told[2:]
    assert '"agent":"a"' in listed and '"agent":"b"' in listed and "new/a.txt" in listed
    assert "+line two" in diff and "+LINE 2" not in diff and "loose.txt" not in diff
    assert '"applied":["lines.txt","new/a.txt"]' in applied
    assert "changes_not_taken" in refused and "lines.txt" in refused and "paths" in refused
    assert '"applied":["kept.txt"]' in part and '"discarded":1' in given_up
    assert '"children":[]' in nothing
    assert (project / "lines.txt").read_text() == LINES.replace("line 2\n", "line two\n", 1)
    assert (project / "new" / "a.txt").read_text() == "a\n" and (
        project / "kept.txt"
    ).read_text() == KEPT.replace("kept", "kept by b")
    assert before == (git(project, "rev-parse", "HEAD"), git(project, "stash", "list"))
    # What was taken is the session's change, by the call that took it; what they did elsewhere is not.
    by = {one["path"]: {edit["agent_path"] for edit in one["by"]} for one in changed}
    assert by["lines.txt"] == by["kept.txt"] == by["new/a.txt"] == {"primary"}
    assert (left["state"], left["agent_path"]) == ("discarded", B)
    assert {one["agent_path"] for one in every} == {A, B} and all(one["run_id"] for one in every)
    states = [f for f in watch.of("workspace.updated") if f.get("agent_path") in (A, B)]
    assert {f["payload"]["state"] for f in states} >= {"creating", "ready"}
    check_stream(watch.frames)


async def test_a_background_task_works_beside_its_caller_and_what_nobody_read_is_not_overwritten(
    run: Run, cast: Cast, project: Path
) -> None:
    hold = Hold()
    given = {"agent": "coder", "prompt": "x", "background": True, "workspace": "worktree"}
    cast.script(
        "primary",
        calling(("task", given)),
        *(calling(one) for one in edit("line 9\n", "line nine\n")),
        text_reply("Later."),
        changes("apply", of="coder"),
        calling(("file_read", {"path": "kept.txt"})),
        changes("apply", of="coder"),
        text_reply("Done."),
    )
    works(cast, "coder", *edit("line 2\n", "line two\n"), *edit("kept\n", "kept more\n", "kept.txt"))
    answers = list(cast._parts["coder"])
    cast._parts["coder"].clear()
    cast.script("coder", Reply((hold, *answers[0].parts)), *answers[1:])
    tools = FILE_TOOLS | enabled("task", "kaged.changes")
    primary = agent("primary", tools=tools, subagents={"coder": agent("coder", tools=FILE_TOOLS)})
    async with run(primary) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("idle")
        busy = await driver.session_call(
            "POST", "/tools/kaged.changes", {"params": {"action": "list"}, "agent_path": "primary"}
        )
        await watch.until(lambda f: f["type"] == "workspace.updated" and f["payload"]["state"] == "ready")
        [place] = await workspaces(driver)
        refused = await driver.call("POST", f"/workspaces/{place['id']}/discard", status=409)
        (project / "kept.txt").write_text(KEPT + "the operator's\n")
        at = len(watch.frames)
        hold.gate.set()
        await watch.until_state("running", start=at)
        await watch.until_state("idle", start=at)
        told = await results(driver)
        assert '"applied":["kept.txt","lines.txt"]' in told[-1]
        await until_workspaces(driver, 0)
    assert busy["data"]["children"][0]["state"] == "working"
    assert refused["error"]["details"]["reason"] == "subagent_running"
    message = next(m for m in cast.messages("primary") if "is done." in str(m["content"]))
    assert "changed 2 files there: apply them with kaged.changes" in message["content"]
    assert "kept.txt: it has changed here since the subagent began: read it" in told[-3]
    assert (project / "kept.txt").read_text() == KEPT.replace("kept", "kept more") + "the operator's\n"
    both = LINES.replace("line 2\n", "line two\n", 1).replace("line 9\n", "line nine\n")
    assert (project / "lines.txt").read_text() == both


def writing_beyond() -> Callable[[RecordedRequest], Reply]:
    """Return an answer that creates two files, while the operator creates one beside them."""

    def answer(request: RecordedRequest) -> Reply:
        found = re.search(r"Working directory: (\S+)", str(request.json["messages"][0]["content"]))
        assert found is not None
        Path(found[1], "outside.txt").write_text("made\n")
        return calling(*(("file_create", {"path": one, "content": "a\n"}) for one in ("src/a.txt", "a.txt")))

    return answer


@pytest.mark.needs("cages")
async def test_what_a_subagent_may_not_write_or_its_caller_may_not_is_not_taken(
    run: Run, cast: Cast, project: Path
) -> None:
    bounds = {"fs": [{"mode": "rw", "path": "src"}]}
    children = {"a": child("a", cage=bounds), "b": child("b", tools=enabled("shell.bash"))}
    command = "mkdir .vscode; echo b > .vscode/tasks.json; echo b > kept.txt; ln -s kept.txt link"
    command += "; chmod +x src/run.sh"
    cast.script("a", writing_beyond(), text_reply("a is done."))
    works(cast, "b", ("shell_bash", {"command": command}))
    cast.script(
        "primary",
        calling(("agent-a", {"task": "x"}), ("agent-b", {"task": "x"})),
        changes("apply", of="a"),
        changes("apply", of="a", paths=["outside.txt"]),
        changes("diff", of="a"),
        changes("apply", of="b"),
        changes("apply", of="b", paths=["./kept.txt", "src", "link"]),
        text_reply("Done."),
    )
    async with run(family(subagents=children), files={"src/run.sh": "#!/bin/sh\n"}) as driver:
        await driver.run("Go")
        told = (await results(driver))[2:]
        left = await workspaces(driver)
    # The operator wrote a file where the subagent may not.
    assert '"applied":["src/a.txt"]' in told[0] and "outside.txt" in told[0]
    assert "changes_not_taken" in told[1] and "outside.txt" not in told[2]
    assert not (project / "outside.txt").exists() and not (project / "a.txt").exists()
    assert "changes_not_taken" in told[3] and ".vscode/tasks.json: you may not write it" in told[3]
    assert '"applied":["kept.txt","src/run.sh"]' in told[4] and "symbolic link" in told[4]
    assert (project / "kept.txt").read_text() == "b\n" and (project / "src" / "run.sh").stat().st_mode & 0o100
    assert not (project / "link").is_symlink() and not (project / ".vscode").exists()
    assert {one["agent_path"] for one in left} == {A, B}


@pytest.mark.needs("cages")
@pytest.mark.parametrize("place", ["shared", "worktree"])
async def test_what_its_cage_denies_and_nobody_committed_is_not_in_a_subagents_objects(
    run: Run, cast: Cast, place: str
) -> None:
    denied: dict[str, Any] = {"fs": [{"mode": "rw", "path": "."}, {"mode": "deny", "path": "notes"}]}
    denied["capabilities"] = ["shell"]
    objects = "git cat-file --batch-all-objects --batch"
    command = f"git show HEAD:seen.txt HEAD:notes/old.txt; git ls-tree -r HEAD; {objects} | grep -a told"
    works(cast, "a", ("shell_bash", {"command": command}))
    new = {"seen.txt": "seen\n", "notes/private.txt": "not to be told\n"}
    cast.script(
        "primary",
        *(calling(("file_create", {"path": path, "content": text})) for path, text in new.items()),
        *(calling(one) for one in edit("before\n", "not to be told either\n", "notes/old.txt")),
        calling(("agent-a", {"task": "x"})),
        text_reply("Done."),
    )
    children = {"a": child("a", cage=denied, tools=enabled("shell.bash"))}
    files = {"notes/old.txt": "before\n"}
    async with run(family(subagents=children), session={"workspace": place}, files=files) as driver:
        await driver.run("Go")
        [told] = await results(driver, A)
    assert "seen\n" in told and "before\n" in told and "notes/old.txt" in told, told
    assert "private" not in told and "told" not in told, told


async def test_the_caller_may_work_in_a_workspace_itself_and_the_operator_takes_the_rest(
    run: Run, cast: Cast, project: Path
) -> None:
    works(cast, "a", ("file_read", {"path": "new.txt"}), ("file_create", {"path": "a.txt", "content": "a\n"}))
    works(cast, "b", ("file_create", {"path": "b.txt", "content": "b\n"}))
    cast.script(
        "primary",
        calling(("file_create", {"path": "new.txt", "content": "new\n"})),
        calling(("agent-a", {"task": "x"}), ("agent-b", {"task": "x"})),
        changes("apply", of="a"),
        text_reply("Done."),
    )
    async with run(family(), session={"workspace": "worktree"}) as driver:
        await driver.run("Go")
        told = await results(driver, A)
        own = await driver.session_call("GET", "/workspace")
        [other] = [one for one in await until_workspaces(driver, 2) if one["agent_path"] == B]
        root = Path(own["root"])
        git(root, "checkout", "-q", "--orphan", "gone"), git(root, "reflog", "expire", "--all")
        await driver.session_call("POST", "/workspace/discard")
        await asyncio.to_thread(_emptied, root)
        url = f"/workspaces/{other['id']}"
        dry = await driver.call("POST", f"{url}/merge", {"dry_run": True})
        given = await driver.call("POST", f"{url}/merge", {"conflicts": "agent"}, status=409)
        assert (await driver.call("POST", f"{url}/discard"))["state"] == "discarded"
        assert (await driver.call("POST", f"{url}/undo"))["state"] == "ready"
        await driver.call("POST", f"{url}/merge", {})
        assert (await driver.call("GET", url))["merged"]["into"] == "working_tree"
    assert told[0].endswith("1: new") and (other["parent_id"], other["session_id"]) == (
        own["id"],
        driver.session_id,
    )
    assert [one["path"] for one in dry["files"]] == ["b.txt"]
    assert given["error"]["details"]["reason"] == "workspace_of_subagent"
    assert (project / "b.txt").read_text() == "b\n"
    assert not (project / "a.txt").exists() and not (project / "new.txt").exists()


def _emptied(root: Path) -> None:
    """Let nothing be left of a workspace, as after its end."""
    shutil.rmtree(root.parent)


async def test_without_a_repository_a_subagent_has_a_copy(run: Run, cast: Cast, project: Path) -> None:
    works(cast, "a", *edit("line 2\n", "line two\n"))
    works(cast, "b", *edit("line 19\n", "line nineteen\n"))
    cast.script(
        "primary",
        calling(("agent-a", {"task": "x"}), ("agent-b", {"task": "x"})),
        changes("apply", of="a"),
        changes("apply", of="b"),
        text_reply("Done."),
    )
    async with run(family(), repository=False) as driver:
        await driver.run("Go")
        every = await workspaces(driver, every=True)
        await until_workspaces(driver, 0)
    assert {one["kind"] for one in every} == {"copy"}
    both = LINES.replace("line 2\n", "line two\n", 1).replace("line 19\n", "line nineteen\n")
    assert (project / "lines.txt").read_text() == both


async def test_a_workspace_that_cannot_be_had_is_an_error_of_the_call(
    run: Run, cast: Cast, settings_overrides: dict[str, Any]
) -> None:
    settings_overrides["workspaces"] = {"max_gb": 0.000001}
    cast.script("primary", calling(("agent-a", {"task": "x"})), calling(("agent-b", {"task": "x"})))
    async with run(family(), repository=False) as driver:
        await driver.run("Go")
        told = await results(driver)
        left = await workspaces(driver)
    assert "Its workspace could not be created: A copy takes more than" in told[0]
    assert not cast.requests["a"] and left == []


@pytest.mark.needs("cages")
async def test_a_cancel_ends_the_wait_for_a_workspace_and_leaves_nothing(
    run: Run, cast: Cast, project: Path
) -> None:
    cast.script("primary", calling(("agent-a", {"task": "x"})))
    async with run(family(a=SHELL), workspace={"setup": "sleep 1000"}) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until(lambda f: f["type"] == "workspace.updated" and f["payload"]["step"] == "setup")
        [place] = await workspaces(driver)
        await driver.session_call("POST", "/cancel")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        await until_workspaces(driver, 0)
        state = (await driver.call("GET", f"/workspaces/{place['id']}"))["state"]
    assert {one["state"] for one in runs} == {"cancelled"} and state == "discarded"
    assert not Path(place["root"]).exists() and not cast.requests["a"]
    assert git(project, "for-each-ref", "refs/kaged") == ""


@pytest.mark.needs("cages")
async def test_a_kill_while_a_workspace_is_made_leaves_nothing_of_it(
    cast: Cast, fake: FakeProvider, project: Path, tmp_path: Path
) -> None:
    write_family(project, family(a=SHELL), workspace={"setup": "sleep 1000"})
    git(project, "init", "-q"), git(project, "add", "-A"), git(project, "commit", "-qm", "first")
    cast.script("primary", calling(("agent-a", {"task": "x"})))
    config = write_config(tmp_path / "config.toml", fake.port)
    daemon = await DaemonProcess.start(tmp_path / "data", config, project)
    try:
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            session = made.raise_for_status().json()["id"]
            await client.post(f"/sessions/{session}/messages", json={"content": "Go"})
            place = await _until_one(client, daemon.project_id, lambda one: Path(one["root"]).exists())
        await daemon.kill()
        daemon = await DaemonProcess.start(tmp_path / "data", config, project)
        async with daemon.client() as client:
            gone = await _until_one(client, daemon.project_id, lambda one: one["removed_at"] is not None)
            runs = (await client.get(f"/sessions/{session}/runs?all=true")).json()["items"]
    finally:
        await daemon.kill()
    assert (gone["id"], gone["state"], gone["agent_path"]) == (place["id"], "discarded", A)
    assert {one["state"] for one in runs} == {"interrupted"}
    assert not Path(place["root"]).parent.exists() and git(project, "for-each-ref", "refs/kaged") == ""


async def _until_one(
    client: httpx2.AsyncClient, project_id: str, condition: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Wait until the one workspace of a project is so."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            items = (
                (await client.get(f"/projects/{project_id}/workspaces")).raise_for_status().json()["items"]
            )
            if items and condition(items[0]):
                return items[0]
            await asyncio.sleep(0.05)
