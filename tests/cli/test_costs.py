"""`kaged costs`: what sessions cost, as a table, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.costs")

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: dear
    steps:
      - usage: { input_tokens: 1000, output_tokens: 100, cache_read_tokens: 500 }
        answer:
          - text: Done.
  - when: cheap
    steps:
      - usage: { input_tokens: 10, output_tokens: 1 }
        answer:
          - text: Done.
"""
PRICE = '[prices."replay:demo"]\ninput = 2\noutput = 10\ncache_read = 1\n'


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon with two sessions that cost something."""
    home = Home(tmp_path_factory.mktemp("home"))
    (home.folder / "demo.yaml").write_text(TRANSCRIPT)
    home.config.write_text(f"{home.config.read_text()}{PRICE}")
    with DaemonProcess(home, ("--project", str(home.project))).start() as running:
        for text in ("dear", "cheap"):
            assert home.run("send", "--title", f"+{text}", text).returncode == 0
        yield running


def test_the_table_ends_with_the_sum(daemon: DaemonProcess) -> None:
    lines = [line.split() for line in daemon.home.run("costs").stdout.splitlines()]
    assert [line[1:] for line in lines[1:3]] == [
        ["1", "10", "0", "1", "0.0000", "+cheap"],
        ["1", "1,000", "500", "100", "0.0035", "+dear"],
    ]
    assert lines[3] == ["total", "2", "1,010", "500", "101", "0.0035"]


def test_costs_are_grouped(daemon: DaemonProcess) -> None:
    days = Counter(one["created_at"][:10] for one in daemon.call("GET", "/sessions")["items"])
    by_day = daemon.home.json("costs", "--by", "day")["items"]
    assert {one["day"]: one["sessions"] for one in by_day} == days  # two of them around midnight
    assert sum(one["output_tokens"] for one in by_day) == 101
    by_project = daemon.home.json("costs", "--by", "project")
    assert [one["project"] for one in by_project["items"]] == ["library"]
    assert by_project["total"]["cost_usd"] == pytest.approx(0.00353)
    assert by_project["total"]["incomplete"] is False


def test_csv_holds_no_formula(daemon: DaemonProcess) -> None:
    rows = list(csv.DictReader(io.StringIO(daemon.home.run("costs", "--csv").stdout)))
    assert [row["title"] for row in rows] == ["'+cheap", "'+dear"]
    assert [row["cost_usd"] for row in rows] == ["0.000030", "0.003500"]
    assert all(row["session"].startswith("ses_") for row in rows)


def test_days_and_projects_narrow(daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert "no session began since 2999-01-01" in daemon.home.run("costs", "--since", "2999-01-01").stdout
    assert daemon.home.json("costs", "--until", "2020-01-01", "--since", "2020-01-01")["items"] == []
    assert len(daemon.home.json("costs", "--project", str(daemon.home.project))["items"]) == 2
    other = Home(tmp_path_factory.mktemp("other"))
    assert daemon.home.json("costs", "--project", str(other.project))["items"] == []


def test_wrong_use_is_explained(daemon: DaemonProcess) -> None:
    wrong = daemon.home.run("costs", "--since", "yesterday")
    assert wrong.returncode == 2 and "'yesterday'" in wrong.stderr
    assert daemon.home.run("costs", "--csv", "--json").returncode == 2


def test_an_unknown_price_is_no_zero(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    (home.folder / "demo.yaml").write_text(TRANSCRIPT)
    with DaemonProcess(home).start():
        assert home.run("send", "dear").returncode == 0
        assert home.run("costs").stdout.splitlines()[-1].split() == ["total", "1", "1,000", "500", "100", "?"]
        [row] = csv.DictReader(io.StringIO(home.run("costs", "--csv").stdout))
        assert (row["cost_usd"], row["incomplete"]) == ("", "true")
