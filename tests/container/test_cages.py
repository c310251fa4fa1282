"""What a container's flags allow for cages: found by trying, told by the doctor, never weaker than asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.container.conftest import MakePlace
from tests.container.engine import FULL, PROFILE, ContainerDaemon
from tests.container.test_image import as_demo, environment, scripted
from tests.driver.daemon_process import REPOSITORY
from tests.e2e.test_demo import Talk, payloads
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("image.cages")

HARDENED = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
CAGED_YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage:
    fs: [{ mode: rw, path: src }, { mode: ro, path: README.md }]
    capabilities: [shell]
  tools:
    "shell.bash": { enabled: true }
  permissions:
    - { permission: shell.bash, pattern: "*", action: allow }
"""
ATTEMPTS = {
    "wrote where it may": "echo x > /project/src/made",
    "read the token": "cat /data/daemon/* /data/daemon/*/* 2>/dev/null | grep -q .",
    "wrote beside its folder": "echo x > /project/README.md",
    "wrote the repository": "echo x >> /project/.git/config",
    "wrote into the image": "echo x > /usr/local/bin/kaged",
    "reached the daemon": "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT), 3)'",
    "mounted": "mount -t tmpfs none /tmp",
    "made a user namespace": "unshare --user true",
    "read the daemon's environment": "cat /proc/[0-9]*/environ 2>/dev/null | grep -q KAGED_CONFIG",
}
"""What a caged command may do first, then what none may, by what it would say when it could."""


def without_user_namespaces(folder: Path) -> str:
    """Return a profile that also refuses what makes a user namespace, as Docker's own does."""
    profile = orjson.loads((REPOSITORY / "docker" / "seccomp.json").read_bytes())
    flag = {"index": 0, "value": 0x10000000, "valueTwo": 0x10000000, "op": "SCMP_CMP_MASKED_EQ"}
    refusal: dict[str, Any] = {"action": "SCMP_ACT_ERRNO", "errnoRet": 1}
    profile["syscalls"] += [
        {"names": ["clone"], "args": [flag], **refusal},
        {"names": ["unshare"], **refusal},
    ]
    file = folder / "no-namespaces.json"
    file.write_bytes(orjson.dumps(profile))
    return f"seccomp={file}"


@pytest.mark.parametrize(
    ("options", "mode", "tier", "told"),
    [
        pytest.param((), "auto", "none", "seccomp=docker/seccomp.json", id="default"),
        pytest.param(("--security-opt", PROFILE), "auto", "none", "--security-opt unmask=ALL", id="profile"),
        pytest.param(
            ("--security-opt", "NO"), "auto", "none", "seccomp=docker/seccomp.json", id="no-namespaces"
        ),
        pytest.param(FULL, "auto", "full", None, id="profile-and-proc"),
        pytest.param((*FULL, *HARDENED), "full", "full", None, id="hardened"),
        pytest.param(HARDENED, "landlock", "landlock", None, id="landlock"),
    ],
)
async def test_the_tier_that_flags_allow(
    place: MakePlace,
    fake: FakeProvider,
    tmp_path: Path,
    options: tuple[str, ...],
    mode: str,
    tier: str,
    told: str | None,
) -> None:
    root = scripted(tmp_path, fake, CAGED_YAML)
    (root / "src").mkdir()
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\n")
    options = tuple(without_user_namespaces(tmp_path) if one == "NO" else one for one in options)
    there = place(root, *options, environment={**environment(), "KAGED_SANDBOX__MODE": mode})
    daemon = await ContainerDaemon.begin(there, "cages")
    report = orjson.loads(daemon.inside("kaged", "doctor", "--json").stdout)
    cages = next(one for one in report["findings"] if (one["group"], one["name"]) == ("sandbox", "cages"))
    assert cages["detail"].split(":")[0] == tier
    assert told is None or told in cages["advice"]

    port = daemon.url.rpartition(":")[2]
    attempts = "\n".join(f'({one}) >/dev/null 2>&1 && echo "{what}"' for what, one in ATTEMPTS.items())
    # A file: the watchdog would refuse such a command line before any cage does.
    (root / "src" / "attempts.sh").write_text(attempts.replace("PORT", port) + "\necho end\n")
    call = ToolCall("shell_bash", {"command": "sh attempts.sh", "cwd": "src"})
    fake.script(Reply((call,)), text_reply("Done."))
    async with daemon.client() as client:
        frames = await (await Talk.begin(as_demo(daemon), client)).ask("Look")
        ready = await client.get(f"{daemon.url}/readyz")
    (result,) = payloads(frames, "message.tool_result")
    if tier == "none":
        assert result["isError"] and "cage_unavailable" in str(result)
        assert not (root / "src" / "made").exists()
    else:
        done = [line for line in str(result["content"]).splitlines() if line in (*ATTEMPTS, "end")]
        assert done == ["wrote where it may", "end"], result
        assert (root / "src" / "made").read_text() == "x\n"
    assert ready.status_code == 200
    assert ready.json()["checks"]["sandbox"]["detail"].startswith(f"{tier}:")
    assert (root / ".git" / "config").read_text() == "[core]\n"
    assert await daemon.stop() == 0


async def test_a_tier_that_was_asked_for_and_is_not_there_is_not_replaced(
    place: MakePlace, fake: FakeProvider, tmp_path: Path
) -> None:
    there = place(
        scripted(tmp_path, fake, CAGED_YAML), environment={**environment(), "KAGED_SANDBOX__MODE": "full"}
    )
    daemon = await ContainerDaemon.begin(there, "asked")
    async with daemon.client() as client:
        ready = await client.get(f"{daemon.url}/readyz")
    assert ready.status_code == 503
    assert ready.json()["checks"]["sandbox"]["detail"].startswith("none:")
    await daemon.stop()
