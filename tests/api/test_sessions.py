"""Projects, sessions, messages and runs over HTTP, with a scripted model behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.ids import is_id
from app.storage.models import Session, Step
from app.storage.repositories.runs import RunRepository
from tests.driver.daemon import Daemon, next_frame, running_daemon, write_project
from tests.fakes.provider_script import Document, Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

REQUIRES: dict[str, list[dict[str, str]]] = {
    "file.read": [{"kind": "fs", "mode": "ro", "path": "caller"}],
    "file.write": [{"kind": "fs", "mode": "rw", "path": "caller"}],
    "search.grep": [{"kind": "fs", "mode": "ro", "path": "caller"}],
    "debug": [{"kind": "fs", "mode": "ro", "path": "caller"}, {"kind": "capability", "name": "exec"}],
    "shell.bash": [{"kind": "capability", "name": "shell"}, {"kind": "fs", "mode": "rw", "path": "caller"}],
    "kaged.todo": [],
}
"""What a cage must allow for these tools."""


async def run_of(daemon: Daemon, session_id: str, content: str) -> dict[str, Any]:
    """Post a message, wait for the end of its run and return the run."""
    async with daemon.client() as client, daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        posted = await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": content})
        assert posted.status_code == 201, posted.text
        run_id = posted.json()["run"]["id"]
        while (await next_frame(socket, "run.ended"))["payload"]["run_id"] != run_id:
            pass
        run: dict[str, Any] = (await client.get(f"/api/v1/runs/{run_id}")).json()
        return run


@pytest.mark.requirement("http.resources")
async def test_loading_a_project_twice_gives_the_same_project(
    client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    again = await client.post("/api/v1/projects/load", json={"path": str(tmp_path / "shop" / ".kaged")})
    listed = (await client.get("/api/v1/projects")).json()
    detail = (await client.get(f"/api/v1/projects/{project_id}")).json()
    assert again.json()["id"] == project_id
    assert [item["id"] for item in listed["items"]] == [project_id]
    assert listed["total"] == 1
    assert detail["slug"] == "shop"
    assert detail["created_at"].endswith("Z")


async def test_a_project_file_with_errors_is_refused_with_every_finding(
    client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    broken = write_project(tmp_path / "broken")
    (broken / ".kaged" / "project.yaml").write_text(
        "version: 2\nproject: Bad Name\nagents: {}\nprimary: {}\n"
    )
    answer = await client.post("/api/v1/projects/load", json={"path": str(broken)})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "dsl_invalid"
    findings = error["details"]["diagnostics"]
    assert len(findings) >= 4
    assert {"severity", "code", "message", "file", "line", "column", "path"} == set(findings[0])
    assert (await client.get("/api/v1/projects")).json()["total"] == 1


async def test_a_folder_without_a_project_is_not_found(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        answer = await client.post("/api/v1/projects/load", json={"path": str(path)})
        assert answer.status_code == 404, answer.text


@pytest.mark.requirement("http.resources", "project_file.synthesized")
async def test_the_project_file_is_shown_as_written_and_as_it_amounts_to(
    client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    written = (await client.get(f"/api/v1/projects/{project_id}/dsl")).json()
    whole = (await client.get(f"/api/v1/projects/{project_id}/dsl/synthesized")).json()
    assert written["files"][0]["path"] == ".kaged/project.yaml"
    assert written["files"][0]["content"] == (tmp_path / "shop/.kaged/project.yaml").read_text()
    assert whole["project"] == "shop"
    assert whole["primary"]["tools"]["file.read"]["origin"] == "override:file.read"


async def test_reloading_takes_the_changed_file(
    client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "shop/.kaged/project.yaml"
    file.write_text(file.read_text().replace("A project for tests", "Changed"))
    reloaded = await client.post(f"/api/v1/projects/{project_id}/reload")
    assert reloaded.json()["description"] == "Changed"
    file.write_text("nonsense: true\n")
    broken = await client.post(f"/api/v1/projects/{project_id}/reload")
    assert broken.status_code == 422
    assert (await client.get(f"/api/v1/projects/{project_id}")).json()["description"] == "Changed"


async def test_capabilities_say_what_is_here_and_why_something_is_not(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    answer = (await client.get(f"/api/v1/projects/{project_id}/capabilities")).json()
    sandbox = next(entry for entry in answer["items"] if entry["kind"] == "sandbox")
    assert sandbox["available"] is (sandbox["reason"].split(":")[0] in ("full", "landlock"))
    assert any(entry["name"] == "git" for entry in answer["items"])


@pytest.mark.requirement("language_servers.servers.listed")
async def test_capabilities_list_every_language_with_its_server_or_how_to_get_one(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    answer = (await client.get(f"/api/v1/projects/{project_id}/capabilities")).json()
    servers = {entry["name"]: entry for entry in answer["items"] if entry["kind"] == "language_server"}
    assert {"python", "typescript", "rust", "zig"} <= servers.keys() and len(servers) >= 20
    assert servers["python"]["available"] and servers["python"]["reason"] is None
    for name, entry in servers.items():
        assert entry["available"] or (f"for {name}" in entry["reason"] and "Install it: " in entry["reason"])


@pytest.mark.requirement("debugger.adapters.listed")
async def test_capabilities_list_every_runtime_with_its_debug_adapter_or_how_to_get_one(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    answer = (await client.get(f"/api/v1/projects/{project_id}/capabilities")).json()
    adapters = {entry["name"]: entry for entry in answer["items"] if entry["kind"] == "debug_adapter"}
    assert {"python", "c", "cpp", "rust", "zig", "go"} <= adapters.keys()
    assert adapters["python"]["available"] and adapters["python"]["reason"] is None
    for name, entry in adapters.items():
        assert entry["available"] or (f"for {name}" in entry["reason"] and "nstall" in entry["reason"])


async def test_a_project_file_can_be_checked_without_a_project(client: httpx2.AsyncClient) -> None:
    bad = await client.post(
        "/api/v1/dsl/validate",
        content=b"version: 1\nprojekt: x\n",
        headers={"content-type": "application/yaml"},
    )
    not_text = await client.post("/api/v1/dsl/validate", content=b"\xff\xfe\x00")
    assert bad.status_code == 200
    assert bad.json()["valid"] is False
    assert any(found["line"] == 2 for found in bad.json()["diagnostics"])
    assert not_text.json()["valid"] is False


@pytest.mark.requirement("http.sessions")
async def test_a_session_is_created_found_renamed_archived_and_deleted(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    issues = f"/api/v1/projects/{project_id}/issues"
    assert (await client.post(issues, json={"title": "The first one"})).status_code == 201
    created = await client.post(
        "/api/v1/sessions", json={"project_id": project_id, "title": "First", "issue_number": 1}
    )
    session = created.json()
    assert created.status_code == 201
    assert is_id(session["id"], "ses")
    assert (session["state"], session["created_by"], session["issue_number"]) == ("idle", "operator", 1)
    assert session["tokens"]["total"] == 0
    nothing = dict.fromkeys(("primary", "compactor", "subagents", "total"))
    assert session["cost_usd"] == {**nothing, "incomplete": False}
    path = f"/api/v1/sessions/{session['id']}"
    renamed = await client.patch(path, json={"title": "Second"})
    assert renamed.json()["title"] == "Second"
    archived = await client.post(f"{path}/archive")
    assert archived.json()["state"] == "archived"
    deleted = await client.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await client.get(path)).status_code == 404


@pytest.mark.requirement("http.sessions", "http.pages")
async def test_sessions_are_listed_newest_first_by_filters_and_pages(
    client: httpx2.AsyncClient, project_id: str
) -> None:
    for title in ("One", "Two"):
        await client.post(f"/api/v1/projects/{project_id}/issues", json={"title": title})
    for number in range(5):
        body = {"project_id": project_id, "title": f"Task {number}", "issue_number": number % 2 + 1}
        assert (await client.post("/api/v1/sessions", json=body)).status_code == 201
    titles: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await client.get("/api/v1/sessions", params=params)).json()
        assert page["total"] == 5
        titles += [item["title"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert titles == [f"Task {number}" for number in reversed(range(5))]
    for params, count in [
        ({"text": "task 3"}, 1),
        ({"issue_number": 1}, 3),
        ({"state": "idle"}, 5),
        ({"state": "running"}, 0),
        ({"project_id": project_id}, 5),
        ({"project_id": "prj_01JZ0000000000000000000000"}, 0),
        ({"kind": "chat"}, 5),
    ]:
        page = (await client.get("/api/v1/sessions", params=params)).json()
        assert page["total"] == count, params


@pytest.mark.requirement("http.post", "http.runs")
async def test_a_message_is_answered_once_it_and_its_run_are_stored(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(
        Reply((ToolCall("file_read", {"path": "README.md"}),)), text_reply("It is", " about a shop.")
    )
    run = await run_of(daemon, session_id, "What is this?")
    assert run["state"] == "succeeded"
    assert [step["number"] for step in run["steps"]] == [1, 2]
    assert [call["name"] for call in run["tool_calls"]] == ["file.read"]
    assert run["tool_calls"][0]["state"] == "succeeded"
    assert run["usage"]["output_tokens"] == 10
    messages = (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()
    assert messages["items"][0]["role"] == "operator"
    assert messages["items"][-1]["content"] == "It is about a shop."
    detail = (await client.get(f"/api/v1/sessions/{session_id}")).json()
    assert detail["state"] == "idle"
    assert detail["tokens"]["input"] == 20
    assert detail["context"][0]["agent_path"] == "primary"
    assert detail["context"][0]["tokens"] > 0
    assert detail["last_seq"] > 0
    runs = (await client.get(f"/api/v1/sessions/{session_id}/runs")).json()
    assert [item["id"] for item in runs["items"]] == [run["id"]]


@pytest.mark.requirement("http.runs")
async def test_what_a_session_is_said_to_be_is_no_older_than_the_event_that_it_is_followed_from(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who follows the events after `last_seq` would never hear of a change between the two."""
    sessions = daemon.services.sessions
    get = sessions.get

    async def changed_meanwhile(asked: str) -> Session:
        monkeypatch.setattr(sessions, "get", get)
        row = await get(asked)
        await sessions.change(asked, {"title": "Renamed"}, actor="operator")
        return row

    monkeypatch.setattr(sessions, "get", changed_meanwhile)
    path = f"/api/v1/sessions/{session_id}"
    detail = (await client.get(path)).json()
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq={detail['last_seq']}") as socket:
        if detail["title"] != "Renamed":
            await next_frame(socket, "session.updated")


