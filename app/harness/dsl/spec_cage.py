"""The shape of a cage block: what an agent may touch.

Owns: `CageSpec` and its parts. Never: enforcing it, or comparing two cages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from app.cages.network_rules import Target
from app.harness.dsl.spec_types import (
    CAPABILITY_PATTERN,
    NET_PATTERN,
    Environment,
    PositiveInt,
    ProjectPath,
    StrictModel,
    invalid,
)

Capability = Annotated[str, Field(pattern=CAPABILITY_PATTERN)]


def _net_target(text: str) -> str:
    try:
        Target.parse(text)
    except ValueError as problem:
        raise invalid("invalid_value", f"{problem}; addresses are never allowed") from None
    return text


NetTarget = Annotated[str, Field(pattern=NET_PATTERN, max_length=300), AfterValidator(_net_target)]


class CageMount(StrictModel):
    """One path of the project and what may be done below it."""

    mode: Literal["ro", "rw", "deny"]
    """`ro` reads, `rw` reads and writes, `deny` hides. The most specific entry wins."""
    path: ProjectPath
    """Path below the project root, such as `./src`; may begin with `{workspace}`, which is that root.
    `{ad-hoc}` and `{user-data}` are known and stand for nothing here: such an entry grants nothing."""


class CageNet(StrictModel):
    """Where the agent may connect to."""

    allow: list[NetTarget] = Field(default=[])
    """Hosts, each `host`, `host:port` or `*.host:port`, by name: no addresses, and only of the open
    internet. Empty: no network."""


class CageLimits(StrictModel):
    """Bounds of every process that runs in the cage."""

    walltime_seconds: PositiveInt | None = None
    """Seconds after which everything in the cage is killed."""
    cpu_seconds: PositiveInt | None = None
    """Seconds of processor time."""
    memory_mb: PositiveInt | None = None
    """Memory in MiB."""
    pids: PositiveInt | None = None
    """Number of processes."""
    file_size_mb: PositiveInt | None = None
    """Largest file that may be written, in MiB."""
    open_files: PositiveInt | None = None
    """Number of open files per process."""


class CageSpec(StrictModel):
    """What an agent may touch. What is not granted is refused."""

    fs: list[CageMount] = Field(default=[], max_length=256)
    """Paths the agent sees."""
    net: CageNet = CageNet()
    """Network; none by default."""
    state: Literal["ephemeral", "persistent"] = "ephemeral"
    """Whether the cage's home and /tmp are gone after the run or kept for this agent."""
    seccomp: Literal["default", "relaxed"] = "default"
    """`relaxed` adds ptrace and its kin, which debuggers need."""
    capabilities: list[Capability] = Field(default=[], max_length=64)
    """Named capabilities, such as `shell` and `exec`."""
    env: Environment = Field(default={})
    """Environment variables inside the cage."""
    ipc: list[Literal["unix"]] = Field(default=[])
    """`unix` allows AF_UNIX sockets inside the cage."""
    limits: CageLimits = CageLimits()
    """Bounds of processes."""
    outside: Literal["mark", "none"] = "none"
    """How searches treat matches outside the readable paths: dropped, or shown without content (`mark`)."""


def cage_kind(value: Any) -> str:
    """Discriminator of a cage: a map is a block, everything else must be the word."""
    return "<block>" if isinstance(value, dict | CageSpec) else "<word>"


Cage = Annotated[
    Annotated[Literal["disabled"], Tag("<word>")] | Annotated[CageSpec, Tag("<block>")],
    Discriminator(cage_kind),
]
