"""The examples of `docs/hooks.md` do what the page says, as they stand there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, driven, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.hooked import ended, result_of

pytestmark = pytest.mark.requirement("hooks.documented")

PAGE = (Path(__file__).parents[3] / "docs" / "hooks.md").read_text("utf-8")
EXAMPLES = re.findall(
    r"```yaml\n(hooks:\n[^`]*+)```\n\n`(\.kaged/hooks/[a-z.-]++)`:\n\n```[a-z]++\n([^`]*+)```", PAGE
)
MAKEFILE = "test:\n\t@test -f done.txt || { echo done.txt is missing; exit 1; }\n"


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    return subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def documented(tmp_path: Path) -> Path:
    """A repository with the three hooks of the page, on the branch main."""
    allowed = '  permissions: [{ permission: shell.bash, pattern: "git *", action: allow }]\n'
    root = write_project(tmp_path / "shop", PROJECT_YAML + "    shell.bash: { enabled: true }\n" + allowed)
    hooks = "hooks:\n" + "".join(yaml.removeprefix("hooks:\n") for yaml, _, _ in EXAMPLES)
    file = root / ".kaged" / "project.yaml"
    file.write_text(file.read_text() + hooks)
    (root / ".kaged" / "hooks").mkdir()
    for _, name, script in EXAMPLES:
        (root / name).write_text(script)
        (root / name).chmod(0o755)
    (root / "Makefile").write_text(MAKEFILE)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


async def test_the_three_examples_of_the_page_work(
    fake: FakeProvider, documented: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    assert len(EXAMPLES) == 3
    commit = "git -c user.name=t -c user.email=t@localhost commit -qam two"
    branch = "git switch -q -c work"
    fake.script(
        Reply((ToolCall("file_write", {"path": "a.json", "content": '{"a":1}'}, id="c1"),)),
        Reply((ToolCall("shell_bash", {"command": "git add . && git commit -qm two"}, id="c2"),)),
        Reply((ToolCall("shell_bash", {"command": branch}, id="c3"),)),
        Reply((ToolCall("shell_bash", {"command": f"git add . && {commit}"}, id="c4"),)),
        Reply((ToolCall("file_write", {"path": "b.txt", "content": "b\n"}, id="c5"),)),
        text_reply("Done?"),
        Reply((ToolCall("file_write", {"path": "done.txt", "content": "yes\n"}, id="c6"),)),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", documented, **settings_overrides) as driver:
        watch = await driver.run("Work")

    assert (documented / "a.json").read_text() == '{\n  "a": 1\n}\n'
    assert "a.json was formatted. Read it again" in result_of(watch, "c1")["content"]
    assert "The branch is main. Make another one first" in result_of(watch, "c2")["content"]
    assert not result_of(watch, "c4")["isError"], result_of(watch, "c4")
    assert git(documented, "log", "--format=%s", "work").split() == ["two", "one"]
    decisions = [(one["hook"], one["decision"]) for one in ended(watch)]
    assert decisions == [
        ("format", "continue"),
        ("no-commits-to-main", "deny"),
        ("no-commits-to-main", "continue"),
        ("tests", "sent_back"),
        ("tests", "continue"),
    ]
    sent_back = next(one for one in ended(watch) if one["decision"] == "sent_back")
    assert "done.txt is missing" in sent_back["reason"]
