"""The profile for containers: what it lets through is enough for cages, and what it refuses is refused."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.bridges.sandbox.bpf import Comparison, Program
from app.bridges.sandbox.container_profile import container_profile, profile_text
from app.bridges.sandbox.system_calls import ARCHITECTURES
from tests.bridges.sandbox.test_seccomp import EPERM, harmless, oracle

pytestmark = pytest.mark.requirement("cages.kernel.container")

ROOT = Path(__file__).parents[3]
ORACLE = Path(__file__).with_name("system_call_oracle.py")
HERE = ARCHITECTURES[platform.machine()]
NEW_NAMESPACES = 0x7E020000
ENOSYS = 38

LOOK = """
import asyncio, json, runpy, sys
sys.stdin = open(sys.argv[1])
runpy.run_path(sys.argv[2])
sys.stdout.write("\\n")
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier_search import find_tier

async def main():
    children, made, found = ChildProcesses(), [], []
    def keeper(tier):
        made.append(Cages(children, tier))
        return made[-1]
    for mode in ("auto", "landlock"):
        tier = await find_tier(mode, keeper)
        found.append([tier.name, tier.reason, tier.advice])
    for cages in made:
        await cages.aclose()
    await children.aclose()
    print(json.dumps(found))

asyncio.run(main())
"""


def test_the_file_is_what_the_rules_say() -> None:
    assert (ROOT / "docker" / "seccomp.json").read_text() == profile_text(), (
        "write it anew: python -m app.bridges.sandbox.container_profile > docker/seccomp.json"
    )


def compiled(profile: dict[str, Any]) -> bytes:
    """Return a filter for a profile, as the runtime of a container makes one."""
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    cases: dict[str, list[tuple[Comparison, ...]]] = {}
    for entry in profile["syscalls"]:
        assert (entry["action"], entry["errnoRet"]) == ("SCMP_ACT_ERRNO", EPERM)
        for name in entry["names"]:
            cases.setdefault(name, []).append(tuple(map(_test, entry.get("args", ()))))
    program = Program()
    program.require_architecture(HERE.number, ENOSYS)
    for name, tests in cases.items():
        if name in HERE.calls:
            program.refuse_when(HERE.calls[name], EPERM, tests)
    return program.to_bytes()


def _test(argument: dict[str, Any]) -> Comparison:
    value = argument["value"] if argument["op"] == "SCMP_CMP_EQ" else argument["valueTwo"]
    return Comparison(argument["index"], "equal", value)


def like_the_usual_one() -> bytes:
    """Return a filter that refuses what containers usually may not: other views of the machine."""
    program = Program()
    program.require_architecture(HERE.number, ENOSYS)
    for name in ("mount", "umount2", "pivot_root", "unshare", "setns", "open_tree", "move_mount"):
        program.refuse(HERE.calls[name], EPERM)
    program.refuse(HERE.calls["clone3"], ENOSYS)
    program.refuse_when(HERE.calls["clone"], EPERM, [(Comparison(0, "any_bit", NEW_NAMESPACES),)])
    return program.to_bytes()


def found_under(content: bytes, tmp_path: Path) -> list[list[str]]:
    """Look for the tiers in a process that has a filter, as a whole container has."""
    asked = tmp_path / "asked"
    asked.write_text(json.dumps({"filter": content.hex(), "calls": [], "legacy": False}))
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(asked), str(ORACLE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.needs("cages")
def test_a_container_with_the_profile_holds_cages(tmp_path: Path) -> None:
    full, weaker = found_under(compiled(container_profile()), tmp_path)
    assert full[0] == "full", full
    assert weaker[0] == "landlock", weaker


@pytest.mark.needs("cages")
def test_a_container_without_it_has_landlock_only_and_learns_what_to_do(tmp_path: Path) -> None:
    full, weaker = found_under(like_the_usual_one(), tmp_path)
    assert full[0] == "none"
    assert "cannot be made" in full[1]
    assert full[2]
    assert weaker[0] == "landlock", weaker


def test_the_profile_refuses_what_cages_do_not_need() -> None:
    names = [name for name in container_profile()["syscalls"][0]["names"] if name in HERE.calls]
    assert set(oracle([harmless(name) for name in names], compiled(container_profile()))) == {EPERM}
    families = [(HERE.calls["socket"], family, 12, 0) for family in (1, 2, 10, 16, 17, 38, 40)]
    found = oracle(families, compiled(container_profile()))
    assert [number == EPERM for number in found] == [False] * 4 + [True] * 3
    typing = [(HERE.calls["ioctl"], 0xFFFFFFFF, kind) for kind in (0x5412, 1 << 32 | 0x5412, 0x5413)]
    assert [number == EPERM for number in oracle(typing, compiled(container_profile()))] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["ptrace", "process_vm_readv"])
def test_debuggers_work_in_a_container_with_the_profile(name: str) -> None:
    assert oracle([harmless(name)], compiled(container_profile())) == oracle([harmless(name)], None)
