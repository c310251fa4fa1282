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
_PASSWORD = re.compile(r"(?<=[A-Za-z0-9+.-])://[^/\s:@]*+:[^/\s@]++@")
_ALLOWED = re.compile(
    r"PATH|HOME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|USER|LOGNAME|XDG_(CACHE|CONFIG|DATA|STATE)_HOME"
    r"|LD_LIBRARY_PATH|CPATH|C_INCLUDE_PATH|CPLUS_INCLUDE_PATH|LIBRARY_PATH|PKG_CONFIG_PATH|CC|CXX|C(XX)?FLAGS"
    r"|GO(PATH|ROOT|BIN|FLAGS|PROXY|SUMDB|NOSUMDB|PRIVATE|CACHE|MODCACHE|TOOLCHAIN|TELEMETRY|WORK|OS|ARCH|ENV)"
    r"|CGO_[A-Z]+|CARGO_(HOME|TARGET_DIR|NET_OFFLINE|BUILD_[A-Z_]+)|RUST(UP_HOME|UP_TOOLCHAIN|FLAGS|_SRC_PATH)"
    r"|PYTHON(PATH|HOME|USERBASE|IOENCODING|UTF8)|VIRTUAL_ENV|CONDA_PREFIX|PYENV_(ROOT|VERSION)"
    r"|NODE_(PATH|ENV)|NVM_DIR|VOLTA_HOME|(JAVA|JDK|MAVEN|GRADLE|GRADLE_USER|KOTLIN|SCALA)_HOME"
    r"|GEM_(HOME|PATH)|BUNDLE_PATH|RUBYLIB|RBENV_(ROOT|VERSION)|PERL5LIB|DOTNET_(ROOT|CLI_TELEMETRY_OPTOUT)"
    r"|COMPOSER_HOME|ASDF_(DIR|DATA_DIR)|MIX_HOME|HEX_HOME|OPAMROOT|GHCUP_INSTALL_BASE_PREFIX|NIX_PATH"
)
"""What says where the programs and packages of languages are. None of them is for credentials."""
_CREDENTIAL = re.compile(r"://[^/\s]*@")


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the daemon that a program of a language is given: those of a list, without
    addresses that name a user."""
    return {
        name: value
        for name, value in environment.items()
        if _ALLOWED.fullmatch(name) and not _CREDENTIAL.search(value)
    }


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
