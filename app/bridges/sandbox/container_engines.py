"""Containers that the daemon may run in, and the words by which each engine lets a container make cages.

Owns: recognising a container, and those words. Never: whether a cage holds (`canary`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from app.config import container_in_environment

PODMAN, DOCKER, KUBERNETES, UNKNOWN = "Podman", "Docker", "Kubernetes", "an unknown engine"
_PROFILE = "docker/seccomp.json"

_NAMESPACES: Mapping[str, str] = MappingProxyType(
    {
        PODMAN: f"--security-opt seccomp={_PROFILE}",
        DOCKER: f"--security-opt seccomp={_PROFILE} --security-opt apparmor=unconfined (Compose: the same "
        "words under `security_opt`)",
        KUBERNETES: f"securityContext.seccompProfile {{type: Localhost}} with {_PROFILE} on the node",
    }
)
_PROC: Mapping[str, str] = MappingProxyType(
    {
        PODMAN: "--security-opt unmask=ALL",
        DOCKER: "--security-opt systempaths=unconfined (Compose: the same word under `security_opt`)",
        KUBERNETES: "securityContext.procMount: Unmasked, in a pod with hostUsers: false",
    }
)


def container_engine() -> str | None:
    """Return the engine whose container this is, None outside of one. Blocks."""
    for path, engine in (("/.dockerenv", DOCKER), ("/run/.containerenv", PODMAN)):
        if Path(path).exists():
            return engine
    named = container_in_environment() or text_of("/run/systemd/container")
    if named:
        known = {engine.lower(): engine for engine in (PODMAN, DOCKER, KUBERNETES)}
        return known.get(named, named)
    if Path("/var/run/secrets/kubernetes.io").exists():
        return KUBERNETES
    return UNKNOWN if Path("/usr/share/kaged/healthcheck.py").exists() else None


def missing_words(engine: str, problem: str) -> str:
    """Return what to start a container with, after bubblewrap has said `problem` in one that may not make
    cages."""
    which, what = (_PROC, "an own /proc") if "mount proc" in problem else (_NAMESPACES, "namespaces")
    if engine in which:
        words = f"{engine} allows {what} with {which[engine]}"
    else:
        each = "; ".join(f"{name}: {words}" for name, words in which.items())
        words = f"The engine of this container must allow {what}. {each}"
    return f'{words}. docs/containers.md has all of them. Where it is refused, set sandbox.mode = "landlock"'


def text_of(path: str) -> str:
    """Return what a small file of the system says, empty when it cannot be read. Blocks."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
