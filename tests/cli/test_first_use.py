"""What a newcomer meets in a terminal: nothing garbled, nothing cut off, nothing about HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson
import pytest

from app.cli.answer import _what
from app.cli.client import ReceivedFrame, with_command
from app.cli.dialogs import ConsentDialog, NotUnderstood
from app.cli.openapi import openapi_document
from app.cli.root import kaged
from app.cli.stream_view import StreamView
from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("usability.commands")

APP = Path(__file__).resolve().parents[2] / "app"
READER = "primary.subagents.reader"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def frame(event: str, run_id: str, agent_path: str | None = READER, **payload: Any) -> ReceivedFrame:
    return ReceivedFrame("", 1, event, payload, run_id, agent_path)


def consent(*suggestions: dict[str, str], subjects: tuple[str, ...] = ("rm a\nrm b",)) -> dict[str, Any]:
    return {
        "tool": "shell.bash",
        "reason": "Because.",
        "subjects": list(subjects),
        "suggestions": list(suggestions),
    }


def test_two_commands_are_not_shown_as_one() -> None:
    one = {"kind": "permission", "request": consent(subjects=("echo a\nrm -rf b", "true"))}
    assert _what(one) == "shell.bash echo a ⏎ rm -rf b ⏎ true"


def test_always_is_offered_only_where_a_rule_can_hold_it() -> None:
    once = ConsentDialog(consent())
    assert "always)" not in once.prompt()[-1].text
    with pytest.raises(NotUnderstood, match="no rule can allow it always"):
        once.take("a")
    assert once.take("y") == {"answer": "once"}
    rule = {"permission": "shell.bash", "pattern": "true"}
    assert ConsentDialog(consent(rule)).take("a") == {"answer": "always"}


def test_what_comes_after_ctrl_c_does_not_begin_in_the_middle_of_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = StreamView(interactive=True)
    view.show(frame("message.delta", "run_1", None, messageId="a", kind="text", delta="Half of a wo"))
    view.cancelling()
    view.show(frame("message.delta", "run_1", None, messageId="a", kind="text", delta="rd and more"))
    view.summary({"state": "cancelled", "reason": "cancelled", "steps": 1})
    view.finish()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Half of a wo"
    assert lines[-2:] == ["cancelling; Ctrl-C again leaves at once", "run cancelled · 1 step · 0 tokens"]
    assert not view.is_incomplete("a")


def test_two_subagents_of_one_name_have_their_messages_apart_and_names_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = StreamView(interactive=False)
    for path in ("x", "y"):
        for run, message in (("run_1", "a"), ("run_2", "b")):
            call = {"messageId": message, "id": f"{run}{path}", "name": "file.read"}
            view.show(frame("message.tool_call", run, **call, arguments={"path": f"{message}{path}"}))
    for run, message in (("run_1", "a"), ("run_2", "b")):
        view.show(frame("message.end", run, messageId=message))
    view.show(frame("run.ended", "run_1", state="succeeded"))
    view.show(frame("message.delta", "run_3", messageId="c", kind="text", delta="Third."))
    view.show(frame("message.end", "run_3", messageId="c"))
    assert [line.strip() for line in capsys.readouterr().err.splitlines()] == [
        "reader │ file.read ax",
        "reader │ file.read ay",
        "reader #2 │ file.read bx",
        "reader #2 │ file.read by",
        "reader │ Third.",
    ]


def test_a_terminal_has_a_command_for_each_route_that_an_error_names() -> None:
    source = "\n".join(path.read_text() for path in sorted(APP.rglob("*.py")))
    named = set(re.findall(r'"route": "([^"]+)"|LOAD = "([^"]+)"', source))
    routes = {one or other for one, other in named}
    assert len(routes) >= 3
    # No command follows several sessions.
    routes -= {"GET /api/v1/ws"}
    document = orjson.loads(openapi_document())
    for route in routes:
        method, _, path = route.partition(" ")
        assert method.lower() in document["paths"][path]
        assert "`kaged " in with_command("", {"route": route}), route
    assert with_command("There is no such run.", {"route": "GET /api/v1/workflow-runs"}) == (
        "There is no such run. `kaged runs list` lists those there are."
    )
    assert with_command("The disk is full.", {}) == "The disk is full."


def groups(group: click.Group, *path: str) -> Iterator[tuple[str, click.Group]]:
    """Return every group of commands with its name, `kaged` first."""
    yield " ".join(path), group
    context = click.Context(group)
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        if isinstance(inner, click.Group):
            yield from groups(inner, *path, name)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_of_a_group_s_help_is_cut_off(width: int) -> None:
    found = dict(groups(kaged, "kaged"))
    assert {"kaged", "kaged session", "kaged project"} <= found.keys()
    for name, group in found.items():
        context = click.Context(group, info_name=name, terminal_width=width)
        commands = group.get_help(context).partition("Commands:")[2]
        assert commands, name
        assert "..." not in re.sub(r"\(\w+_\.\.\.\)", "", commands), name


def test_init_makes_no_folders_on_the_way(home: Home, tmp_path: Path) -> None:
    done = home.run("init", str(tmp_path / "porjects" / "shop"))
    assert done.returncode == 1
    assert "porjects is no folder" in done.stderr
    assert "mkdir -p" in done.stderr
    assert not (tmp_path / "porjects").exists()
    assert home.run("init", str(tmp_path / "shop")).returncode == 0


def test_check_reports_a_model_whose_provider_has_no_key(home: Home, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    assert home.run("init", str(root), "--model", "anthropic:claude-sonnet-4-5").returncode == 0
    done = home.run("check", str(root))
    assert done.returncode == 0
    assert "set ANTHROPIC_API_KEY, or providers.anthropic.api_key" in done.stdout
    assert home.json("check", str(root))["missing_credentials"][0]["provider"] == "anthropic"
    with_key = home.run("check", str(root), ANTHROPIC_API_KEY="sk-ant-of-the-test")
    assert "ANTHROPIC_API_KEY" not in with_key.stdout


def test_doctor_ends_with_what_matters_of_it(home: Home) -> None:
    lines = home.run("doctor").stdout.splitlines()
    summary = lines[lines.index("summary") :]
    assert len(summary) <= 6
    assert "no problems found" in summary[1]
    assert re.fullmatch(r"  \d+ present, \d+ absent; .*", summary[2])
    assert summary[3].startswith("  cages: ")
    assert summary[4].startswith("  models: ")


@pytest.mark.parametrize("host", ["[::1]", "::1"])
def test_an_address_of_ipv6_may_stand_in_brackets(home: Home, host: str) -> None:
    daemon = DaemonProcess(home, ("--host", host)).start()
    try:
        assert daemon.ready["url"].startswith("http://[::1]:")
    finally:
        daemon.stop()
