"""kaged.workflow.list, .trigger and .status: every case of the source's testing notes, by its name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.provider_script import Document, Reply, ToolCall
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import Shop, says, waits

pytestmark = pytest.mark.requirement("workflows.tools")


async def call(shop: Shop, name: str, params: dict[str, Any], *, agent_path: str = "primary") -> Any:
    """Call a tool as an agent would; return the envelope."""
    if not shop.session_id:
        await shop.new_session()
    body = {"params": params, "agent_path": agent_path}
    return await shop.session_call("POST", f"/tools/{name}", body, status=200)


async def output(shop: Shop, name: str, params: dict[str, Any]) -> Any:
    envelope = await call(shop, name, params)
    assert envelope["type"] == "output", envelope
    return envelope["data"]


async def error(shop: Shop, name: str, params: dict[str, Any], **options: Any) -> tuple[str, Any]:
    envelope = await call(shop, name, params, **options)
    assert envelope["type"] == "error", envelope
    return envelope["code"], envelope


async def test_workflow_list_happy_path(shop: Shop) -> None:
    found = await output(shop, "kaged.workflow.list", {})
    assert found["count"] == 3
    repair, nap, _ = found["workflows"]
    assert (repair["name"], repair["description"]) == ("repair", "Repair what is broken.")
    assert repair["inputs"]["area"] == {
        "type": "enum",
        "required": True,
        "options": ["ui", "api"],
        "description": "Where it is broken.",
    }
    assert repair["inputs"]["dry_run"] == {"type": "boolean", "required": False, "default": False}
    assert (nap["inputs"], nap["invokable_by"], nap["timeout_seconds"]) == ({}, ["operator"], 600)


async def test_workflow_list_filter(shop: Shop) -> None:
    found = await output(shop, "kaged.workflow.list", {"invokable_by": "guest"})
    assert [one["name"] for one in found["workflows"]] == ["repair"]
    assert found["count"] == 1


async def test_workflow_trigger_happy_path(shop: Shop, fake: FakeProvider) -> None:
    fake.script(says("Done."))
    begun = await output(shop, "kaged.workflow.trigger", {"name": "repair", "inputs": {"area": "ui"}})
    assert begun.keys() == {"run_id", "workflow_name", "status", "created_at"}
    assert (begun["workflow_name"], begun["status"]) == ("repair", "running")
    assert 1_600_000_000 < begun["created_at"] < 10_000_000_000  # seconds
    await shop.until(begun["run_id"], "succeeded")


async def test_workflow_trigger_not_found(shop: Shop) -> None:
    code, envelope = await error(shop, "kaged.workflow.trigger", {"name": "fly", "inputs": {}})
    assert code == "workflow_not_found"
    assert "fly" in envelope["error_text"] and "repair" in envelope["error_text"]


async def test_workflow_trigger_invalid_inputs(shop: Shop) -> None:
    wrong = {"name": "repair", "inputs": {"tries": "three", "colour": "red"}}
    code, envelope = await error(shop, "kaged.workflow.trigger", wrong)
    assert code == "invalid_params"
    assert set(envelope["detail"]["fields"]) == {"inputs.area", "inputs.tries", "inputs.colour"}
    assert envelope["detail"]["rpc_code"] == -32602
    for field in ("inputs.area", "inputs.tries", "inputs.colour"):
        assert field in envelope["error_text"]  # the model reads the text
    assert (await shop.call("GET", "/workflow-runs"))["total"] == 0


async def test_workflow_trigger_file_input(shop: Shop) -> None:
    code, envelope = await error(shop, "kaged.workflow.trigger", {"name": "photo", "inputs": {}})
    assert code == "file_input_not_supported"
    assert "Ask the operator" in envelope["error_text"]
    given = {"name": "repair", "inputs": {"area": "ui", "log": "upl_01JZ0000000000000000000000"}}
    code, _ = await error(shop, "kaged.workflow.trigger", given)
    assert code == "file_input_not_supported"


async def test_workflow_trigger_invoker_identity(shop: Shop, fake: FakeProvider) -> None:
    fake.script(says("Done."))
    begun = await output(shop, "kaged.workflow.trigger", {"name": "repair", "inputs": {"area": "ui"}})
    run = await shop.until(begun["run_id"], "succeeded")
    assert run["invoked_by"] == {"type": "operator", "id": "agent:primary"}
    assert run["cause"] == "agent"
    (row,) = await shop.audit("kaged.workflow.triggered")
    assert (row["actor"], row["session_id"]) == ("agent:primary", shop.session_id)
    assert row["data"]["workflow_name"] == "repair"
    assert (row["data"]["run_id"], row["data"]["caller"]) == (run["id"], "agent:primary")


async def test_workflow_status_happy_path(shop: Shop, fake: FakeProvider) -> None:
    fake.script(says("It is repaired."))
    run_id = (await shop.invoke("repair", {"area": "ui"}))["id"]
    await shop.until(run_id, "succeeded")
    status = await output(shop, "kaged.workflow.status", {"run_id": run_id})
    assert (status["run_id"], status["workflow_name"], status["status"]) == (run_id, "repair", "succeeded")
    assert status["inputs"]["area"] == "ui"
    assert status["completed_at"] >= status["created_at"] > 1_600_000_000
    assert status["duration_ms"] >= 0
    assert status["output"] == "It is repaired."
    (row,) = await shop.audit("kaged.workflow.status_checked")
    assert row["data"] == {
        "run_id": run_id,
        "workflow_name": "repair",
        "status": "succeeded",
        "caller": "agent:primary",
    }


async def test_workflow_status_running(shop: Shop, fake: FakeProvider, lab: Laboratory) -> None:
    fake.script(waits("a"), says("Done."))
    run_id = (await shop.invoke("repair", {"area": "ui"}))["id"]
    await lab.until_started("a")
    status = await output(shop, "kaged.workflow.status", {"run_id": run_id})
    assert status["status"] == "running"
    assert (status["completed_at"], status["duration_ms"]) == (None, None)


async def test_workflow_status_failed(shop: Shop, fake: FakeProvider) -> None:
    fake.script(Document(400, {"error": {"message": "no such thing", "type": "invalid_request_error"}}))
    run_id = (await shop.invoke("repair", {"area": "ui"}))["id"]
    await shop.until(run_id, "failed")
    status = await output(shop, "kaged.workflow.status", {"run_id": run_id})
    assert status["status"] == "failed"
    assert status["error"]["code"] and status["error"]["message"]


async def test_workflow_status_not_found(shop: Shop) -> None:
    code, said = await error(shop, "kaged.workflow.status", {"run_id": "01HXYZ"})
    assert code == "run_not_found"
    assert "kaged.workflow.trigger" in str(said) and "GET /api" not in str(said)


@pytest.mark.requirement("scope")
@pytest.mark.parametrize("tool", ["list", "trigger", "status"])
async def test_a_subagent_may_not(shop: Shop, tool: str) -> None:
    params = {"list": {}, "trigger": {"name": "nap", "inputs": {}}, "status": {"run_id": "x"}}[tool]
    code, _ = await error(shop, f"kaged.workflow.{tool}", params, agent_path="primary.subagents.helper")
    assert code == "principal_scope_violation"


async def test_runs_that_start_each_other_come_to_an_end(shop: Shop, fake: FakeProvider) -> None:
    trigger = Reply((ToolCall("kaged_workflow_trigger", {"name": "nap", "inputs": {}}),))

    def answer(request: Any) -> Reply:
        """Every run starts one more, and is done."""
        return trigger if request.json["messages"][-1]["role"] == "user" else says("Done.")

    fake.respond = answer
    run, newest = None, await shop.invoke("nap")
    while run is None or newest["id"] != run["id"]:
        run = await shop.until(newest["id"], "succeeded")
        page = await shop.call("GET", "/workflow-runs?limit=1")
        newest = page["items"][0]
    assert page["total"] == 4
    shop.session_id = run["session_id"]
    results = [one["content"] for one in await shop.messages() if one["role"] == "tool"]
    assert "workflow_too_deep" in results[0]
