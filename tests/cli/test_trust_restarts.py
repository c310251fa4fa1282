"""Trust over the lives of a daemon: kept, taken back, and given by an upgrade."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import orjson
import pytest

from app.harness.workflows.schedule import start_due
from app.storage.engine import close_connection, open_database
from app.storage.schema_version import migration_transaction, run_migrations
from tests.cli.test_trust import MORE_YAML, SCHEDULED_YAML, trust_of
from tests.driver.daemon import running_daemon
from tests.driver.kaged import WAIT_SECONDS, DaemonProcess, Home
from tests.driver.schedules import stop_clock

pytestmark = pytest.mark.requirement("security.trust")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose settings trust nobody."""
    return Home(tmp_path, trusted=False)


def test_trust_is_stored_without_a_daemon_and_taken_back_without_one(home: Home) -> None:
    shown = home.run("trust", "--show")
    assert "is not trusted" in shown.stdout and "it is not caged at all" in shown.stdout
    assert ".kaged/project.yaml:6" in shown.stdout
    assert home.json("trust", "--always")["trust"]["by"] == "always"
    daemon = DaemonProcess(home).start()
    assert trust_of(daemon)["state"] == "trusted"
    daemon.stop()
    assert home.json("trust", "--remove")["trust"]["state"] == "untrusted"
    daemon = DaemonProcess(home).start()
    assert trust_of(daemon)["state"] == "untrusted"
    daemon.stop()


def test_serve_with_trust_trusts_what_it_loads_as_it_is_then(home: Home) -> None:
    daemon = DaemonProcess(home, ("--trust",)).start()
    assert trust_of(daemon)["state"] == "trusted"
    daemon.stop()
    (home.project / ".kaged" / "project.yaml").write_text(MORE_YAML)
    daemon = DaemonProcess(home).start()
    assert trust_of(daemon)["state"] == "changed"
    changed = [act["text"] for act in trust_of(daemon)["acts"] if act["change"]]
    assert changed == ["shell.bash"]
    daemon.stop()


def as_of_schema_8(home: Home) -> None:
    """Put the project into a database as the release before trust left it."""
    with closing(sqlite3.connect(home.data_dir / "kaged.db")) as now:
        rows = {
            table: (
                [column[1] for column in now.execute(f"PRAGMA table_info({table})")],
                now.execute(f"SELECT * FROM {table}").fetchall(),
            )
            for table in ("projects", "blobs")
        }
    for file in home.data_dir.glob("kaged.db*"):
        file.unlink()
    connection = open_database(None, home.data_dir).connect(exclusive=True)
    with migration_transaction(connection):
        run_migrations(connection, "0008")
        for table, (columns, found) in rows.items():
            marks = ", ".join("?" * len(columns))
            for row in found:
                connection.exec_driver_sql(
                    f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", row
                )
    close_connection(connection)


@pytest.mark.requirement("in_use.upgrade")
def test_an_upgrade_trusts_the_loaded_projects_as_they_were_and_doctor_lists_them_once(home: Home) -> None:
    (home.project / ".kaged" / "project.yaml").write_text(SCHEDULED_YAML)
    DaemonProcess(home, ("--trust",)).start().stop()
    as_of_schema_8(home)
    daemon = DaemonProcess(home).start()
    assert trust_of(daemon)["state"] == "trusted"
    assert ("schedule", "0 3 * * *") in {(act["kind"], act["text"]) for act in trust_of(daemon)["acts"]}
    headers = {"authorization": f"Bearer {daemon.token}"}
    with httpx2.Client(
        base_url=f"{daemon.ready['url']}/api/v1", headers=headers, trust_env=False, timeout=WAIT_SECONDS
    ) as client:
        project = daemon.ready["projects"][0]["id"]
        (audited,) = client.get("/audit?event=trust.*").json()["items"]
        assert (audited["event"], audited["project_id"]) == ("trust.migrated", project)
        (home.project / ".kaged" / "project.yaml").write_text(SCHEDULED_YAML.replace("0 3", "* *"))
        client.post(f"/projects/{project}/reload")
        assert client.get(f"/projects/{project}").json()["trust"]["state"] == "changed"
    told = [
        [
            one["name"]
            for one in orjson.loads(home.run("doctor", "--json").stdout)["findings"]
            if one["group"] == "projects" and "upgrade" in one["detail"]
        ]
        for _ in range(2)
    ]
    assert told == [[str(home.project)], []]
    daemon.stop()


@pytest.mark.requirement("in_use.upgrade")
async def test_the_schedule_of_a_project_runs_after_an_upgrade_as_before(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_clock(monkeypatch)
    (home.project / ".kaged" / "project.yaml").write_text(SCHEDULED_YAML)
    DaemonProcess(home, ("--trust",)).start().stop()
    as_of_schema_8(home)
    slot = round(datetime(2026, 11, 23, 3, tzinfo=UTC).timestamp() * 1000)
    replay = {"replay": {"driver": "replay", "transcript": str(home.folder / "demo.yaml")}}
    settings = {"models": {"demo": ["replay:demo"]}, "providers": replay, "projects": {"trusted": []}}
    async with running_daemon(home.data_dir, **settings) as daemon:
        assert len(await start_due(daemon.services.management.workflows, slot)) == 1
