"""Every setting and variable of the examples of deployment is one of the daemon's."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import load_settings
from app.config.credentials import USUAL_VARIABLES
from app.config.settings import DaemonSettings
from app.errors import ConfigError
from app.main import CLOSE_SOCKETS_SECONDS
from app.observability.otel import STOP_SECONDS
from tests.deployment.examples import COMPOSE, compose, container, environments, pod, seconds_to_stop

pytestmark = pytest.mark.requirement("deployment.settings")

FROM_FILES = "_FILE"
"""A variable that ends so names the file that has the value of the variable without it."""
SECRETS = {
    "ANTHROPIC_API_KEY": "sk-ant-example-0123456789",
    "KAGED_STORAGE__URL": "postgresql://kaged:example@postgres/kaged",
}
OF_THE_SYSTEM = {"HOME"}
EXAMPLES = (*COMPOSE, "kubernetes", "systemd")


def plain(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment in which the secrets stand themselves."""
    names = {name: name.removesuffix(FROM_FILES) for name in environment}
    return {plain: SECRETS[plain] if plain != name else environment[name] for name, plain in names.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_daemon_takes_the_environment_of_an_example(name: str, tmp_path: Path) -> None:
    environment = plain(environments()[name])
    environment.pop("KAGED_CONFIG", None)
    settings = load_settings(environ={**environment, "HOME": str(tmp_path)})
    assert settings.daemon.access_log
    assert settings.log.format == "json"
    key = settings.providers["anthropic"].api_key
    assert (key is not None) == ("ANTHROPIC_API_KEY" in environment)
    known = {variable for variables in USUAL_VARIABLES.values() for variable in variables}
    others = {one for one in environment if not one.startswith("KAGED_")} - OF_THE_SYSTEM
    assert others <= known, "what is not a setting is the usual variable of a provider's key"


def test_a_setting_that_does_not_exist_is_refused() -> None:
    environment = {**plain(environments()["compose.yaml"]), "KAGED_DAEMON__ACCES_LOG": "true"}
    with pytest.raises(ConfigError, match="access_log"):
        load_settings(environ=environment)


@pytest.mark.parametrize("name", [*COMPOSE, "kubernetes"])
def test_a_daemon_in_a_container_listens_where_its_port_is_published(name: str) -> None:
    assert environments()[name]["KAGED_DAEMON__HOST"] == "0.0.0.0"
    assert environments()[name]["KAGED_PROJECTS__TRUSTED"] == "/project"
    if name == "kubernetes":
        assert container()["ports"] == [{"name": "http", "containerPort": DaemonSettings().port}]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_daemon_has_time_to_stop_before_it_is_killed(name: str) -> None:
    longest = DaemonSettings().shutdown_grace_seconds + CLOSE_SOCKETS_SECONDS + STOP_SECONDS
    assert seconds_to_stop()[name] >= longest + 10


@pytest.mark.parametrize("name", COMPOSE)
def test_a_secret_of_compose_is_a_file(name: str) -> None:
    found = compose(name)
    for service in found["services"].values():
        variables = service.get("environment", {})
        files = {value for key, value in variables.items() if key.endswith(FROM_FILES)}
        assert files == {f"/run/secrets/{secret}" for secret in service.get("secrets", ())}
        assert not [key for key in variables if "PASSWORD" in key and not key.endswith(FROM_FILES)]
    used = {secret for service in found["services"].values() for secret in service.get("secrets", ())}
    assert found["secrets"] == {secret: {"file": f"./secrets/{secret}"} for secret in used}


def test_a_secret_of_kubernetes_is_a_file() -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod()["volumes"]}
    assert volumes["secrets"]["secret"]["secretName"] == "kaged"
    files = [value for key, value in environments()["kubernetes"].items() if key.endswith(FROM_FILES)]
    assert files == [f"{mounts['secrets']}/anthropic_api_key"]
    assert all("valueFrom" not in one for one in container()["env"])
