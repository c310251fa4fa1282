"""The benchmarks are there, run, and say what is to be reached."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.bridges.dap.manager import AdapterTable
from bench import issue_search
from bench.__main__ import names
from bench.debug_client import RawDebugger
from bench.processes import daemon
from bench.recorded_session import imported, last_words, recorded, settings
from tests.driver.debug_adapters import debug_environment

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.requirement("tools.bench.figures")
def test_each_figure_of_the_tools_has_a_benchmark() -> None:
    assert {"search_grep", "search_glob", "search_ast", "file_tools", "shell", "dispatch"} <= set(names())


@pytest.mark.requirement("delegation.overhead")
def test_the_overhead_of_a_delegation_has_a_benchmark() -> None:
    assert "delegation" in names()


@pytest.mark.requirement("debugger.bench.figures")
def test_the_debugger_is_measured_beside_a_raw_client_with_the_same_adapter(tmp_path: Path) -> None:
    assert {"debug", "debug_why"} <= set(names())
    script = tmp_path / "turns.py"
    script.write_text("total = 0\nfor turn in range(100):\n    total += turn\n")
    environment = debug_environment(tmp_path / "home")
    adapter = AdapterTable((), (), environment, root=tmp_path).resolve("python")
    debugger = RawDebugger(adapter.command, {**environment, **adapter.env}, tmp_path)
    try:
        debugger.launch({"program": str(script), "python": list(adapter.interpreter)}, (script, 3))
        assert debugger.look()[0] == 3
        debugger.step()
        assert debugger.look()[0] == 2
    finally:
        debugger.close()


@pytest.mark.requirement("tools.bench.figures")
def test_a_benchmark_prints_a_figure_its_goal_and_their_ratio() -> None:
    done = bench("dispatch")
    assert done.returncode == 0, done.stderr
    assert "machine now: " in done.stdout
    figure = re.search(r": ([\d.]+) ms  goal <= ([\d.]+) ms  ratio ([\d.]+)", done.stdout)
    assert figure is not None, done.stdout
    value, goal, ratio = map(float, figure.groups())
    assert ratio == pytest.approx(value / goal, abs=0.01)


def test_the_session_of_the_page_is_recorded_once_and_every_daemon_imports_it_whole(tmp_path: Path) -> None:
    assert "page" in names() and "recorded_session" not in names()
    with daemon(settings=settings(tmp_path)) as running:
        session_id = imported(running, recorded(running, 40))
        with running.client() as client:
            found = client.get(f"/api/v1/sessions/{session_id}/messages?limit=100").raise_for_status().json()
    assert [one["role"] for one in found["items"]] == ["operator", "primary", "tool", "primary"] * 10
    said = [one["content"] for one in found["items"]]
    assert [last_words(40) in text for text in said] == [False] * 39 + [True]


@pytest.mark.requirement("issues.speed")
async def test_searching_issues_is_measured_with_common_rare_and_hostile_questions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert issue_search.ISSUES == 50_000
    monkeypatch.setattr(issue_search, "ISSUES", 500)
    await issue_search.measure_on("SQLite", None, issue_search.issues_to_search())
    figures = re.findall(r"SQLite: (.+) \((\d+) hits\): [\d.]+ ms  goal <= 50 ms", capsys.readouterr().out)
    assert [name for name, _ in figures] == list(issue_search.SEARCHES)
    assert int(dict(figures)["a common word"]) > 400


def test_a_benchmark_beside_another_product_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENHANDS_PYTHON", raising=False)
    done = bench("load_openhands")
    assert done.returncode == 0, done.stderr
    assert "pip install openhands-agent-server openhands-sdk openhands-tools" in done.stdout


def test_an_unknown_benchmark_is_refused_with_the_names_of_those_there_are() -> None:
    done = bench("nothing")
    assert done.returncode == 2
    assert "turn_overhead" in done.stderr
