"""Lines that are counted without git are as many as git counts."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from app.harness.changes.line_counts import MOST_DIFFERENCES, few_differences
from tests.driver.rounds import SEED

pytestmark = pytest.mark.requirement("changes.list")

PAIRS = 150


def changed(chance: random.Random) -> tuple[bytes, bytes]:
    old = [chance.choice("abcdef") + "\n" for _ in range(chance.randrange(30))]
    new = list(old)
    for _ in range(chance.randrange(9)):
        at = chance.randrange(len(new) + 1)
        if chance.random() < 0.5:
            new.insert(at, chance.choice("abcdefg") + "\n")
        elif at < len(new):
            del new[at]
    texts = ["".join(lines).encode() for lines in (old, new)]
    cut = [text.rstrip(b"\n") if chance.random() < 0.2 else text for text in texts]
    return cut[0], cut[1]


def test_few_differences_are_counted_as_git_counts_them(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    pairs = [changed(chance) for _ in range(PAIRS)]
    for name, side in (("a", 0), ("b", 1)):
        (tmp_path / name).mkdir()
        for at, pair in enumerate(pairs):
            (tmp_path / name / f"{at}").write_bytes(pair[side])
    command = [
        "git",
        "diff",
        "--no-index",
        "--numstat",
        "--minimal",
        "--text",
        "--no-renames",
        "-z",
        "a",
        "b",
    ]
    fields = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout.split(b"\0")
    by_git = dict.fromkeys(range(PAIRS), (0, 0))
    for head, name in zip(fields[::3], fields[1::3], strict=False):
        by_git[int(name.rpartition(b"/")[2])] = (int(head.split(b"\t")[0]), int(head.split(b"\t")[1]))
    assert {at: few_differences(*pair) for at, pair in enumerate(pairs)} == by_git


def test_many_differences_are_left_to_git() -> None:
    old = b"".join(b"%d\n" % number for number in range(2 * MOST_DIFFERENCES))
    assert few_differences(old, old.replace(b"1", b"x")) is None
    assert few_differences(b"", old) == (2 * MOST_DIFFERENCES, 0)
