"""What `kaged acp` makes of single calls, links and ends of runs, without a daemon."""

from __future__ import annotations

from pathlib import Path

import pytest
from acp import RequestError

from app.cli.editor.blocks import fence_for, local_path, shown_path
from app.cli.editor.outcome import end_of
from app.cli.editor.permission import options_for
from app.cli.editor.tool_view import diff_of, kind_of, locations_of, result_of, title_of
from tests.driver.tool_registry import tool_registry

pytestmark = pytest.mark.requirement("acp.session")

ROOT = Path("/home/me/shop")
OTHER_IN_THE_PROTOCOL = {"code.lsp": "search", "kaged.checkpoint": "other", "kaged.workflow.trigger": "other"}
"""Tools whose kind depends on the action, or of which an editor has nothing to show."""


def test_every_tool_has_the_kind_of_its_definition() -> None:
    for tool in tool_registry().definitions():
        if tool.name.startswith("kaged.workflow."):
            assert kind_of(tool.name, {}) == "other"
        else:
            expected = OTHER_IN_THE_PROTOCOL.get(tool.name, tool.acp_kind)
            assert kind_of(tool.name, {}) == expected, tool.name
    assert kind_of("code.lsp", {"action": "rename"}) == "edit"
    assert kind_of("notes.add", {}) == "other"


def test_titles_are_one_short_line() -> None:
    assert title_of("shell.bash", {"command": "ls\n-l"}) == "ls -l"
    assert title_of("code.lsp", {"action": "hover", "file": "a.py"}) == "code.lsp hover a.py"
    assert title_of("file.read", {"path": "a"}, "coder") == "coder: file.read a"
    assert len(title_of("shell.bash", {"command": "x" * 1000})) == 100
    assert title_of("file.read", None) == "file.read"


def test_locations_and_diffs_are_absolute() -> None:
    (place,) = locations_of(ROOT, {"path": "src/../a.py", "offset": 7})
    assert (place.path, place.line) == ("/home/me/shop/a.py", 7)
    assert locations_of(ROOT, {"path": "a\0b"}) == locations_of(ROOT, [1]) == []
    (written,) = diff_of(ROOT, "file.write", {"path": "a.py", "content": "new\n"})
    assert (written.path, written.old_text, written.new_text) == ("/home/me/shop/a.py", None, "new\n")  # type: ignore[union-attr]
    assert diff_of(ROOT, "file.read", {"path": "a.py", "content": "x"}) == []
    assert diff_of(ROOT, "edit.text", {"path": 1, "new_string": "x"}) == []


def test_results_are_shown_as_they_are() -> None:
    (shown,) = result_of("shell.bash", {}, '{"exit_code":0}\n```\nout')
    assert shown.content.text == "````\n```\nout\n````"  # type: ignore[union-attr]
    (shown,) = result_of("shell.bash", {}, "x" * 40_000)
    assert len(shown.content.text) < 33_000  # type: ignore[union-attr]
    assert result_of("shell.bash", {}, "") == []
    assert fence_for("`" * 7) == "`" * 8


def test_only_files_have_paths() -> None:
    assert local_path("file:///home/me/shop/a%20b.py") == "/home/me/shop/a b.py"
    for uri in ("file://elsewhere/a", "https://example.org/a", "file:///a%00b", "file:a", "http://[", ""):
        assert local_path(uri) is None, uri
    assert shown_path("file:///home/me/shop/src/a.py", ROOT) == "src/a.py"
    assert shown_path("file:///etc/passwd", ROOT) == "/etc/passwd"


def test_ends_of_runs_have_stop_reasons() -> None:
    def reason(state: str, reason: str) -> str:
        return end_of({"state": state, "reason": reason, "run_id": "run_1"}, "ses_1").stop_reason

    assert reason("succeeded", "stop") == "end_turn"
    assert reason("succeeded", "length") == "max_tokens"
    assert reason("succeeded", "max_steps") == reason("interrupted", "budget_usd") == "max_turn_requests"
    assert reason("failed", "content_refused") == "refusal"
    assert reason("cancelled", "cancelled") == "cancelled"
    assert (
        "kaged session resume ses_1"
        in end_of({"state": "interrupted", "reason": "paused", "run_id": "run_1"}, "ses_1").note
    )
    with pytest.raises(RequestError, match="it broke"):
        end_of({"state": "failed", "reason": "x", "run_id": "r", "error": {"message": "it broke"}}, "ses_1")


def test_options_say_which_rules_are_stored() -> None:
    def rules(*patterns: str) -> list[dict[str, str]]:
        return [{"permission": "shell.bash", "pattern": one, "action": "allow"} for one in patterns]

    assert [one.option_id for one in options_for({"suggestions": []})] == ["once", "reject"]
    many = options_for({"suggestions": rules("a *", "b\x1b *", "c *", "d *")})
    assert [one.kind for one in many] == ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert many[1].name.endswith("shell.bash a *, shell.bash b\\u{1b} *, shell.bash c * and 1 more")
