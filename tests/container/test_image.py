"""The slim image at work on a read-only root: the demo, a kill, other users, and what it has and has not."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import orjson
import pytest

from tests.container.conftest import MakePlace
from tests.container.engine import FULL, ContainerDaemon, podman
from tests.driver.daemon_process import write_config
from tests.driver.demo_daemon import Demo
from tests.driver.sessions import PROJECT_YAML, write_project
from tests.e2e.test_demo import Talk, payloads, said
from tests.fakes.provider_script import Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

TRUSTED = {"KAGED_PROJECTS__TRUSTED": "/project"}
LARGEST_COMPRESSED = 250_000_000


def scripted(folder: Path, fake: FakeProvider, yaml: str = PROJECT_YAML) -> Path:
    """Write a project whose model is the scripted one."""
    root = write_project(folder / "shop", yaml)
    write_config(root / "config.toml", fake.port)
    return root


def environment() -> dict[str, str]:
    return {**TRUSTED, "KAGED_CONFIG": "/project/config.toml"}


def make_repository(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)


def as_demo(daemon: ContainerDaemon) -> Demo:
    return cast("Demo", SimpleNamespace(daemon=daemon))


@pytest.mark.requirement("image.demo")
async def test_the_demo_is_done_through_the_image(place: MakePlace, tmp_path: Path) -> None:
    demo = Demo(tmp_path)
    there = place(demo.root, *FULL, environment=environment())
    daemon = await ContainerDaemon.begin(there, "demo")
    async with daemon.client() as client:
        frames = await (await Talk.begin(as_demo(daemon), client)).ask("Fix the failing test")
    assert payloads(frames, "run.ended")[0]["state"] == "succeeded"
    assert "**What I changed.** One line in `bakery/basket.py`" in said(frames)
    code, output = await demo.tests()
    assert code == 0, output
    healthy = daemon.inside("/usr/bin/python3", "-I", "-S", "-B", "/usr/share/kaged/healthcheck.py")
    assert healthy.returncode == 0, healthy.stderr
    assert await daemon.stop() == 0


async def resumed(
    daemon: ContainerDaemon, client: httpx2.AsyncClient, session_id: str
) -> list[dict[str, Any]]:
    """Resume a session that the container before has left, and return all frames until its run has ended."""
    session = (await client.get(f"/sessions/{session_id}")).raise_for_status().json()
    assert session["state"] == "paused"  # what was running waits for a person, as after any kill
    frames = []
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq={session['last_seq']}") as socket:
        (await client.post(f"/sessions/{session_id}/resume", json={})).raise_for_status()
        async for raw in socket:
            frames.append(orjson.loads(raw))
            if frames[-1]["type"] == "run.ended":
                break
    assert payloads(frames, "run.ended")[0]["state"] == "succeeded"
    return frames


@pytest.mark.requirement("image.demo", "image.restart")
async def test_the_demo_is_begun_in_one_container_and_ended_in_the_next(
    place: MakePlace, tmp_path: Path
) -> None:
    demo = Demo(tmp_path, speed=4)
    there = place(demo.root, *FULL, environment=environment())
    first = await ContainerDaemon.begin(there, "begun")
    async with first.client() as client:
        talk = await Talk.begin(as_demo(first), client)
        async with first.websocket(f"/sessions/{talk.id}/ws?after_seq={talk.seq}") as socket:
            posted = await client.post(
                f"/sessions/{talk.id}/messages", json={"content": "Fix the failing test"}
            )
            posted.raise_for_status()
            seen = set()
            async for raw in socket:
                seen.add(orjson.loads(raw)["type"])
                if "message.tool_result" in seen and orjson.loads(raw)["type"] == "message.delta":
                    break
    await first.kill()
    code, _ = await demo.tests()
    assert code == 1

    second = await ContainerDaemon.begin(there, "ended")
    async with second.client() as client:
        frames = await resumed(second, client, talk.id)
    assert "**What I changed.** One line in `bakery/basket.py`" in said(frames)
    code, output = await demo.tests()
    assert code == 0, output
    assert await second.stop() == 0


@pytest.mark.requirement("image.restart")
async def test_a_killed_container_resumes_its_session_on_the_same_volumes(
    place: MakePlace, fake: FakeProvider, tmp_path: Path
) -> None:
    there = place(scripted(tmp_path, fake), environment=environment())
    first = await ContainerDaemon.begin(there, "first")
    fake.script(text_reply("It is noted."))
    async with first.client() as client:
        talk = await Talk.begin(as_demo(first), client)
        await talk.ask("Remember the number 7")
        fake.script(Reply((Text("Half an"), Stall())))
        async with first.websocket(f"/sessions/{talk.id}/ws?after_seq={talk.seq}") as socket:
            posted = await client.post(f"/sessions/{talk.id}/messages", json={"content": "And now?"})
            posted.raise_for_status()
            async for raw in socket:
                if orjson.loads(raw)["type"] == "message.delta":
                    break
    await first.kill()

    second = await ContainerDaemon.begin(there, "second")
    fake.script(text_reply("The number is 7."))
    async with second.client() as client:
        await resumed(second, client, talk.id)
        messages = (await client.get(f"/sessions/{talk.id}/messages")).json()["items"]
    asked = [one["content"] for one in messages if one["role"] == "operator"]
    assert asked[:2] == ["Remember the number 7", "And now?"]
    assert await second.stop() == 0


@pytest.mark.requirement("image.any_user")
async def test_any_user_may_run_it_also_one_that_the_image_does_not_know(
    place: MakePlace, fake: FakeProvider, tmp_path: Path
) -> None:
    root = scripted(tmp_path, fake, PROJECT_YAML + '    "shell.bash": { enabled: true }\n')
    make_repository(root)
    there = place(root, user=23456, environment=environment())
    daemon = await ContainerDaemon.begin(there, "user")
    command = "git status --short | head -n 1 && touch made && id -u && echo $HOME && test -w $HOME"
    fake.script(Reply((ToolCall("shell_bash", {"command": command}),)), text_reply("Done."))
    async with daemon.client() as client:
        frames = await (await Talk.begin(as_demo(daemon), client)).ask("Look")
        ready = (await client.get(f"{daemon.url}/readyz")).json()
    (result,) = payloads(frames, "message.tool_result")
    assert "23456" in str(result["content"]) and "/data/home" in str(result["content"]), result
    assert not result["isError"]
    assert (root / "made").stat().st_uid == 23456
    assert ready["checks"]["projects"] == {"status": "ok", "detail": None}
    assert (there.data / "daemon").stat().st_mode & 0o777 == 0o700
    assert await daemon.stop() == 0


@pytest.mark.requirement("image.any_user")
async def test_a_project_of_another_user_is_read_and_told_of(
    place: MakePlace, fake: FakeProvider, tmp_path: Path
) -> None:
    root = scripted(tmp_path, fake, PROJECT_YAML + '    "shell.bash": { enabled: true }\n')
    make_repository(root)
    there = place(root, environment=environment())
    there.give(root, 1234)
    daemon = await ContainerDaemon.begin(there, "owner")
    fake.script(Reply((ToolCall("shell_bash", {"command": "git status"}),)), text_reply("Done."))
    async with daemon.client() as client:
        frames = await (await Talk.begin(as_demo(daemon), client)).ask("Look")
        ready = await client.get(f"{daemon.url}/readyz")
    (result,) = payloads(frames, "message.tool_result")
    assert "dubious" not in str(result["content"]) and "No commits yet" in str(result["content"])
    assert ready.status_code == 200
    assert ready.json()["checks"]["projects"]["status"] == "warning"
    report = orjson.loads(daemon.inside("kaged", "doctor", "--json").stdout)
    (found,) = (one for one in report["findings"] if one["group"] == "projects")
    assert found["status"] == "absent"
    assert "belongs to the user 1234, and the daemon runs as the user 10001" in found["detail"]
    assert "--user 1234" in found["advice"]
    assert await daemon.stop() == 0


@pytest.mark.requirement("image.any_user")
def test_a_data_folder_of_another_user_is_refused_with_its_name(place: MakePlace, tmp_path: Path) -> None:
    there = place(write_project(tmp_path / "shop"))
    there.give(there.data, 1234)
    (there.data).chmod(0o755)
    done = there.kaged("serve", "--json", "--port", "0")
    assert done.returncode != 0
    assert "/data/daemon" in done.stdout + done.stderr
    assert "permission is denied" in done.stdout + done.stderr


@pytest.mark.requirement("image.secret_files")
async def test_keys_are_read_from_files_and_appear_nowhere(
    place: MakePlace, fake: FakeProvider, tmp_path: Path
) -> None:
    root = scripted(tmp_path, fake)
    config = root / "config.toml"
    config.write_text(config.read_text().replace('api_key = "sk-test"', 'api_key_env = "FAKE_KEY"'))
    secret = tmp_path / "key"
    secret.write_text("sk-of-a-file-1234567890\n")
    there = place(
        root,
        *("--volume", f"{secret}:/run/secrets/fake_key:ro"),
        environment={**environment(), "FAKE_KEY_FILE": "/run/secrets/fake_key"},
    )
    daemon = await ContainerDaemon.begin(there, "secret")
    fake.script(text_reply("Hello."))
    async with daemon.client() as client:
        await (await Talk.begin(as_demo(daemon), client)).ask("Hello")
    assert await daemon.stop() == 0
    assert fake.requests[-1].headers["authorization"] == "Bearer sk-of-a-file-1234567890"
    assert "sk-of-a-file" not in daemon.errors.read_text()


@pytest.mark.requirement("image.contents")
async def test_what_the_image_has_and_has_not(image: str, tmp_path: Path) -> None:
    def inside(script: str) -> list[str]:
        done = podman(
            *("run", "--rm", "--cgroups", "disabled", "--network", "none", "--entrypoint", "/bin/sh", image),
            *("-c", script),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert await asyncio.to_thread(
        inside, "id -u; ls -d /data /project; for one in git bwrap tini kaged; do command -v $one; done"
    ) == [
        *(
            "10001",
            "/data",
            "/project",
            "/usr/bin/git",
            "/usr/bin/bwrap",
            "/usr/bin/tini",
            "/usr/local/bin/kaged",
        )
    ]
    absent = "gcc cc g++ c++ make ld as pip pip3 curl wget"
    assert inside(f"for one in {absent}; do command -v $one; done; true") == []
    assert (
        inside("find / -xdev -perm /6000 -type f 2>/dev/null | xargs -r ls -l | grep -v ' root '; true") == []
    )
    bill = orjson.loads("\n".join(inside("cat /usr/share/kaged/sbom.cdx.json")))
    assert bill["bomFormat"] == "CycloneDX"
    listed = {one["name"]: one["version"] for one in bill["components"]}
    assert {"kaged", "fastapi", "bubblewrap", "git"} <= listed.keys()
    assert "basedpyright" not in listed
    looked = orjson.loads(podman("image", "inspect", image).stdout)[0]
    settings: dict[str, Any] = looked["Config"]
    assert settings["User"] == "10001:0"
    assert settings["Volumes"].keys() == {"/data", "/project"}
    assert looked["HealthCheck" if "HealthCheck" in looked else "Healthcheck"]
    assert settings["Labels"]["org.opencontainers.image.licenses"] == "MIT"
    assert looked["Size"] < 3 * LARGEST_COMPRESSED
