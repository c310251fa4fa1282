"""The README's commands, run as they are written there, against the demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.driver.daemon_process import REPOSITORY
from tests.driver.demo_daemon import Demo
from tests.driver.machine import need
from tests.e2e.pasted_commands import Shell, commands

README = REPOSITORY / "README.md"


IN_ONE_LOOP = pytest.mark.asyncio(loop_scope="module")


@IN_ONE_LOOP
async def test_the_walk_by_hand_loads_creates_posts_and_watches(demo: Demo, tmp_path: Path) -> None:
    need("curl")
    printed = await Shell(demo, tmp_path).run(commands(README, "Over HTTP"))
    for kind in (
        "sync",
        "message.posted",
        "message.tool_call",
        "message.tool_result",
        "run.ended",
    ):
        assert f'"type":"{kind}"' in printed
    assert '"content":"Fix the failing test"' in printed.splitlines()[-1]
    code, output = await demo.tests()
    assert code == 0, output


@IN_ONE_LOOP
async def test_the_commands_for_a_terminal_find_the_daemon_of_make_run(demo: Demo, tmp_path: Path) -> None:
    script = commands(README, "From a terminal").replace("kaged doctor", "kaged doctor || true")
    printed = await Shell(demo, tmp_path).run(script)
    assert "✓ file.read bakery/basket.py" in printed
    assert "ten percent off for a dozen pieces" in printed
    assert re.search(r"ses_\w+ +idle .* Explain this project", printed)
    assert "✓ running" in printed


def test_every_file_that_the_documents_link_to_is_there() -> None:
    for document in (README, *(REPOSITORY / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
