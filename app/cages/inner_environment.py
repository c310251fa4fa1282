"""What of the daemon's environment means something inside a cage.

Owns: leaving out the variables that name places which a cage does not show, and those with a password in
an address. Never: what is set instead; a cage has its own home.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

_OWN = frozenset({"HOME", "TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "MAIL"})
_SESSION = ("XDG_", "DBUS_", "SSH_", "GPG_", "DISPLAY", "WAYLAND_", "XAUTHORITY", "SUDO_", "KAGED_")
_SYSTEM = tuple(map(PurePath, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc")))
_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@")


def environment_inside(environment: Mapping[str, str], shown: Sequence[PurePath]) -> dict[str, str]:
    """Return the variables that hold inside a cage which shows the folders `shown`: those of the user's
    own session and home are left out, those whose value is the path of a place that is not there, and those
    that hold a password in an address (`DATABASE_URL`). A list of paths, as PATH, stays as it is: what is not
    there is passed over."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _OWN and not name.startswith(_SESSION) and _is_there(value, shown)
        if not _PASSWORD.search(value)
    }


def _is_there(value: str, shown: Sequence[PurePath]) -> bool:
    if not value.startswith("/") or ":" in value:
        return True
    path = PurePath(value)
    return any(path.is_relative_to(place) for place in (*_SYSTEM, *shown))
