"""`kaged acp` with a client of the official library: sessions, prompts, tool calls, questions, options."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from acp import RequestError, embedded_text_resource, image_block, resource_block, text_block
from acp import resource_link_block as link

from tests.driver.editor import Editor, editor
from tests.driver.editor_project import PICTURE, editing_home
from tests.driver.kaged import DaemonProcess

pytestmark = pytest.mark.requirement("acp.session")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon whose agent edits, runs commands, plans and asks."""
    with DaemonProcess(editing_home(tmp_path_factory.mktemp("home"))).start() as running:
        yield running


async def prompted(one: Editor, session: str, *blocks: Any) -> str:
    """Send a prompt and return why its turn ended."""
    prompt = [text_block(block) if isinstance(block, str) else block for block in blocks]
    return str((await one.connection.prompt(session_id=session, prompt=prompt)).stop_reason)


def messages(daemon: DaemonProcess, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = daemon.call("GET", f"/sessions/{session}/messages?limit=100")["items"]
    return found


async def test_a_prompt_streams_thoughts_text_and_calls(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        ready = await one.start()
        assert ready.protocol_version == 1
        assert ready.agent_capabilities.load_session
        assert ready.agent_capabilities.prompt_capabilities.image
        assert ready.agent_capabilities.prompt_capabilities.embedded_context
        session = await one.new(daemon.home.project)
        assert await prompted(one, session, "read it") == "end_turn"
        assert one.said("agent_thought_chunk") == "Where would that be written?"
        assert one.said() == "Let me look.It lends books."
        (call,) = one.of_kind("tool_call")
        assert (call["kind"], call["title"]) == ("read", "file.read README.md")
        assert call["locations"] == [{"path": str(daemon.home.project / "README.md")}]
        (ended,) = one.of_kind("tool_call_update")
        assert ended["status"] == "completed"
        assert "It lends books." in ended["content"][0]["content"]["text"]
        kinds = one.kinds()
        assert kinds.index("agent_thought_chunk") < kinds.index("tool_call") < kinds.index("tool_call_update")
        assert one.of_kind("usage_update")[0]["size"] > 0


async def test_the_output_of_a_command_is_text(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        session = await one.new(daemon.home.project)
        assert await prompted(one, session, "run the command") == "end_turn"
        (call,) = one.of_kind("tool_call")
        assert (call["kind"], call["title"]) == ("execute", "echo counted; exit 3")
        ended = one.of_kind("tool_call_update")[-1]
        assert ended["content"][0]["content"]["text"] == "```\ncounted\n```\n\nexit code 3"


async def test_todos_are_the_plan(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        session = await one.new(daemon.home.project)
        assert await prompted(one, session, "plan it") == "end_turn"
        (plan,) = one.of_kind("plan")
        assert [(entry["content"], entry["status"]) for entry in plan["entries"]] == [
            ("Count the books", "completed"),
            ("Order new ones", "in_progress"),
        ]


async def test_mentions_and_pictures_reach_the_agent(daemon: DaemonProcess) -> None:
    opened = daemon.home.project / "open.py"
    closed = daemon.home.project / "README.md"
    async with editor(daemon.home) as one:
        await one.start()
        one.open_files[str(opened)] = "unsaved = 1\n"
        session = await one.new(daemon.home.project)
        quoted = embedded_text_resource((daemon.home.project / "shelf.py").as_uri(), "shelf = '```'\n")
        ended = await prompted(
            one,
            session,
            "describe ",
            link("open.py", opened.as_uri()),
            " and ",
            link("README.md", closed.as_uri()),
            link("issue", "https://example.org/7"),
            resource_block(quoted),
            image_block(PICTURE, "image/png"),
        )
        assert ended == "end_turn"
    stored = messages(daemon, session)[0]
    assert stored["content"] == (
        "describe `open.py` and `README.md``https://example.org/7``shelf.py`\n\n"
        "`open.py`, as it is in the editor:\n```\nunsaved = 1\n```\n\n"
        "`shelf.py`, as it is in the editor:\n````\nshelf = '```'\n````"
    )
    assert [one["media_type"] for one in stored["details"]["attachments"]] == ["image/png"]


async def test_a_question_is_answered_by_the_next_prompt(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        session = await one.new(daemon.home.project)
        assert await prompted(one, session, "choose") == "end_turn"
        assert "Which way?" in one.said() and "2  right" in one.said()
        assert await prompted(one, session, "7") == "end_turn"
        assert one.said().endswith("type a number.")
        assert await prompted(one, session, "2") == "end_turn"
        assert one.said().endswith("We go.")
    (asked,) = daemon.call("GET", f"/sessions/{session}/interactions")["items"]
    assert asked["answer"] == {"answers": {"way": ["right"]}}


async def test_a_question_that_was_answered_elsewhere_takes_no_prompt(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        session = await one.new(daemon.home.project)
        assert await prompted(one, session, "choose") == "end_turn"
        (asked,) = daemon.call("GET", f"/sessions/{session}/interactions")["items"]
        path = f"/sessions/{session}/interactions/{asked['id']}/answer"
        daemon.call("POST", path, {"answers": {"way": ["left"]}})
        assert await prompted(one, session, "read it") == "end_turn"
        said = one.said()
        assert said.index("We go.") < said.index("It lends books.")


async def test_the_model_is_an_option(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        made = await one.connection.new_session(cwd=str(daemon.home.project), mcp_servers=[])
        _, model = made.config_options
        assert (model.id, model.category, model.current_value) == ("model", "model", ":agent")
        assert [choice.value for choice in model.options] == [":agent", "demo", "other"]
        changed = await one.connection.set_config_option(
            config_id="model", session_id=made.session_id, value="other"
        )
        assert changed.config_options[1].current_value == "other"
        assert await prompted(one, made.session_id, "read it") == "end_turn"
        assert one.said() == "I am the other one."
        back = await one.connection.set_config_option(
            config_id="model", session_id=made.session_id, value=":agent"
        )
        assert back.config_options[1].current_value == ":agent"
        daemon.call("PATCH", f"/sessions/{made.session_id}", {"model": "other"})
        assert await prompted(one, made.session_id, "read it") == "end_turn"
        (update,) = one.of_kind("config_option_update")
        assert update["configOptions"][1]["currentValue"] == "other"
        with pytest.raises(RequestError, match="no option"):
            await one.connection.set_config_option(
                config_id="colour", session_id=made.session_id, value="red"
            )


async def test_the_mode_is_an_option_and_a_mode(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        made = await one.connection.new_session(cwd=str(daemon.home.project), mcp_servers=[])
        assert made.modes.current_mode_id == "ask"
        assert [mode.id for mode in made.modes.available_modes] == ["plan", "ask", "edits", "full"]
        await one.connection.set_session_mode(session_id=made.session_id, mode_id="plan")
        assert daemon.call("GET", f"/sessions/{made.session_id}")["mode"] == "plan"
        changed = await one.connection.set_config_option(
            config_id="mode", session_id=made.session_id, value="edits"
        )
        assert changed.config_options[0].current_value == "edits"
        assert daemon.call("GET", f"/sessions/{made.session_id}")["mode"] == "edits"
        daemon.call("PATCH", f"/sessions/{made.session_id}", {"mode": "full"})
        assert await prompted(one, made.session_id, "read it") == "end_turn"
        (told,) = one.of_kind("current_mode_update")
        assert told["currentModeId"] == "full"
        with pytest.raises(RequestError, match="mode"):
            await one.connection.set_session_mode(session_id=made.session_id, mode_id="boss")


async def test_sessions_are_listed_and_loaded(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        session = await one.new(daemon.home.project)
        await prompted(one, session, "read it", image_block(PICTURE, "image/png"))
    async with editor(daemon.home) as two:
        await two.start()
        listed = await two.connection.list_sessions(cwd=str(daemon.home.project))
        found = {one.session_id: one for one in listed.sessions}
        assert found[session].cwd == str(daemon.home.project)
        assert found[session].title == "read it"
        everywhere = await two.connection.list_sessions()
        assert session in {one.session_id for one in everywhere.sessions}
        loaded = await two.connection.load_session(
            cwd=str(daemon.home.project / "prompts"), session_id=session, mcp_servers=[]
        )
        assert [option.id for option in loaded.config_options] == ["mode", "model"]
        assert two.kinds() == [
            *("user_message_chunk", "user_message_chunk"),
            *("agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update"),
            "agent_message_chunk",
        ]
        assert two.of_kind("user_message_chunk")[0]["content"]["data"] == PICTURE
        assert two.said() == "Let me look.It lends books."
        assert await prompted(two, session, "read it") == "end_turn"
        assert two.said() == "Let me look.It lends books." * 2
        await two.connection.close_session(session_id=session)
        with pytest.raises(RequestError, match="not open here"):
            await prompted(two, session, "read it")
        await two.connection.resume_session(cwd=str(daemon.home.project), session_id=session)
        before = len(two.updates)
        assert await prompted(two, session, "read it") == "end_turn"
        assert len(two.updates) > before


MANY = 1_000
UNSEALED = 1


@pytest.mark.requirement("acp.load")
async def test_a_session_of_1000_messages_is_loaded(daemon: DaemonProcess) -> None:
    session = long_session(daemon, MANY)
    async with editor(daemon.home) as one:
        await one.start()
        await one.connection.load_session(cwd=str(daemon.home.project), session_id=session, mcp_servers=[])
        texts = [update["content"]["text"] for update in one.updates if "content" in update]
        assert texts == [f"said {number}" for number in range(MANY)]
        assert one.kinds() == ["user_message_chunk", "agent_message_chunk"] * (MANY // 2)
        assert await prompted(one, session, "read it") == "end_turn"
        assert one.said().endswith("It lends books.")


def long_session(daemon: DaemonProcess, count: int) -> str:
    """Import a session with so many messages and return its id."""
    created = daemon.call("POST", "/sessions", {"project_id": daemon.project_id, "title": "long"})
    path = daemon.home.folder / "long.jsonl"
    assert daemon.home.run("session", "export", created["id"], "-o", str(path)).returncode == 0
    daemon.call("DELETE", f"/sessions/{created['id']}")
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    head = lines[:1]  # without a seal, as earlier versions wrote it
    head[0]["data"]["format"] = UNSEALED
    rows = [
        {
            "kind": "message",
            "data": {
                "id": f"msg_01JZ{number:022d}",
                "session_id": created["id"],
                "position": number + 1,
                "role": "primary" if number % 2 else "operator",
                "agent_path": "primary",
                "content": f"said {number}",
                "details": {},
                "complete": True,
                "created_at": 1_700_000_000_000 + number,
            },
        }
        for number in range(count)
    ]
    path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in [*head, *rows]))
    done = daemon.home.run("session", "import", str(path))
    assert done.returncode == 0, done.stderr
    return str(created["id"])


async def test_a_run_that_is_under_way_is_followed_after_a_load(daemon: DaemonProcess) -> None:
    async def nobody(_: Any) -> None:
        await asyncio.Event().wait()

    async with editor(daemon.home) as one:
        await one.start()
        one.choose = nobody  # without it the editor gives the request up, which rejects the call
        session = await one.new(daemon.home.project)
        asking = asyncio.ensure_future(prompted(one, session, "edit it"))
        await one.until(lambda: one.asked)
        asking.cancel()
    async with editor(daemon.home) as two:
        await two.start()
        answers = asyncio.Event()

        async def choose(_: Any) -> str:
            await answers.wait()
            return "reject_once"

        two.choose = choose
        await two.connection.load_session(cwd=str(daemon.home.project), session_id=session, mcp_servers=[])
        await two.until(lambda: two.asked)
        answers.set()
        await two.until(lambda: "Then not." in two.said())


async def test_mcp_servers_of_the_editor_are_not_started(daemon: DaemonProcess, tmp_path: Path) -> None:
    from acp.schema import EnvVariable, McpServerStdio

    mark = tmp_path / "started"
    server = McpServerStdio(name="notes", command="/usr/bin/touch", args=[str(mark)], env=list[EnvVariable]())
    async with editor(daemon.home) as one:
        await one.start()
        made = await one.connection.new_session(cwd=str(daemon.home.project), mcp_servers=[server])
        assert await prompted(one, made.session_id, "read it") == "end_turn"
        assert one.said().startswith("kaged does not start the MCP servers that the editor passes (notes).")
        assert await prompted(one, made.session_id, "read it") == "end_turn"
        assert one.said().count("MCP servers") == 1
    assert not mark.exists()
