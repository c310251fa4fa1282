"""`kaged hooks`: the hooks of a project are listed, tried on an example, and imported from Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.kaged import PROJECT_YAML, DaemonProcess, Home

pytestmark = pytest.mark.requirement("hooks.commands")

HOOKED_YAML = (
    PROJECT_YAML
    + """\
hooks:
  before_tool:
    - name: frozen
      command: "grep -q LICENSE && { echo 'LICENSE is frozen' >&2; exit 2; }; exit 0"
      match: [{ permission: fs.write, pattern: LICENSE }]
  on_prompt:
    - name: greet
      command: [/bin/echo, "hello from a hook"]
      cage: disabled
  on_stop:
    - { name: broken, command: "echo no tests here >&2; exit 7", cage: disabled }
"""
)
CLAUDE: dict[str, Any] = {
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "touch ran", "timeout": 30}]},
            {"matcher": "Notebook.*", "hooks": [{"type": "command", "command": "true"}]},
        ],
        "PostToolUse": [
            {
                "matcher": "Edit|Write",
                "hooks": [{"type": "command", "command": "jq -r .tool_input.file_path"}],
            }
        ],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo \"it's a: 'test'\""}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "make test"}, {"type": "prompt", "prompt": "?"}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}],
    }
}


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Home]:
    """A home with a daemon that runs, and a project with hooks."""
    home = Home(tmp_path)
    (home.project / ".kaged" / "project.yaml").write_text(HOOKED_YAML)
    home.config.write_text(
        home.config.read_text()
        + '[[hooks.after_tool]]\nname = "count"\ncommand = ["/bin/true", "sk-test-1"]\n'
    )
    daemon = DaemonProcess(home).start()
    yield home
    daemon.stop()


def with_claude(home: Home, settings: Any = CLAUDE) -> None:
    (home.project / ".claude").mkdir()
    content = settings if isinstance(settings, str) else json.dumps(settings)
    (home.project / ".claude" / "settings.json").write_text(content)


def test_hooks_are_listed_with_their_source_and_tried_on_an_example(hooked: Home) -> None:
    shown = hooked.run("hooks", "list")
    listed = hooked.json("hooks", "list")["items"]
    passes = hooked.run("hooks", "test", "frozen")
    denied = hooked.run("hooks", "test", "frozen", "--arguments", '{"path": "LICENSE", "content": ""}')
    greeted = hooked.json("hooks", "test", "greet", "--prompt", "Hi")
    unknown = hooked.run("hooks", "test", "frozn")
    sent = hooked.run("send", "read this please")
    after = hooked.json("hooks", "list")["items"]
    told = hooked.run("hooks", "list")

    assert [line.split()[:3] for line in shown.stdout.splitlines()[1:]] == [
        ["count", "after_tool", "config"],
        ["frozen", "before_tool", "project"],
        ["greet", "on_prompt", "project"],
        ["broken", "on_stop", "project"],
    ]
    assert listed[1]["match"] == [{"permission": "fs.write", "pattern": "LICENSE"}]
    assert [one["cage"] for one in listed] == [None, None, "disabled", "disabled"]
    assert (passes.returncode, passes.stdout.splitlines()[0]) == (0, "frozen (before_tool): continue")
    assert (denied.returncode, denied.stdout.splitlines()[0]) == (1, "frozen (before_tool): deny")
    assert "LICENSE is frozen" in denied.stdout
    assert (greeted["decision"], greeted["context"]) == ("continue", "hello from a hook")
    assert unknown.returncode == 1
    assert "no hook frozn" in unknown.stderr
    assert sent.returncode == 0
    assert "! hook broken (on_stop): warning: it ended with exit code 7: no tests here" in sent.stderr
    # Trying a hook is no run of it.
    assert [(one["state"], one["runs"], one["last_failure"]) for one in listed] == [("not_run", 0, None)] * 4
    assert [(one["name"], one["state"], one["runs"], one["failures"]) for one in after] == [
        ("count", "ok", 2, 0),
        ("frozen", "not_run", 0, 0),
        ("greet", "ok", 1, 0),
        ("broken", "failed", 1, 1),
    ]
    assert after[3]["last_failure"]["reason"] == "it ended with exit code 7: no tests here"
    assert "failed: it ended with exit code 7" in told.stdout


def test_the_hooks_of_claude_code_are_shown_and_written_and_never_run(home: Home) -> None:
    with_claude(home)
    shown = home.run("hooks", "import")
    answer = home.json("hooks", "import")
    before = (home.project / ".kaged" / "project.yaml").read_text()
    written = home.run("hooks", "import", "--write")
    again = home.run("hooks", "import", "--write")
    checked = home.run("check")

    assert shown.returncode == 0
    assert before == PROJECT_YAML
    assert answer["hooks"] == {
        "before_tool": [
            {
                "name": "claude-before-tool-1",
                "command": "touch ran",
                "input": "claude",
                "match": [{"permission": "shell"}],
                "timeout_seconds": 30.0,
            }
        ],
        "after_tool": [
            {
                "name": "claude-after-tool-1",
                "command": "jq -r .tool_input.file_path",
                "input": "claude",
                "match": [
                    {"permission": "edit.*"},
                    {"permission": "file.write"},
                    {"permission": "file.create"},
                ],
            }
        ],
        "on_prompt": [
            {"name": "claude-on-prompt-1", "command": "echo \"it's a: 'test'\"", "input": "claude"}
        ],
        "on_stop": [
            {
                "name": "claude-on-stop-1",
                "command": "make test",
                "input": "claude",
                "timeout_seconds": 60.0,
            }
        ],
    }
    assert answer["left_out"] == [
        ".claude/settings.json: PreToolUse: the matcher 'Notebook.*' cannot be translated",
        ".claude/settings.json: Stop: an entry is not a command",
        ".claude/settings.json: SessionStart: there is no such event here",
    ]
    assert (written.returncode, again.returncode) == (0, 1)
    assert "has hooks already" in again.stderr
    assert (home.project / ".kaged" / "project.yaml").read_text().startswith(PROJECT_YAML.rstrip())
    assert checked.returncode == 0, checked.stdout
    assert not (home.project / "ran").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (f'"{"x" * 1_100_000}"', "larger than 1 MB"),
        ('{"hooks": {"PreToolUse": "all", "Stop": [1, {"hooks": 5}]}}', ""),
        ({"hooks": {"PreToolUse": [{"matcher": "|" * 900, "hooks": []}]}}, "cannot be translated"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a\0b"}]}]}}, "not a command"),
    ],
    ids=["half", "deep", "large", "shapes", "bars", "nul"],
)
def test_whatever_the_settings_of_claude_code_hold_nothing_breaks(
    home: Home, settings: Any, said: str
) -> None:
    with_claude(home, settings)
    done = home.run("hooks", "import")
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert "there are no hooks to import" in done.stdout
