"""git's settings, as far as kaged obeys them.

Owns: which those are: who commits, line endings, ignore rules and attributes of the user. Never: a setting
that names a program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.tools.processes.git_commands import (
    filters_among,
    settings_environment,
    without_filters,
    without_hooks,
)

_TAKEN = (
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "i18n.commitencoding",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "user.name",
    "user.email",
)
"""Settings of the user that hold in the cage, too, where their files are not shown."""
_FILES = {"core.excludesfile": "ignore", "core.attributesfile": "attributes"}
"""Settings that name a file with rules, and its name below the user's folder of git's where they do not."""
_OF_USER = frozenset({"system", "global"})
_TRUE = frozenset({"true", "yes", "on", "1", ""})


@dataclass(frozen=True, slots=True)
class GitSettings:
    """The settings that are in effect in one repository, the last of each. `files` are those with the user's
    rules that are there."""

    values: Mapping[str, str]
    files: Mapping[str, Path]

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which git takes over what is the user's, and runs no filter, and no
        hook of the settings."""
        found = {name: self.values[name] for name in _TAKEN if name in self.values}
        found |= {name: os.fsdecode(path) for name, path in self.files.items()}
        found |= without_filters(filters_among(self.values)) | without_hooks(self.values)
        return settings_environment(found)

    def is_filtered(self, driver: str) -> bool:
        """Tell whether git would run a program for files with this filter, or needs one that is missing."""
        return driver == "lfs" or driver in filters_among(self.values)

    @property
    def identity(self) -> dict[str, str]:
        """Return the `name` and the `email` of the user, as far as they are configured, each on one line."""
        found = {one: self.values.get(f"user.{one}", "").strip() for one in ("name", "email")}
        return {one: value for one, value in found.items() if value and "\n" not in value}

    @property
    def missing_identity(self) -> list[str]:
        """Return what of the identity nobody has configured: `name`, `email`."""
        return [
            one
            for one in ("name", "email")
            if not self.values.get(f"user.{one}", "").strip()
            and not all(self.values.get(f"{who}.{one}", "").strip() for who in ("author", "committer"))
        ]

    @property
    def wants_signatures(self) -> bool:
        return self.values.get("commit.gpgsign", "false").lower() in _TRUE


def read_settings(listed: bytes, environment: Mapping[str, str]) -> GitSettings:
    """Return the settings of `git config --list --show-scope -z`. `environment` is the user's. Blocks."""
    values: dict[str, str] = {}
    of_user: dict[str, str] = {}
    for scope, key, value in _entries(listed):
        if scope == "command":
            continue
        values[key] = value
        if scope in _OF_USER:
            of_user[key] = value
    files = {}
    for key, name in _FILES.items():
        path = _rules_file(of_user.get(key), name, environment)
        if path is not None and os.path.isfile(path):
            files[key] = Path(os.path.realpath(path))
    return GitSettings(values, files)


def _entries(listed: bytes) -> Iterator[tuple[str, str, str]]:
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, has_value, value = setting.partition("\n")
        yield scope, key, value if has_value else "true"


def _rules_file(configured: str | None, name: str, environment: Mapping[str, str]) -> Path | None:
    home = environment.get("HOME", "")
    if configured is not None:
        path = Path(configured.replace("~", home, 1) if configured.startswith("~/") else configured)
        return path if path.is_absolute() else None
    folder = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    return Path(folder, "git", name) if folder else None
