"""A compiled cage becomes folders, hosts and limits: pure data, which says the same wherever it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cages.cage import Cage, CageLimits, Mount
from app.harness.dsl.spec_cage import CageSpec

pytestmark = pytest.mark.requirement("cages.policy.compiled")

ROOT = Path("/nowhere/shop")
STATE = Path("/nowhere/data/cages/shop/coder")
LIMITS = {
    "walltime_seconds": 600,
    "cpu_seconds": 60,
    "memory_mb": 512,
    "pids": 64,
    "file_size_mb": 10,
    "open_files": 256,
}


def cage(*fs: tuple[str, str], closed: tuple[Path, ...] = (), **fields: Any) -> Cage:
    spec = CageSpec.model_validate({"fs": [{"mode": mode, "path": path} for mode, path in fs], **fields})
    return Cage.of_agent(spec.model_dump(), ROOT, state_folder=STATE, closed=closed)


def test_a_cage_that_grants_nothing_is_nothing() -> None:
    assert cage() == Cage(mounts=())
    assert cage() == Cage(
        mounts=(),
        net=(),
        state_folder=None,
        seccomp="default",
        env={},
        unix_sockets=False,
        limits=CageLimits(None, None, None, None, None, None),
    )


def test_everything_that_is_said_is_in_it() -> None:
    found = cage(
        ("rw", "."),
        ("ro", "./docs"),
        ("deny", "secrets/keys"),
        net={"allow": ["api.example.org:443", "*.example.com"]},
        state="persistent",
        seccomp="relaxed",
        env={"MODE": "test"},
        ipc=["unix"],
        limits=LIMITS,
    )
    assert found == Cage(
        mounts=(Mount(ROOT, "rw"), Mount(ROOT / "docs", "ro"), Mount(ROOT / "secrets/keys", "deny")),
        net=("api.example.org:443", "*.example.com"),
        state_folder=STATE,
        seccomp="relaxed",
        env={"MODE": "test"},
        unix_sockets=True,
        limits=CageLimits(**LIMITS),
    )


def test_the_same_words_make_the_same_cage_and_others_another() -> None:
    assert cage(("rw", "src")) == cage(("rw", "./src/"))
    assert cage(("rw", "src")) != cage(("ro", "src"))
    assert cage(("rw", "src")) != cage(("rw", "src"), env={"A": "b"})
    assert cage(limits={"pids": 3}) != cage(limits={"pids": 4})


def test_the_daemons_own_places_are_hidden_wherever_they_lie() -> None:
    closed = (ROOT / ".data", Path("/etc/kaged/config.toml"))
    found = cage(("rw", "."), closed=closed)
    assert found.mounts == (Mount(ROOT, "rw"), *(Mount(path, "deny") for path in closed))


@pytest.mark.parametrize("path", ["{ad-hoc}", "{user-data}/notes"])
def test_what_stands_for_nothing_here_grants_nothing(path: str) -> None:
    assert cage(("rw", path)).mounts == ()
    assert cage(("rw", "src"), ("deny", path)).mounts == (Mount(ROOT / "src", "rw"),)


def test_a_denial_that_is_not_understood_denies_everything() -> None:
    entries = [{"mode": "rw", "path": "src"}, {"mode": "deny", "path": "{elsewhere}/x"}]
    found = Cage.of_agent({"fs": entries}, ROOT, state_folder=STATE)
    assert found.mounts == (Mount(ROOT / "src", "rw"), Mount(ROOT, "deny"))


def test_the_variable_of_the_root_is_the_root() -> None:
    assert cage(("ro", "{workspace}"), ("rw", "{workspace}/src")).mounts == (
        Mount(ROOT, "ro"),
        Mount(ROOT / "src", "rw"),
    )


@pytest.mark.parametrize("path", ["../other", "/etc", "~/x", "a/../../b"])
def test_what_lies_outside_grants_nothing_even_when_it_was_not_checked_before(path: str) -> None:
    found = Cage.of_agent({"fs": [{"mode": "rw", "path": path}]}, ROOT, state_folder=STATE)
    assert found.mounts == ()


def test_a_cage_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        cage().net = ("example.org",)  # type: ignore[misc]
