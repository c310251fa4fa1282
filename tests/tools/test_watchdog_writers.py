"""Commands that put something where it runs or holds later: each way of naming the place is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.authorisation.danger_destructive import judge_part
from app.tools.authorisation.shell_reader import read_script

pytestmark = pytest.mark.requirement("daemon.identity")


def verdicts(command: str) -> list[str]:
    parts = read_script(command).parts
    assert parts
    return [found.action for part in parts if (found := judge_part(part, Path("/srv/shop"))) is not None]


@pytest.mark.parametrize(
    "command",
    [
        "cp wide.yaml .kaged/project.yaml",
        "cp project.yaml .kaged",
        "cp -t .kaged/ project.yaml",
        "cp --target-directory=.kaged/ project.yaml",
        "mv wide.yaml .kaged/project.yaml",
        "mv pre-commit .git/hooks",
        "sed -i s/a/b/ .kaged/project.yaml",
        "sed -i.bak -e s/a/b/ .kaged/project.yaml README.md",
        "sed --in-place s/a/b/ .git/config",
        "tee .kaged/project.yaml /dev/null",
    ],
)
def test_what_is_put_there_is_asked_about(command: str) -> None:
    assert verdicts(command) == ["ask"]


@pytest.mark.parametrize(
    "command",
    [
        "cp .kaged/project.yaml copy.yaml",
        "sed -n 1,9p .kaged/project.yaml",
        "sed s/a/b/ .git/config",
        "sed -i s/a/b/ README.md",
        "mv a b",
        "tee out.txt",
        "cp -t build README.md",
    ],
)
def test_reading_there_and_writing_elsewhere_is_not(command: str) -> None:
    assert verdicts(command) == []
