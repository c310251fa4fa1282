"""One cage as the kernel's layer needs it: absolute folders, hosts, limits. Pure data.

Owns: `Cage`, how a compiled agent's cage becomes one, and the lines by which an operator does without one.
Never: what this machine can enforce.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.cages.file_grants import FileGrants, Mode

Seccomp = Literal["default", "relaxed"]


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the host that is in the cage at the same path; of nested ones the deeper
    decides. `deny` hides it."""

    path: Path
    mode: Mode


@dataclass(frozen=True, slots=True)
class CageLimits:
    """Bounds of everything that runs in the cage; None leaves it to the machine, but for a number of
    processes that no work needs."""

    walltime_seconds: int | None = None
    cpu_seconds: int | None = None
    memory_mb: int | None = None
    pids: int | None = None
    file_size_mb: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class Cage:
    """What runs in it sees `mounts`, the system's folders read-only, and nothing else of the host.

    `net` are `host`, `host:port` or `*.host:port`; none: no network. `state_folder` keeps the cage's
    home and /tmp beyond its end; None: they are gone with it. `unix_sockets` allows AF_UNIX inside.
    `takes_new_names`: what is made under protected names while something runs in it is taken for its own,
    and away; not for a cage in which something runs all the time, as that may as well be an operator's.
    """

    mounts: tuple[Mount, ...]
    net: tuple[str, ...] = ()
    state_folder: Path | None = None
    seccomp: Seccomp = "default"
    env: Mapping[str, str] = field(default_factory=dict)
    unix_sockets: bool = False
    limits: CageLimits = CageLimits()
    takes_new_names: bool = True
    guarded: tuple[Path, ...] = ()
    """Files and folders that are protected by their exact path, also while there is nothing."""
    repository: Path | None = None
    """The `.git` of a workspace, which is the session's own: it is written as the mount for it says, although
    the name is protected. What in it steers git is among `guarded`."""
    hides_special_files: bool = True
    """Pipes, sockets and devices in what may only be read are hidden; not needed where only programs of the
    daemon run."""
    protects_names: bool = True
    """Protected names in what may be written are read-only; not where the daemon's git acts for an
    operator."""

    @classmethod
    def of_agent(
        cls,
        compiled: Mapping[str, Any],
        root: Path,
        *,
        state_folder: Path,
        closed: tuple[Path, ...] = (),
    ) -> Cage:
        """Return the cage of an agent of the project at `root`. `state_folder` is where its state is
        kept when the cage says so; `closed` are the daemon's own places, hidden wherever they lie."""
        grants = FileGrants.of(compiled.get("fs") or (), root)
        mounts = [Mount(root.joinpath(*parts), mode) for parts, mode in grants.entries]
        return cls(
            mounts=(*mounts, *(Mount(path, "deny") for path in closed)),
            net=tuple((compiled.get("net") or {}).get("allow") or ()),
            state_folder=state_folder if compiled.get("state") == "persistent" else None,
            seccomp=compiled.get("seccomp") or "default",
            env=dict(compiled.get("env") or {}),
            unix_sockets="unix" in (compiled.get("ipc") or ()),
            limits=CageLimits(**(compiled.get("limits") or {})),
            guarded=tuple(
                root / path for name in ("guarded", "guarded_links") for path in compiled.get(name) or ()
            ),
        )


LOCAL_FILE = ".kaged/project.local.yaml"
LINES = "primary:\n  cage: disabled\n"
"""For `LOCAL_FILE`, which holds for one machine."""
