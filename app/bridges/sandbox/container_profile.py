"""The seccomp profile for Docker and Podman with which a container can hold cages.

Owns: the rules for the whole container (`docker/seccomp.json`). Never: what a cage refuses in addition.

The usual profile of a container refuses to make namespaces. Write this one with `python -m
app.bridges.sandbox.container_profile > docker/seccomp.json`.
"""

from __future__ import annotations

import errno
import json
import sys
from typing import Any

from app.bridges.sandbox.seccomp_rules import ABSENT, OTHER_FAMILIES, REFUSED, TERMINAL_CALLS

CAGES_NEED = frozenset(
    {"mount", "umount2", "pivot_root", "sethostname", "setns"}
    | {"clone3", "openat2", "open_tree", "move_mount", "mount_setattr"}
)
"""What making a cage takes, and what is refused in a cage only because its arguments cannot be seen."""


def container_profile() -> dict[str, Any]:
    names = [name for name in (*REFUSED, *ABSENT) if name not in CAGES_NEED]
    refused: list[dict[str, Any]] = [_refusal(sorted(names))]
    refused += [_refusal(["socket"], _equal(0, family)) for family in OTHER_FAMILIES]
    refused += [_refusal(["ioctl"], _lower_half(1, one)) for one in TERMINAL_CALLS]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "archMap": [
            {"architecture": name, "subArchitectures": []}
            for name in ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
        ],
        "syscalls": refused,
    }


def profile_text() -> str:
    return json.dumps(container_profile(), indent=2) + "\n"


def _refusal(names: list[str], *arguments: dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    return {**rule, "args": list(arguments)} if arguments else rule


def _equal(argument: int, value: int) -> dict[str, Any]:
    return {"index": argument, "value": value, "op": "SCMP_CMP_EQ"}


def _lower_half(argument: int, value: int) -> dict[str, Any]:
    return {"index": argument, "value": 0xFFFFFFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


if __name__ == "__main__":
    sys.stdout.write(profile_text())