@pytest.mark.requirement("http.queue")
async def test_a_message_during_a_run_is_queued_or_refused(
    client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(Reply((Text("thinking about it"), Stall())))
    path = f"/api/v1/sessions/{session_id}"
    assert (await client.post(f"{path}/messages", json={"content": "one"})).status_code == 201
    queued = await client.post(f"{path}/messages", json={"content": "two"})
    refused = await client.post(f"{path}/messages?mode=reject", json={"content": "three"})
    assert queued.status_code == 202
    assert queued.json()["queued"] is True
    assert queued.json()["run"] is None
    assert queued.json()["message"]["position"] is None
    assert refused.status_code == 409
    assert refused.json()["error"]["details"]["reason"] == "run_in_progress"
    assert (await client.get(path)).json()["queued_messages"] == 1
    exported = await client.get(f"{path}/export")
    assert exported.status_code == 409


async def test_a_mode_given_twice_must_agree(client: httpx2.AsyncClient, session_id: str) -> None:
    path = f"/api/v1/sessions/{session_id}/messages?mode=reject"
    answer = await client.post(path, json={"content": "hello", "mode": "steer"})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["fields"]["mode"]


@pytest.mark.requirement("http.runs")
async def test_cancel_and_pause_stop_a_stalled_run_and_resume_goes_on(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    path = f"/api/v1/sessions/{session_id}"
    model.script(Reply((Text("one moment"), Stall())))
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await client.post(f"{path}/messages", json={"content": "go"})
        await next_frame(socket, "message.delta")
        await client.post(f"{path}/pause", json={"reason": "lunch"})
        while (await next_frame(socket, "session.state"))["payload"]["state"] != "paused":
            pass
        checkpoints = (await client.get(f"{path}/checkpoints")).json()
        assert checkpoints["total"] == 1
        checkpoint = (await client.get(f"{path}/checkpoints/{checkpoints['items'][0]['id']}")).json()
        assert checkpoint["messages"][0]["content"] == "go"
        assert checkpoint["prompts"][0]["content"] == "You keep the shop.\n"
        model.script(Reply((Text("again"), Stall())))
        resumed = await client.post(f"{path}/resume")
        assert resumed.status_code == 201, resumed.text
        run_id = resumed.json()["run"]["id"]
        await next_frame(socket, "message.delta")
        cancelled = await client.post(f"{path}/cancel")
        assert cancelled.status_code == 200
        while (await next_frame(socket, "run.ended"))["payload"]["run_id"] != run_id:
            pass
        run = (await client.get(f"/api/v1/runs/{run_id}")).json()
    assert run["state"] == "cancelled"


async def test_a_session_goes_out_and_comes_in_bit_for_bit(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider, tmp_path: Path
) -> None:
    model.script(text_reply("A shop."))
    await run_of(daemon, session_id, "What is this?")
    exported = await client.get(f"/api/v1/sessions/{session_id}/export")
    assert exported.headers["content-type"] == "application/jsonl"
    assert f'filename="{session_id}.jsonl"' in exported.headers["content-disposition"]
    lines = exported.content.splitlines()
    assert all(isinstance(orjson.loads(line), dict) for line in lines)
    twice = await client.post("/api/v1/sessions/import", content=exported.content)
    assert twice.status_code == 409, twice.text
    await client.delete(f"/api/v1/sessions/{session_id}")
    imported = await client.post("/api/v1/sessions/import", content=exported.content)
    assert imported.status_code == 201, imported.text
    again = await client.get(f"/api/v1/sessions/{imported.json()['id']}/export")
    assert again.content == exported.content


@pytest.mark.parametrize("body", [b"", b"not json\n", b'{"kind": "session"}\n', b"\xff\n", b"[]\n" * 3])
async def test_an_import_that_is_no_export_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    answer = await client.post("/api/v1/sessions/import", content=body)
    assert answer.status_code == 400, answer.text


@pytest.mark.requirement("http.resources")
async def test_the_prompts_of_a_session_are_shown(client: httpx2.AsyncClient, session_id: str) -> None:
    answer = (await client.get(f"/api/v1/sessions/{session_id}/prompts")).json()
    assert answer["items"][0]["agent_path"] == "primary"
    assert answer["items"][0]["file"] == "prompts/primary.md"


@pytest.mark.requirement("http.tools")
async def test_tools_are_listed_for_all_and_for_an_agent(client: httpx2.AsyncClient, project_id: str) -> None:
    tools = {tool["name"]: tool for tool in (await client.get("/api/v1/tools?limit=100")).json()["items"]}
    assert tools["file.read"]["wire_name"] == "file_read"
    assert tools["file.read"]["parameters"]["type"] == "object"
    assert tools["file.read"]["result"]["properties"]["total_lines"]["type"] == "integer"
    path = f"/api/v1/projects/{project_id}/agents"
    answer = (await client.get(f"{path}/primary/tools?limit=100")).json()
    mine = {tool["name"]: tool for tool in answer["items"]}
    assert mine["file.read"]["enabled"] is True
    assert mine["file.read"]["origin"] == "override:file.read"
    assert mine["edit.text"]["enabled"] is False
    unknown = await client.get(f"{path}/primary.subagents.nobody/tools")
    assert unknown.status_code == 404
    assert unknown.json()["error"]["details"]["agents"] == ["primary"]


@pytest.mark.requirement("operations.tools")
async def test_the_list_of_tools_says_what_each_requires_and_where_it_comes_from(
    client: httpx2.AsyncClient,
) -> None:
    listed = (await client.get("/api/v1/tools?limit=100")).json()["items"]
    tools = {tool["name"]: tool for tool in listed}
    assert all(tool["namespace"] == name.partition(".")[0] for name, tool in tools.items())
    assert {tool["source"] for tool in listed} == {"builtin"}
    assert {name: tools[name]["requires"] for name in REQUIRES} == REQUIRES
    assert {one["kind"] for tool in listed for one in tool["requires"]} <= {
        "fs",
        "seccomp",
        "net",
        "capability",
    }


@pytest.mark.requirement("http.tools")
async def test_a_tool_is_called_as_an_agent_with_its_permissions(
    client: httpx2.AsyncClient, session_id: str
) -> None:
    path = f"/api/v1/sessions/{session_id}/tools"
    read = await client.post(f"{path}/file.read", json={"params": {"path": "README.md"}})
    missing = await client.post(f"{path}/file.read", json={"params": {"path": "no-such-file"}})
    refused = await client.post(f"{path}/edit.text", json={"params": {"path": "README.md"}})
    assert read.json()["type"] == "output"
    assert "Shop" in orjson.dumps(read.json()["data"]).decode()
    assert read.json()["metadata"]["duration_ms"] >= 0
    assert (missing.status_code, missing.json()["type"]) == (200, "error")
    assert refused.json()["type"] == "error"


@pytest.mark.requirement("http.resources")
async def test_providers_and_models_are_listed_and_tested(
    client: httpx2.AsyncClient, model: FakeProvider
) -> None:
    models = (await client.get("/api/v1/models")).json()["items"]
    providers = (await client.get("/api/v1/providers")).json()["items"]
    model.script(text_reply("ok"))
    tested = (await client.post("/api/v1/providers/fake/test")).json()
    failed = (await client.post("/api/v1/providers/fake/test", json={"model": "model-b"})).json()
    assert next(entry for entry in models if entry["alias"] == "main")["chain"] == ["fake:model-a"]
    assert next(entry for entry in providers if entry["name"] == "fake")["ready"] is True
    assert "sk-test" not in orjson.dumps(providers).decode()
    assert (tested["ok"], tested["model"], tested["text"]) == (True, "model-a", "ok")
    assert failed["ok"] is False
    assert failed["error"]


@pytest.mark.requirement("http.resources")
async def test_the_audit_trail_is_filtered_and_paged(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    await client.post(
        f"/api/v1/sessions/{session_id}/tools/file.read", json={"params": {"path": "README.md"}}
    )
    model.script(text_reply("A shop."))
    await run_of(daemon, session_id, "What is this?")
    everything = (await client.get("/api/v1/audit")).json()
    assert everything["total"] >= 2
    first = (await client.get("/api/v1/audit", params={"limit": 1})).json()
    none = (await client.get("/api/v1/audit", params={"event": "no.such.*"})).json()
    names = sorted({entry["event"] for entry in everything["items"]})
    some = (await client.get("/api/v1/audit", params={"event": names[0].partition(".")[0] + ".*"})).json()
    later = (await client.get("/api/v1/audit", params={"since": "2100-01-01T00:00:00Z"})).json()
    assert first["items"][0] == everything["items"][0]
    assert first["next_cursor"]
    assert (none["total"], later["total"]) == (0, 0)
    assert 0 < some["total"] <= everything["total"]


async def test_many_sessions_are_caught_up_at_once(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, session_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("A shop."))
    await run_of(daemon, session_id, "What is this?")
    other = (await client.post("/api/v1/sessions", json={"project_id": project_id})).json()["id"]
    answer = (await client.get("/api/v1/sync", params={"sessions": f"{session_id}:0,{other}:0"})).json()
    busy, quiet = answer["sessions"]
    kinds = [frame["type"] for frame in busy["frames"]]
    assert kinds.count("message.start") == kinds.count("message.end") == 1
    assert [frame["seq"] for frame in busy["frames"]] == sorted({frame["seq"] for frame in busy["frames"]})
    assert (quiet["frames"], quiet["has_more"], quiet["resync"]) == ([], False, False)
    rest = await client.get("/api/v1/sync", params={"sessions": f"{session_id}:{busy['through_seq']}"})
    assert rest.json()["sessions"][0]["frames"] == []
    for wrong in ("nonsense", f"{session_id}:x", f"{session_id}:-1", ","):
        assert (await client.get("/api/v1/sync", params={"sessions": wrong})).status_code == 400


async def test_sessions_are_there_after_a_restart(tmp_path: Path, model_settings: dict[str, Any]) -> None:
    root = write_project(tmp_path / "shop")
    async with running_daemon(tmp_path / "data", **model_settings) as daemon, daemon.client() as client:
        project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()["id"]
        session = (await client.post("/api/v1/sessions", json={"project_id": project})).json()["id"]
    async with running_daemon(tmp_path / "data", **model_settings) as daemon, daemon.client() as client:
        assert (await client.get(f"/api/v1/sessions/{session}")).json()["project_id"] == project
        assert (await client.get(f"/api/v1/projects/{project}")).json()["slug"] == "shop"


@pytest.mark.requirement("speed.session_read")
async def test_a_session_is_read_without_the_steps_of_its_runs(
    daemon: Daemon,
    client: httpx2.AsyncClient,
    session_id: str,
    model: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.script(Reply((ToolCall("file_read", {"path": "README.md"}),)), text_reply("Read."))
    assert len((await run_of(daemon, session_id, "Go"))["steps"]) == 2
    before = (await client.get(f"/api/v1/sessions/{session_id}")).json()

    def steps(self: RunRepository, run_id: str) -> list[Step]:
        raise AssertionError("every step of a run was read")

    monkeypatch.setattr(RunRepository, "steps", steps)
    detail = await client.get(f"/api/v1/sessions/{session_id}")
    assert detail.status_code == 200
    assert detail.json()["context"] == before["context"]
    assert detail.json()["context"][0]["tokens"] > 0


@pytest.mark.requirement("http.resources")
async def test_the_list_of_sessions_is_narrowed_to_failed_and_archived_ones(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, model: FakeProvider
) -> None:
    async def listed(**query: str) -> set[str]:
        answer = (await client.get("/api/v1/sessions", params=query)).json()
        assert answer["total"] == len(answer["items"])
        return {one["title"] for one in answer["items"]}

    ids = {}
    for title in ("Failed", "Fine", "Mended", "Old"):
        made = await client.post("/api/v1/sessions", json={"project_id": project_id, "title": title})
        ids[title] = made.json()["id"]
    for title, replies in (("Failed", [False]), ("Fine", [True]), ("Mended", [False, True])):
        for good in replies:
            model.script(text_reply("Yes.") if good else Document(401, {"error": {"message": "no"}}))
            run = await run_of(daemon, ids[title], "Do it")
            assert run["state"] == ("succeeded" if good else "failed"), run
    await client.post(f"/api/v1/sessions/{ids['Old']}/archive")
    assert await listed(failed="true") == {"Failed"}
    assert await listed(archived="false") == {"Failed", "Fine", "Mended"}
    assert await listed(archived="true") == {"Old"}
    assert await listed(text="IN", failed="false") == {"Fine"}
