"""How commands end when what they write to, or what they are given, is not as they would like it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import orjson
import pytest

from tests.driver.kaged import COMMAND, WAIT_SECONDS, Home


def shell(home: Home, line: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `kaged` is the command; any pipe's last failure is its exit code."""
    kaged = " ".join(COMMAND)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("kaged", kaged, 1)],
        cwd=home.project,
        env=home.environment(**extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def without_findings(home: Home) -> None:
    """Give the project's root agent a cage: without one `kaged check` has a warning."""
    file = home.project / ".kaged" / "project.yaml"
    file.write_text(file.read_text().replace("cage: disabled", "cage: { fs: [{ mode: ro, path: . }] }"))


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_locale_without_a_character_ends_no_command(home: Home, encoding: str) -> None:
    without_findings(home)
    done = home.run("check", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "no findings" in done.stdout
    assert done.stderr == ""


def test_json_is_utf_8_in_every_locale(home: Home, tmp_path: Path) -> None:
    root = tmp_path / "Lädchen"
    done = home.run("init", str(root), "--json", PYTHONIOENCODING="latin-1")
    assert orjson.loads(done.stdout)["root"] == str(root)


@pytest.mark.parametrize("command", ["openapi", "check", "--version", "--help", "check --json"])
def test_a_full_disk_is_reported_without_a_traceback(home: Home, command: str) -> None:
    done = shell(home, f"kaged {command} > /dev/full")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["openapi", "openapi --json"])
def test_a_reader_that_has_gone_is_no_news(home: Home, command: str) -> None:
    done = shell(home, f"kaged {command} | true")
    assert done.returncode == 1
    assert done.stderr == ""


def test_closed_streams_end_no_command(home: Home) -> None:
    assert shell(home, "kaged check >&- 2>&-").returncode == 0
    assert shell(home, "kaged bogus >&- 2>&-").returncode == 2


def test_no_color_is_honoured(home: Home) -> None:
    without_findings(home)
    assert "\x1b[32m" in home.terminal("check").read()
    assert "\x1b[31m" in home.terminal("bogus").read()
    for command in ("check", "bogus"):
        plain = home.terminal(command, NO_COLOR="1").read()
        assert "no findings" in plain or "No such command" in plain
        assert "\x1b" not in plain


def test_wrong_use_is_json_too_wherever_json_stands(home: Home) -> None:
    for arguments in (("sesion", "--json"), ("check", "--bogus", "--json"), ("session", "lst", "--json")):
        done = home.run(*arguments)
        assert done.returncode == 2
        assert orjson.loads(done.stderr)["error"]["code"] == "usage"
    assert "Did you mean 'session'?" in home.run("sesion", "list").stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--url", "http://127.0.0.1:99999", "--token", "x"), "--url must be an address"),
        (("--url", "http://[::1", "--token", "x"), "--url must be an address"),
        (("--url", "http://", "--token", "x"), "--url must be an address"),
        (("--url", "http://127.0.0.1:1", "--token", "tökn"), "characters that no token contains"),
        (("--url", "http://127.0.0.1:1", "--token", "a\nb"), "characters that no token contains"),
    ],
)
def test_an_address_or_token_that_cannot_be_one_is_wrong_use(
    home: Home, arguments: tuple[str, ...], told: str
) -> None:
    done = home.run("session", "list", *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert told in done.stderr


@pytest.mark.parametrize("line", [r"kaged send $'a\xffb'", r"printf 'a\xffb' | kaged send -"])
def test_text_that_is_no_text_is_reported_before_anything_is_sent(home: Home, line: str) -> None:
    done = shell(home, line)
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_question_that_nobody_answers_is_reported(home: Home, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(b"x")
    done = home.run("db", "restore", str(tmp_path / "dump"))
    assert done.returncode == 1
    assert "nothing was done" in done.stderr


def test_a_file_that_cannot_be_written_is_reported(home: Home) -> None:
    home.data_dir.mkdir()
    assert home.run("db", "upgrade").returncode == 0
    done = home.run("db", "backup", "/nowhere/backup.gz")
    assert done.returncode == 1
    assert "/nowhere/backup.gz" in done.stderr
    assert "Traceback" not in done.stderr
