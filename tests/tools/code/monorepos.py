"""Monorepos whose packages know of each other only by their own manifests.

In each, the function `weigh` of one package is used in it and in a second one beside it. A third one has a
function of that name of its own, and a fourth says the word in a comment and in a string.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Monorepo:
    """`declared` is the place of `weigh` (path and line), `used` are the files that use it. The server is one
    of tests/language_servers. `links` are symbolic links, as a package manager makes them."""

    language: str
    server: str
    declared: tuple[str, int]
    used: tuple[str, ...]
    files: Mapping[str, str]
    links: Mapping[str, str] | None = None
    name: str = "weigh"
    other: str = "heft"


def npm(name: str, *needs: str) -> str:
    needed = ", ".join(f'"{one}": "*"' for one in needs)
    return (
        f'{{"name": "{name}", "version": "1.0.0", "main": "src/index.ts", "types": "src/index.ts", '
        f'"dependencies": {{{needed}}}}}\n'
    )


TSCONFIG = (
    '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022", '
    '"moduleResolution": "bundler", "noEmit": true}, "include": ["src"]}\n'
)
_SCALE_TS = (
    "export function weigh(load: number): number {\n  return load;\n}\n\nexport const once = weigh(1);\n"
)
_OTHER_TS = "export function weigh(): string {\n  return '';\n}\n\nexport const own = weigh();\n"
_SAID_TS = "// weigh is said here\nexport const said = 'weigh';\n"
CRATE = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'


def lock(*crates: tuple[str, str]) -> str:
    """Return a lock file of crates, each with the one that it needs, or none."""
    needs = {name: f'dependencies = [\n "{need}",\n]\n' if need else "" for name, need in crates}
    return "version = 3\n" + "".join(
        f'\n[[package]]\nname = "{name}"\nversion = "0.1.0"\n{needs[name]}' for name in sorted(needs)
    )


NPM_WORKSPACES = Monorepo(
    "typescript",
    "typescript-language-server",
    ("packages/scale/src/index.ts", 1),
    ("packages/scale/src/index.ts", "packages/truck/src/index.ts"),
    {
        "package.json": '{"name": "depot", "private": true, "workspaces": ["packages/*"]}\n',
        ".gitignore": "node_modules\n",
        "packages/scale/package.json": npm("@depot/scale"),
        "packages/scale/tsconfig.json": TSCONFIG,
        "packages/scale/src/index.ts": _SCALE_TS,
        "packages/truck/package.json": npm("@depot/truck", "@depot/scale"),
        "packages/truck/tsconfig.json": TSCONFIG,
        "packages/truck/src/index.ts": 'import { weigh } from "@depot/scale";\n\n'
        "export const full = weigh(2);\n",
        "packages/crane/package.json": npm("@depot/crane"),
        "packages/crane/tsconfig.json": TSCONFIG,
        "packages/crane/src/index.ts": _OTHER_TS,
        "packages/notes/package.json": npm("@depot/notes", "@depot/scale"),
        "packages/notes/tsconfig.json": TSCONFIG,
        "packages/notes/src/index.ts": _SAID_TS,
    },
    {"node_modules/@depot/scale": "../../packages/scale"},
)
TWOTSCONFIGS = Monorepo(
    "typescript",
    "typescript-language-server",
    ("scale/src/index.ts", 1),
    ("scale/src/index.ts", "truck/src/index.ts"),
    {
        "scale/tsconfig.json": TSCONFIG,
        "scale/src/index.ts": _SCALE_TS,
        "truck/tsconfig.json": TSCONFIG,
        "truck/src/index.ts": 'import { weigh } from "../../scale/src/index";\n\n'
        "export const full = weigh(2);\n",
        "crane/tsconfig.json": TSCONFIG,
        "crane/src/index.ts": _OTHER_TS,
        "notes/tsconfig.json": TSCONFIG,
        "notes/src/index.ts": _SAID_TS,
    },
)
TWO_PYPROJECTS = Monorepo(
    "python",
    "pyright",
    ("scale/scales.py", 1),
    ("scale/scales.py", "truck/load.py"),
    {
        "scale/pyproject.toml": '[project]\nname = "scale"\nversion = "1"\n',
        "scale/scales.py": "def weigh(load: int) -> int:\n    return load\n\n\nonce = weigh(1)\n",
        "truck/pyproject.toml": '[tool.pyright]\nextraPaths = ["../scale"]\n',
        "truck/load.py": "from scales import weigh\n\nfull = weigh(2)\n",
        "crane/pyproject.toml": '[project]\nname = "crane"\nversion = "1"\n',
        "crane/lift.py": 'def weigh() -> str:\n    return ""\n\n\nown = weigh()\n',
        "notes/pyproject.toml": '[project]\nname = "notes"\nversion = "1"\n',
        "notes/said.py": '# weigh is said here\nsaid = "weigh"\n',
    },
)
TWO_GO_MODULES = Monorepo(
    "go",
    "gopls",
    ("scale/scale.go", 3),
    ("scale/scale.go", "truck/truck.go"),
    {
        "scale/go.mod": "module example.org/depot/scale\n\ngo 1.22\n",
        "scale/scale.go": "package scale\n\nfunc Weigh(load int) int { return load }\n\n"
        "var Once = Weigh(1)\n",
        "truck/go.mod": "module example.org/depot/truck\n\ngo 1.22\n\n"
        "require example.org/depot/scale v0.0.0\n\n"
        "replace example.org/depot/scale => ../scale\n",
        "truck/truck.go": 'package truck\n\nimport "example.org/depot/scale"\n\nvar Full = scale.Weigh(2)\n',
        "crane/go.mod": "module example.org/depot/crane\n\ngo 1.22\n",
        "crane/crane.go": 'package crane\n\nfunc Weigh() string { return "" }\n\nvar Own = Weigh()\n',
        "notes/go.mod": "module example.org/depot/notes\n\ngo 1.22\n",
        "notes/notes.go": 'package notes\n\n// Weigh is said here.\nvar Said = "Weigh"\n',
    },
    name="Weigh",
    other="Heft",
)
TWO_CRATES = Monorepo(
    "rust",
    "rust-analyzer",
    ("scale/src/lib.rs", 1),
    ("scale/src/lib.rs", "truck/src/lib.rs"),
    {
        "scale/Cargo.toml": CRATE.format("scale"),
        "scale/Cargo.lock": lock(("scale", "")),
        "scale/src/lib.rs": "pub fn weigh(load: u8) -> u8 {\n    load\n}\n\n"
        "pub fn once() -> u8 {\n    weigh(1)\n}\n",
        "truck/Cargo.toml": CRATE.format("truck") + '\n[dependencies]\nscale = { path = "../scale" }\n',
        "truck/Cargo.lock": lock(("scale", ""), ("truck", "scale")),
        "truck/src/lib.rs": "pub fn full() -> u8 {\n    scale::weigh(2)\n}\n",
        "crane/Cargo.toml": CRATE.format("crane"),
        "crane/src/lib.rs": "pub fn weigh() -> u8 {\n    1\n}\n",
    },
)
ALL: Mapping[str, Monorepo] = {
    "npm-workspaces": NPM_WORKSPACES,
    "two-tsconfigs": TWOTSCONFIGS,
    "two-pyprojects": TWO_PYPROJECTS,
    "two-go-modules": TWO_GO_MODULES,
    "two-crates": TWO_CRATES,
}
