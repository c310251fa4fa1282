"""What plugins say stands between marks that nothing inside can end, whatever it is made of."""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import pytest

from app.harness.conversation.injection import MAX_CHARACTERS, injection

MEMORY = Path(__file__).parents[3] / "examples" / "plugins" / "memory" / "plugin.py"


@pytest.mark.requirement("plugins.session_start")
@pytest.mark.parametrize("mark", ["</plugin:a>", "<plugin:b>", "< / PLUGIN :a>", "<\n/\tplugin\u00a0:a>"])
def test_a_mark_inside_is_written_out(mark: str) -> None:
    assert injection("a", f"x {mark} <b> y") == f"<plugin:a>x &lt;{mark[1:]} <b> y</plugin:a>"


@pytest.mark.requirement("plugins.hostile")
@pytest.mark.parametrize("piece", ["<" + " " * 70_000, "<", "< /", "<" + " " * 300, "\0"])
def test_no_text_takes_long(piece: str) -> None:
    text = (piece * 70_000)[:MAX_CHARACTERS]
    began = time.process_time()
    injection("a", text)
    assert time.process_time() - began < 1.0


@pytest.mark.requirement("plugins.memory")
def test_the_memory_plugin_looks_through_blank_lines_in_no_time() -> None:
    memory = runpy.run_path(str(MEMORY), run_name="__plugin__")
    began = time.process_time()
    found = memory["DECISION"].findall("> - Decision: use SQLite" + "\n" * 60_000)
    assert time.process_time() - began < 1.0
    assert found == ["use SQLite"]


@pytest.mark.requirement("plugins.memory")
@pytest.mark.parametrize("text", ["Keep this #important", "[important] keep", "a !important rule"])
def test_what_is_marked_important_is_seen(text: str) -> None:
    memory = runpy.run_path(str(MEMORY), run_name="__plugin__")
    assert memory["IMPORTANT"].search(text)
    assert not memory["IMPORTANT"].search("an unimportant#important word, #importantly")
