"""Commands that need no daemon: init, check, doctor, db, openapi; and the exit codes of all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.kaged import DaemonProcess, Home

COMMANDS = (
    ("serve",),
    ("trust",),
    ("project", "move"),
    ("send",),
    ("attach",),
    ("session", "list"),
    ("session", "export"),
    ("session", "import"),
    ("init",),
    ("check",),
    ("doctor",),
    ("providers", "list"),
    ("providers", "test"),
    ("db", "upgrade"),
    ("db", "backup"),
    ("db", "restore"),
    ("db", "check"),
    ("record",),
    ("openapi",),
    ("status",),
    ("stop",),
    ("logs",),
    ("open",),
    ("completion",),
    ("version",),
    ("token", "create"),
    ("token", "list"),
    ("token", "revoke"),
)


@pytest.mark.requirement("command_line.exits")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_json_and_help(home: Home, command: tuple[str, ...]) -> None:
    done = home.run(*command, "--help")
    assert done.returncode == 0
    assert "--json" in done.stdout


@pytest.mark.requirement("command_line.exits")
@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("send",),
        ("send", "--mode", "shout", "x"),
        ("send", "  "),
        ("db", "restore", "none", "--yes"),
    ],
)
def test_wrong_use_exits_with_2_and_points_to_the_help(home: Home, arguments: tuple[str, ...]) -> None:
    done = home.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--help`" in done.stderr
    as_json = home.run(*arguments, "--json")
    assert as_json.returncode == 2


@pytest.mark.requirement("command_line.exits", "command_line.discovery")
@pytest.mark.parametrize(
    "arguments", [("send", "hello"), ("attach",), ("session", "list"), ("token", "list")]
)
def test_without_a_daemon_a_command_says_how_to_start_one(home: Home, arguments: tuple[str, ...]) -> None:
    done = home.run(*arguments, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    error = orjson.loads(done.stderr)["error"]
    assert error["code"] == "no_daemon"
    assert "kaged serve" in error["message"]
    assert str(home.data_dir) in error["message"]


def test_a_mistake_in_the_config_file_is_reported_by_every_command(home: Home) -> None:
    home.config.write_text("[daemon]\nprot = 1\n")
    done = home.run("session", "list")
    assert done.returncode == 1
    assert "did you mean daemon.port?" in done.stderr


def test_the_help_does_not_import_what_only_other_commands_need(home: Home) -> None:
    done = home.run("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    heavy = ("fastapi", "sqlalchemy", "pydantic", "httpx2", "websockets")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert not imported & set(heavy)


@pytest.mark.requirement("command_line.openapi", "command_line.exits")
def test_openapi_prints_a_document_and_the_frames(home: Home) -> None:
    document = home.json("openapi")
    assert "/api/v1/sessions" in document["paths"]
    frames = home.json("openapi", "--events")
    assert any(frame["title"] == "message.delta" for frame in frames["oneOf"])


@pytest.mark.requirement("command_line.openapi")
def test_openapi_writes_both_files(home: Home, tmp_path: Path) -> None:
    written = home.json("openapi", "--write", str(tmp_path / "documents"))
    assert [Path(name).name for name in written["files"]] == ["openapi.json", "events.schema.json"]
    assert all(orjson.loads(Path(name).read_bytes()) for name in written["files"])


@pytest.mark.requirement("project_file.commands")
def test_init_writes_a_project_that_check_accepts_and_never_replaces_one(home: Home, tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    written = home.json("init", str(root))
    assert str(root / ".kaged" / "project.yaml") in written["files"]
    checked = home.run("check", str(root))
    assert checked.returncode == 0, checked.stdout
    before = (root / ".kaged" / "project.yaml").read_bytes()
    again = home.run("init", str(root))
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert (root / ".kaged" / "project.yaml").read_bytes() == before


@pytest.mark.requirement("project_file.commands")
def test_check_prints_diagnostics_as_compilers_do(home: Home) -> None:
    (home.project / ".kaged" / "project.yaml").write_text(
        "version: 1\nproject: library\nprimry:\n  model: demo\nagents: {}\n"
    )
    done = home.run("check")
    assert done.returncode == 1
    assert ".kaged/project.yaml:3:1" in done.stdout
    assert ".kaged/project.yaml:5:1" in done.stdout
    answer = home.run("check", "--json")
    assert answer.returncode == 1
    found = orjson.loads(answer.stdout)
    assert found["valid"] is False
    assert {(entry["line"], entry["column"]) for entry in found["diagnostics"]} >= {(3, 1), (5, 1)}


def test_check_knows_the_model_aliases_of_the_config(home: Home) -> None:
    assert home.run("check").returncode == 0
    home.config.write_text("")
    done = home.run("check")
    assert done.returncode == 1
    assert "demo" in done.stdout
    assert home.run("check", "--no-models").returncode == 0


def test_check_finds_the_project_from_a_folder_inside_it(home: Home, tmp_path: Path) -> None:
    inside = home.project / "prompts"
    assert home.json("check", cwd=inside)["root"] == str(home.project)
    outside = tmp_path / "outside"
    outside.mkdir()
    done = home.run("check", cwd=outside)
    assert done.returncode == 1
    assert "kaged init" in done.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the doctor finds in a home whose settings name two programs that are not there."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.config.write_text(
        home.config.read_text()
        + '\n[lsp.servers.elixir]\ncommand = ["/none/elixir-ls"]\n'
        + '\n[dap.adapters.elixir]\nadapter = ["/none/elixir-dap"]\n'
    )
    found: dict[str, Any] = home.json("doctor")
    return found


@pytest.mark.requirement("command_line.doctor")
def test_doctor_says_what_is_there_and_how_to_get_what_is_not(report: dict[str, Any]) -> None:
    assert report["ok"] is True
    found = {(entry["group"].split(" (")[0], entry["name"]): entry for entry in report["findings"]}
    assert sys.executable in found["system", "python"]["detail"]
    assert found["system", "sqlite"]["status"] == "ok"
    assert found["providers", "replay"]["status"] == "ok"
    assert "ANTHROPIC_API_KEY" in found["providers", "anthropic"]["advice"]
    for entry in report["findings"]:
        assert entry["status"] == "ok" or entry["advice"] or entry["name"] in ("landlock", "cages")
    assert {"sandbox", "language servers", "debug adapters"} <= {group for group, _ in found}


@pytest.mark.requirement("language_servers.servers.listed")
def test_doctor_lists_every_language_with_its_server_or_how_to_get_one(report: dict[str, Any]) -> None:
    findings = report["findings"]
    found = {entry["name"]: entry for entry in findings if entry["group"] == "language servers"}
    assert {"python", "typescript", "rust", "zig", "elixir"} <= found.keys() and len(found) >= 21
    assert found["python"]["status"] == "ok"
    assert found["elixir"]["status"] == "absent" and "/none/elixir-ls" in found["elixir"]["detail"]
    assert all(entry["status"] == "ok" or entry["advice"] for entry in found.values())


@pytest.mark.requirement("debugger.adapters.listed")
def test_doctor_lists_every_runtime_with_its_debug_adapter_or_how_to_get_one(report: dict[str, Any]) -> None:
    findings = report["findings"]
    found = {entry["name"]: entry for entry in findings if entry["group"] == "debug adapters"}
    assert {"python", "c", "cpp", "rust", "zig", "go", "elixir"} <= found.keys()
    assert found["python"]["status"] == "ok" and "debugpy" in found["python"]["detail"]
    assert found["elixir"]["status"] == "absent" and "/none/elixir-dap" in found["elixir"]["detail"]
    assert all(entry["status"] == "ok" or entry["advice"] for entry in found.values())


@pytest.mark.requirement("command_line.doctor")
def test_doctor_never_shows_a_credential(home: Home) -> None:
    done = home.run("doctor", "--json", OPENAI_API_KEY="sk-do-not-show-this")
    found = {entry["name"]: entry for entry in orjson.loads(done.stdout)["findings"]}
    assert found["openai"]["status"] == "ok"
    assert "sk-do-not-show-this" not in done.stdout + done.stderr + home.run("doctor").stdout


@pytest.mark.requirement("command_line.doctor")
def test_doctor_fails_when_something_keeps_kaged_from_working(home: Home, tmp_path: Path) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    done = home.run("doctor", "--data-dir", str(blocked / "data"))
    assert done.returncode == 1
    assert "cannot be written" in done.stdout
    storage = home.run(
        "doctor", "--json", KAGED_STORAGE__URL="postgresql://kaged:hidden-word@127.0.0.1:1/none"
    )
    assert storage.returncode == 1
    assert "hidden-word" not in storage.stdout + storage.stderr


@pytest.mark.requirement("command_line.doctor")
def test_doctor_sees_a_running_daemon(home: Home) -> None:
    daemon = DaemonProcess(home).start()
    assert daemon.ready["url"] in home.run("doctor").stdout
    daemon.stop()


@pytest.mark.requirement("command_line.db")
def test_a_backup_restores_what_was_there(home: Home, tmp_path: Path) -> None:
    assert home.json("db", "upgrade")["before"] is None
    assert home.json("db", "upgrade")["before"] is not None
    daemon = DaemonProcess(home).start()
    assert home.run("send", "please read it").returncode == 0
    file = tmp_path / "backup"
    backed_up = home.json("db", "backup", str(file))
    assert backed_up["rows"]["sessions"] == 1
    refused = home.run("db", "restore", str(file), "--yes")
    assert refused.returncode == 1
    assert str(daemon.process.pid) in refused.stderr
    home.run("send", "please read it")
    daemon.stop()
    assert home.json("db", "restore", str(file), "--yes")["rows"] == backed_up["rows"]
    checked = home.json("db", "check")
    assert (checked["ok"], checked["rows"]["sessions"]) == (True, 1)


@pytest.mark.requirement("command_line.db")
def test_restore_asks_before_it_replaces(home: Home, tmp_path: Path) -> None:
    home.json("db", "upgrade")
    file = tmp_path / "backup"
    home.json("db", "backup", str(file))
    terminal = home.terminal("db", "restore", str(file))
    terminal.expect(r"Replace everything in the database by .*\? \[y/N\]")
    terminal.sendline("n")
    terminal.wait()
    assert terminal.exitstatus == 1


@pytest.mark.requirement("command_line.db")
def test_check_finds_a_damaged_database(home: Home) -> None:
    home.json("db", "upgrade")
    (database,) = home.data_dir.glob("*.db")
    content = bytearray(database.read_bytes())
    content[4096 * 2 : 4096 * 6] = b"\xff" * (4096 * 4)
    database.write_bytes(content)
    done = home.run("db", "check")
    assert done.returncode == 1
    assert "damaged" in done.stdout + done.stderr


@pytest.mark.requirement("security.root_cage")
def test_init_writes_a_cage_and_disables_it_where_this_machine_holds_none(home: Home, tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    home.config.write_text(home.config.read_text() + '\n[sandbox]\nmode = "off"\n')
    written = home.json("init", str(root))
    assert written["cages"]["tier"] == "off"
    local = root / ".kaged/project.local.yaml"
    assert str(local) in written["files"]
    assert local.read_text().endswith("primary:\n  cage: disabled\n")
    checked = home.json("check", str(root))
    assert checked["valid"] is True
    assert [one["code"] for one in checked["diagnostics"]] == ["root_uncaged"]
    local.unlink()
    assert home.json("check", str(root))["diagnostics"] == []
