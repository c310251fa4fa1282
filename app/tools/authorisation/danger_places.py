"""What a path in a command looks like: credentials, system folders and so on.

Owns: classifying paths by their text. Never: looking at the disk: the command may run elsewhere and later.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Literal

PlaceKind = Literal[
    "system", "home", "above", "project", "history", "other_history", "everything", "perhaps_root"
]

_HOME = re.compile(r"~[\w-]*|\$HOME|\$\{HOME\}|/root|/home(?:/[^/]+)?|/Users(?:/[^/]+)?")
_SYSTEM = frozenset(
    {"/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/srv"}
    | {"/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib"}
    | {"/var/log", "/Applications", "/Library", "/System", "/mnt", "/media"}
)
_EVERYTHING = frozenset({"*", "./*", ".*", "{*,.*}"})
_PERHAPS_ROOT = re.compile(r"(\$\w+|\$\{\w+\})/\*?")
_DEVICE = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|md|loop|mapper/|mem$|kmem$|port$)")
_LOGS = re.compile(r"/var/log(?:/|$)|(?:^|/)\.(?:bash|zsh|sh|python|node_repl|psql|mysql)_history$")
_SECRETS = re.compile(
    r"(?:^|/)(?:\.ssh(?:/(?!known_hosts|config$|[^/]*\.pub$)|$)|id_(?:rsa|dsa|ecdsa|ed25519)$|\.aws(?:/|$)"
    r"|\.gnupg(?:/|$)|\.netrc$|\.pgpass$|\.git-credentials$|\.npmrc$|\.pypirc$|\.kube/config"
    r"|\.docker/config\.json|\.config/(?:gcloud|gh/hosts\.yml|hub)|\.azure(?:/|$)|\.vault-token$"
    r"|\.env(?:$|\.(?!example|sample|template|dist)[\w.-]+$))"
    r"|^/etc/(?:shadow|gshadow|sudoers)|^/proc/(?:self|\d+|\*)/environ"
)
_ALWAYS_SECRET = re.compile(
    r"\.ssh/(?!known_hosts|config$|[^/]*\.pub$)|id_(?:rsa|dsa|ecdsa|ed25519)$|shadow$|/environ$"
)
_START_UP = re.compile(
    r"(?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|zlogin|kshrc)$"
    r"|(?:^|/)\.ssh/(?:authorized_keys|config|rc)$|(?:^|/)\.config/(?:autostart|systemd|fish)/"
    r"|^/etc/|^/var/spool/cron|(?:^|/)LaunchAgents/|(?:^|/)\.git/(?:hooks(?:/|$)|config$)|(?:^|/)\.kaged(?:/|$)"
)


def place_of(path: str, root: Path) -> PlaceKind | None:
    """Say what removing or changing `path` with all below it would hit; None when nothing special."""
    if path in _EVERYTHING:
        return "everything"
    if _PERHAPS_ROOT.fullmatch(path) and not _HOME.fullmatch(path.rstrip("/*")):
        return "perhaps_root"
    stem = path.removesuffix("/*").removesuffix("/.") or "/"
    plain = posixpath.normpath(stem).replace("//", "/")
    if plain in _SYSTEM:
        return "system"
    if _HOME.fullmatch(plain):
        return "home"
    if plain == ".." or (plain.startswith("../") and set(plain.split("/")) == {".."}):
        return "above"
    if plain == str(root) or str(root).startswith(f"{plain}/") or (plain == "." and not path.endswith("*")):
        return "project"
    if plain in {"$PWD", "${PWD}", "$(pwd)", "`pwd`"}:
        return "project"
    if plain in {".git", f"{root}/.git"}:
        return "history"
    if plain.endswith("/.git"):
        return "other_history"
    return None


def is_device(path: str) -> bool:
    return _DEVICE.match(path) is not None


def is_log(path: str) -> bool:
    return _LOGS.search(path) is not None


def is_secret(path: str) -> bool:
    return _SECRETS.search(path) is not None


def is_key(path: str) -> bool:
    """Tell whether a path looks like credentials that no work on a project needs to read."""
    return is_secret(path) and _ALWAYS_SECRET.search(path) is not None


def is_start_up(path: str) -> bool:
    """Tell whether what is written there is run, or obeyed, at some later time."""
    return _START_UP.search(path) is not None
