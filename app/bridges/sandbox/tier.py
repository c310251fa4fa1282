"""How strongly this machine can hold a cage, and why.

Owns: the tiers and the finding. Never: finding it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TierName = Literal["full", "landlock", "none", "off"]
"""`full`: namespaces, mounts and seccomp. `landlock`: the operator's opt-in; files, TCP and seccomp, no
namespaces. `none`: nothing that needs a child process runs in a cage. `off`: the operator switched the
sandbox off (`--no-sandbox`), children of caged agents run with the daemon's rights."""


@dataclass(frozen=True, slots=True)
class Tier:
    """The tier of this machine. `reason` says what was proven, or why it is no higher; `advice` is for the
    operator; `found` are single observations by name, for `kaged doctor`."""

    name: TierName
    reason: str
    advice: str | None = None
    found: tuple[tuple[str, str], ...] = ()
