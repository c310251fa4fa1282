"""`kaged share`: a file for other people, and what would leave with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.share")

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: look
    steps:
      - answer:
          - text: "I look. The key is config-key-90817263 here."
          - tool_call: { name: file.read, arguments: { path: README.md } }
      - answer:
          - text: Looked.
"""
SECRETS = ("config-key-90817263", "from-the-environment-5512")


class HomeWithSecret(Home):
    """A home whose environment has a secret."""

    def environment(self, **extra: str) -> dict[str, str]:
        return super().environment(**{"SHOP_API_TOKEN": SECRETS[1], **extra})


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon with a session that names a secret of its settings and one of its environment."""
    home = HomeWithSecret(tmp_path_factory.mktemp("home"))
    (home.folder / "demo.yaml").write_text(TRANSCRIPT)
    extra = f'\n[providers.other]\ndriver = "openai"\napi_key = "{SECRETS[0]}"\n'
    home.config.write_text(home.config.read_text() + extra)
    with DaemonProcess(home, ("--project", str(home.project))).start() as running:
        assert home.run("send", "--title", "Shared", f"look at {SECRETS[1]}").returncode == 0
        yield running


def test_a_session_is_written_as_html_and_markdown_without_secrets_and_never_over_a_file(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    page, notes = tmp_path / "shared.html", tmp_path / "shared.md"
    said = daemon.home.run("share", "last", "--include", "results,thinking", "-o", str(page))
    assert said.returncode == 0 and str(page) in said.stdout, said
    made = daemon.home.json("share", "last", "--format", "markdown", "--output", str(notes))
    assert made["bytes"] == notes.stat().st_size and notes.stat().st_mode & 0o77 == 0
    for text in (page.read_text(), notes.read_text(), daemon.home.run("share", "last").stdout):
        assert not [one for one in SECRETS if one in text]
        assert "Looked." in text and "redacted" in text
    assert "<h6>Result</h6>" in page.read_text()
    again = daemon.home.run("share", "last", "-o", str(page))
    assert again.returncode == 2 and "exists already" in again.stderr


def test_a_preview_says_what_leaves_and_what_stays_and_writes_nothing(daemon: DaemonProcess) -> None:
    said = daemon.home.run("share", "last", "--preview").stdout
    assert "1 messages of operators" in said and "README.md" in said and "Redacted: 2 secrets" in said
    assert "Kept here: 1 results of tool calls" in said
    found = daemon.home.json("share", "last", "--preview", "--include", "results")
    assert found["shared"]["results"] == 1 and found["kept"]["results"] == 0
    wrong = daemon.home.run("share", "last", "--include", "everything")
    assert wrong.returncode == 2 and "results, thinking, subagents, images" in wrong.stderr
