"""The examples of deployment as data: what each sets in the daemon's environment, and how it stops it.

Owns: reading compose files, Kubernetes' objects and the systemd unit. Never: what is right about them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
KUBERNETES = DOCKER / "kubernetes"
UNIT = ROOT / "examples" / "systemd" / "kaged@.service"
COMPOSE = ("compose.yaml", "compose.postgres.yaml")
SITE = "kaged.example.org"


def documents(path: Path) -> list[dict[str, Any]]:
    """Return every document of a YAML file."""
    return [document for document in YAML(typ="safe").load_all(path.read_text("utf-8")) if document]


def compose(name: str) -> dict[str, Any]:
    [found] = documents(DOCKER / name)
    return found


def objects() -> list[dict[str, Any]]:
    """Return what `kubectl apply -k` creates."""
    [kustomization] = documents(KUBERNETES / "kustomization.yaml")
    return [one for name in kustomization["resources"] for one in documents(KUBERNETES / name)]


def one_object(kind: str) -> dict[str, Any]:
    [found] = [one for one in objects() if one["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    found: dict[str, Any] = one_object("StatefulSet")["spec"]["template"]["spec"]
    return found


def container() -> dict[str, Any]:
    [found] = pod()["containers"]
    return dict(found)


def with_cages() -> dict[str, Any]:
    """Return the StatefulSet with the patch for cages, merged as `kubectl` does."""
    [patch] = documents(KUBERNETES / "cages.yaml")
    found = one_object("StatefulSet")
    _merge(found, patch)
    return found


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        elif key == "containers":
            named = {one["name"]: one for one in target[key]}
            for one in value:
                _merge(named[one["name"]], one)
        else:
            target[key] = value


def unit() -> list[tuple[str, str]]:
    """Return the directives of the systemd unit, in their order; some stand there more than once."""
    lines = [
        line for line in UNIT.read_text("utf-8").splitlines() if "=" in line and not line.startswith("#")
    ]
    return [(name, value) for name, _, value in (line.partition("=") for line in lines)]


def directives(name: str) -> list[str]:
    return [value for known, value in unit() if known == name]


def environments() -> dict[str, dict[str, str]]:
    """Return the daemon's environment by example, with what its user fills in."""
    found = {}
    for name in COMPOSE:
        pairs = compose(name)["services"]["kaged"]["environment"].items()
        found[name] = {key: value.replace("${SITE:-localhost}", SITE) for key, value in pairs}
    found["kubernetes"] = {one["name"]: one["value"] for one in container()["env"]}
    words = [value.replace("%i", "shop").partition("=") for value in directives("Environment")]
    found["systemd"] = {name: value for name, _, value in words}
    return found


def seconds_to_stop() -> dict[str, float]:
    """Return by example how long the daemon has after SIGTERM."""
    found = {name: compose(name)["services"]["kaged"]["stop_grace_period"] for name in COMPOSE}
    found["kubernetes"] = f"{pod()['terminationGracePeriodSeconds']}s"
    [found["systemd"]] = directives("TimeoutStopSec")
    return {name: float(value.removesuffix("s")) for name, value in found.items()}
