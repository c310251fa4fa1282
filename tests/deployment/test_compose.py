"""The compose files: a compose tool takes them, and the daemon in them has no more than it needs."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from tests.deployment.examples import COMPOSE, DOCKER, ROOT, compose
from tests.driver.machine import find_deployment_tool

pytestmark = pytest.mark.requirement("deployment.compose")


def config(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = find_deployment_tool("podman-compose")
    assert program is not None
    return subprocess.run(
        [program, "-f", DOCKER / name, "config"],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.needs("podman-compose")
@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_tool_takes_the_file(name: str) -> None:
    done = config(name, PROJECT="/srv/shop", USER_ID="1000", SITE="kaged.example.org")
    assert done.returncode == 0, done.stderr
    assert "/srv/shop:/project" in done.stdout
    assert "user: '1000:0'" in done.stdout
    assert "${" not in done.stdout


@pytest.mark.needs("podman-compose")
@pytest.mark.parametrize("name", COMPOSE)
def test_without_a_project_the_file_says_what_is_missing(name: str) -> None:
    done = config(name)
    assert done.returncode != 0
    assert "PROJECT is the folder of the project" in done.stderr


def daemon(name: str) -> dict[str, Any]:
    found: dict[str, Any] = compose(name)["services"]["kaged"]
    return found


@pytest.mark.parametrize("name", COMPOSE)
def test_the_daemon_has_no_right_that_cages_do_not_need(name: str) -> None:
    found = daemon(name)
    assert (found["read_only"], found["cap_drop"], found["user"]) == (True, ["ALL"], "${USER_ID:-10001}:0")
    assert "cap_add" not in found and "privileged" not in found
    assert found["security_opt"] == [
        "no-new-privileges:true",
        "seccomp=seccomp.json",
        "apparmor=unconfined",
        "systempaths=unconfined",
    ]
    assert (DOCKER / "seccomp.json").is_file()
    assert found["build"] == {"context": "..", "dockerfile": "docker/Dockerfile", "target": "slim"}


@pytest.mark.parametrize("name", COMPOSE)
def test_what_lasts_is_on_volumes(name: str) -> None:
    found = compose(name)
    named = {volume.partition(":")[0] for one in found["services"].values() for volume in one["volumes"]}
    assert found["volumes"].keys() <= named
    assert {"data:/data"} < set(daemon(name)["volumes"])
    assert "/tmp" in daemon(name)["tmpfs"]


def test_the_daemon_is_reached_from_this_machine_only_or_through_the_proxy() -> None:
    assert daemon("compose.yaml")["ports"] == ["127.0.0.1:7777:7777"]
    behind = compose("compose.postgres.yaml")["services"]
    assert "ports" not in behind["kaged"] and "ports" not in behind["postgres"]
    assert set(behind["proxy"]["networks"]).isdisjoint(behind["postgres"]["networks"])


def test_two_daemons_share_the_database_and_the_project_and_nothing_else() -> None:
    services = compose("compose.postgres.yaml")["services"]
    first, second = services["kaged"], services["kaged-2"]
    assert first["environment"]["KAGED_STORAGE__REPLICAS"] == "true"
    for name, one in (("kaged", first), ("kaged-2", second)):
        assert one["environment"]["KAGED_STORAGE__REPLICA_URL"] == f"http://{name}:7777"
        assert one["environment"].keys() == first["environment"].keys()
        assert name in services["proxy"]["depends_on"]
    assert set(first["volumes"]) & set(second["volumes"]) == {
        "${PROJECT:?PROJECT is the folder of the project}:/project"
    }
    own = ("environment", "volumes")
    assert all(first[key] == second[key] for key in first if key not in own)


def test_secrets_are_left_out_of_the_repository_and_of_images() -> None:
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    assert "docker/secrets/" in ignored
