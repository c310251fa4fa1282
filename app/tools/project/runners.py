"""The build runners that recipes know: how each runs a task, and how it is installed.

Owns: that table, in the order in which runners are asked. Never: looking at a project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Runner:
    """`run` comes before a declared task's name, `separator` before its arguments. `builtin` are operations
    of the runner itself. `variables_first` runners take `NAME=value` before the separator."""

    name: str
    run: tuple[str, ...]
    install: str
    separator: tuple[str, ...] = ()
    variables_first: bool = False
    builtin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def program(self) -> str:
        return self.run[0]


_NODE = "install Node.js from https://nodejs.org"
_CARGO = ("build", "check", "test", "run", "bench", "clippy", "fmt", "doc", "clean", "update")

RUNNERS: tuple[Runner, ...] = (
    Runner(
        "npm",
        ("npm", "run"),
        f"{_NODE}, which brings npm",
        separator=("--",),
        builtin={"install": ("npm", "install")},
    ),
    Runner("pnpm", ("pnpm", "run"), "`npm install --global pnpm`", builtin={"install": ("pnpm", "install")}),
    Runner("yarn", ("yarn", "run"), "`npm install --global yarn`", builtin={"install": ("yarn", "install")}),
    Runner(
        "bun",
        ("bun", "run"),
        "see https://bun.sh, or `npm install --global bun`",
        builtin={"install": ("bun", "install"), "test": ("bun", "test")},
    ),
    Runner(
        "cargo",
        ("cargo",),
        "install Rust with rustup, https://rustup.rs",
        builtin={name: ("cargo", name) for name in _CARGO},
    ),
    Runner(
        "poetry",
        ("poetry", "run"),
        "`pipx install poetry`",
        builtin={name: ("poetry", name) for name in ("install", "build", "check", "lock")},
    ),
    Runner(
        "pdm",
        ("pdm", "run"),
        "`pipx install pdm`",
        builtin={name: ("pdm", name) for name in ("install", "build", "lock")},
    ),
    Runner(
        "uv",
        ("uv", "run"),
        "`pipx install uv`, or see https://docs.astral.sh/uv",
        builtin={
            "install": ("uv", "sync"),
            "sync": ("uv", "sync"),
            "build": ("uv", "build"),
            "lock": ("uv", "lock"),
        },
    ),
    Runner("make", ("make",), "with the system's packages (`apt install make`)"),
    Runner("just", ("just",), "`cargo install just`, or with the system's packages"),
    Runner(
        "task",
        ("task",),
        "see https://taskfile.dev/installation",
        separator=("--",),
        variables_first=True,
    ),
)
BY_NAME: Mapping[str, Runner] = {runner.name: runner for runner in RUNNERS}

NODE_LOCKS: tuple[tuple[str, str], ...] = (
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
)
"""Lock files of package.json's managers; the first that is there says which one it is."""
PYTHON_LOCKS: tuple[tuple[str, str], ...] = (
    ("uv.lock", "uv"),
    ("poetry.lock", "poetry"),
    ("pdm.lock", "pdm"),
)
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
JUSTFILES = ("justfile", "Justfile", ".justfile")
TASKFILES = (
    *("Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"),
    *("Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml"),
)
LOOKED_FOR = (
    "package.json, Cargo.toml, pyproject.toml (with poetry, pdm or uv), Makefile, justfile, Taskfile.yml"
)
