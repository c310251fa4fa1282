"""The repository, the demo and a fresh machine."""

from __future__ import annotations

REPOSITORY: dict[str, str] = {
    "repository.package": "pyproject.toml with hatchling and the console script `kaged`",
    "release.reproducible": "a commit builds the same wheel and sdist anywhere, and the sdist the same wheel",
    "release.wheel": "the wheel has every file of the application, and runs outside of any checkout",
    "repository.lock": "a lock file with hashes that names no host",
    "repository.ci": "a skipped test fails the continuous integration",
    "repository.documents": (
        "README opens with the two commands; dependencies, changelog, contributing, MIT license"
    ),
    "repository.rules": "sizes, names and banned calls are checked by tests",
    "demo.walk": (
        "the demo project has a failing test, and the replayed agent reads, finds, edits and explains"
    ),
    "fresh_machine.probed": "what a debug adapter can do is probed, not listed",
    "fresh_machine.ordinary_user": (
        "make test is green and quick without system packages, and says what it left out"
    ),
    "fresh_machine.mount_races": "the races of mounts have no bound that load can break",
}
