"""What a killed change of refs has left goes, and nothing of another change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.harness.git import ref_change
from app.harness.git.ref_change import RefChange, end_ref_changes

pytestmark = pytest.mark.requirement("git.killed")


def test_packs_of_another_change_stay_when_a_killed_one_is_ended(tmp_path: Path) -> None:
    packs, notes, others = tmp_path / "objects" / "pack", tmp_path / "notes", tmp_path / "of another daemon"
    packs.mkdir(parents=True)
    killed = RefChange(tmp_path, tmp_path, ["refs/heads/x"], notes)
    going_on = RefChange(tmp_path, tmp_path, ["refs/heads/y"], others)
    killed.__enter__(), going_on.__enter__()
    for one in (killed, going_on):
        (packs / f"{one.packs}1").touch()
    (tmp_path / "packed-refs.lock").touch()
    end_ref_changes(notes)
    assert os.listdir(packs) == [f"{going_on.packs}1"] and os.listdir(notes) == []
    assert not (tmp_path / "packed-refs.lock").exists() and len(os.listdir(others)) == 1


def test_a_lock_that_somebody_takes_and_lets_go_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    RefChange(tmp_path, tmp_path, ["refs/heads/x"], notes).__enter__()
    lock, left = tmp_path / "packed-refs.lock", tmp_path / "HEAD.lock"
    lock.write_text("of one"), left.touch()

    def meanwhile(_: float) -> None:
        other = tmp_path / "other"
        other.write_text("of another")
        other.replace(lock)

    monkeypatch.setattr(ref_change.time, "sleep", meanwhile)
    end_ref_changes(notes)
    assert lock.read_text() == "of another" and not left.exists()
