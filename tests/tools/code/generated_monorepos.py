"""Monorepos made at random, whose packages use each other's functions, and their languages' checkers."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.driver.language_servers import INSTALLED, server_environment, server_path
from tests.tools.code.monorepos import TSCONFIG, npm

NAMES = ("weigh", "load", "count", "tally")
"""Few, so that packages often call different things the same."""


@dataclass(frozen=True)
class Package:
    """A package that declares functions of these names, and uses functions `(package, name)` of others."""

    number: int
    declares: tuple[str, ...]
    uses: tuple[tuple[int, str], ...]

    @property
    def needs(self) -> tuple[int, ...]:
        return tuple(sorted({number for number, _ in self.uses}))


def packages(seed: int) -> tuple[Package, ...]:
    chance = random.Random(seed)
    made: list[Package] = []
    for number in range(chance.randint(3, 5)):
        others = [(one.number, name) for one in made for name in one.declares]
        uses = chance.sample(others, min(len(others), chance.randint(1, 4)))
        made.append(Package(number, tuple(chance.sample(NAMES, chance.randint(1, 3))), tuple(sorted(uses))))
    return tuple(made)


@dataclass(frozen=True)
class Place:
    """Where a function is named, at its declaration or at a use, and what it is called there."""

    path: str
    line: int
    name: str


def _noise(package: Package) -> str:
    return ", ".join(package.declares) + " and " + ", ".join(NAMES)


def python(seed: int) -> tuple[Mapping[str, str], list[Place]]:
    files: dict[str, str] = {}
    places: list[Place] = []
    every = packages(seed)
    for one in every:
        folder, module = f"part{one.number}", f"shop{one.number}"
        paths = ", ".join(f'"../part{number}"' for number in range(one.number))
        files[f"{folder}/pyproject.toml"] = f"[tool.pyright]\nextraPaths = [{paths}]\n"
        lines = [f"# {_noise(one)}", f"said = {_noise(one)!r}"]
        for name in one.declares:
            places.append(Place(f"{folder}/{module}.py", len(lines) + 1, name))
            lines += [f"def {name}(x: int) -> int:", "    return x + len(said)", f"own_{name} = {name}(1)"]
        files[f"{folder}/{module}.py"] = "\n".join(lines) + "\n"
        lines = []
        for number, name in one.uses:
            places.append(Place(f"{folder}/use{one.number}.py", len(lines) + 1, name))
            lines += [f"from shop{number} import {name} as {name}_of_{number}"]
        lines += [f"total_{number}_{name} = {name}_of_{number}(2)" for number, name in one.uses]
        files[f"{folder}/use{one.number}.py"] = "\n".join(lines) + "\n"
    return files, places


def typescript(seed: int) -> tuple[Mapping[str, str], list[Place]]:
    """By relative paths, without a manifest at the root."""
    files: dict[str, str] = {}
    places: list[Place] = []
    for one in packages(seed):
        folder = f"part{one.number}"
        files[f"{folder}/tsconfig.json"] = TSCONFIG
        files[f"{folder}/package.json"] = npm(f"part{one.number}")
        lines = [f"// {_noise(one)}", f"const said = {_noise(one)!r};"]
        for name in one.declares:
            places.append(Place(f"{folder}/src/index.ts", len(lines) + 1, name))
            lines += [f"export function {name}(x: number): number {{", "  return x + said.length;", "}"]
            lines += [f"export const own_{name} = {{ {name} }}.{name}(1);"]
        files[f"{folder}/src/index.ts"] = "\n".join(lines) + "\n"
        lines = []
        for number, name in one.uses:
            places.append(Place(f"{folder}/src/use.ts", len(lines) + 1, name))
            lines += [f'import {{ {name} as {name}Of{number} }} from "../../part{number}/src/index";']
        lines += [f"export const total{number}{name} = {name}Of{number}(2);" for number, name in one.uses]
        files[f"{folder}/src/use.ts"] = "\n".join(lines) + "\nexport {};\n"
    return files, places


def go(seed: int) -> tuple[Mapping[str, str], list[Place]]:
    files: dict[str, str] = {}
    places: list[Place] = []
    for one in packages(seed):
        folder = f"part{one.number}"
        needed = "".join(
            f"\nrequire example.org/part{number} v0.0.0\n\n"
            f"replace example.org/part{number} => ../part{number}\n"
            for number in range(one.number)
        )
        files[f"{folder}/go.mod"] = f"module example.org/part{one.number}\n\ngo 1.22\n{needed}"
        lines = [f"package part{one.number}", f"// {_noise(one)}", f'const said = "{_noise(one)}"']
        for name in map(str.title, one.declares):
            places.append(Place(f"{folder}/own.go", len(lines) + 1, name))
            lines += [f"func {name}(x int) int {{ return x + len(said) }}", f"var Own{name} = {name}(1)"]
        files[f"{folder}/own.go"] = "\n".join(lines) + "\n"
        lines = [f"package part{one.number}"]
        lines += [f'import "example.org/part{number}"' for number in one.needs]
        for number, name in one.uses:
            places.append(Place(f"{folder}/use.go", len(lines) + 1, name.title()))
            lines += [f"var Total{number}{name} = part{number}.{name.title()}(2)"]
        files[f"{folder}/use.go"] = "\n".join(lines) + "\n"
    return files, places


GENERATORS = {"python": (python, "pyright"), "typescript": (typescript, "typescript-language-server")}
GENERATORS["go"] = (go, "gopls")


def complaints(language: str, root: Path, home: Path) -> str:
    """Return what the checker of the language says of each package, empty when all is right."""
    if language == "python":
        command = [str(server_path("pyright").with_name("pyright")), "--project"]
    elif language == "typescript":
        compiler = INSTALLED / "npm" / "node_modules" / ".bin" / "tsc"
        command = [str(compiler), "--project"]
    else:
        command = [str(server_path("gopls").with_name("go")), "build", "./..."]
    said = ""
    environment = server_environment(home) | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        whole = command if language == "go" else [*command, str(folder)]
        done = subprocess.run(whole, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        said += f"{folder.name}: {done.stdout}{done.stderr}\n" if done.returncode else ""
    return said
