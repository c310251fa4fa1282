"""Uses that the build of the declaration's package does not have: what it leaves out of its own files, and
packages that know the declaration through another one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk
from tests.tools.code.monorepos import CRATE, TSCONFIG, lock, npm

LEFT_OUT = pytest.mark.requirement("language_servers.monorepos.left_out")


@dataclass(frozen=True)
class Case:
    """`weigh` is declared at the place, used in the files `used`, and said to be there in those `also`."""

    server: str
    language: str
    declared: tuple[str, int]
    used: tuple[str, ...]
    files: Mapping[str, str]
    name: str = "weigh"
    also: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


_TS = {
    "package.json": npm("scale"),
    "tsconfig.json": TSCONFIG,
    "src/index.ts": "export function weigh(load: number): number {\n  return load;\n}\n",
    "test/index.test.ts": 'import { weigh } from "../src/index";\n\nweigh(2);\n',
    "test/own.ts": "function weigh(): void {}\nweigh();\n",
}
_PY = {
    "src/scales.py": "def weigh(load: int) -> int:\n    return load\n",
    "tests/test_scales.py": "from src.scales import weigh\n\nweigh(2)\n",
}
CASES = {
    "typescript": Case(
        "typescript-language-server", "typescript", ("src/index.ts", 1), ("test/index.test.ts",), _TS
    ),
    "typescript-7": Case("typescript-7", "typescript", ("src/index.ts", 1), ("test/index.test.ts",), _TS),
    "pyright": Case(
        "pyright",
        "python",
        ("src/scales.py", 1),
        ("tests/test_scales.py",),
        {**_PY, "pyproject.toml": '[tool.pyright]\ninclude = ["src"]\n'},
    ),
    "basedpyright": Case(
        "basedpyright",
        "python",
        ("src/scales.py", 1),
        ("tests/test_scales.py",),
        {**_PY, "pyrightconfig.json": '{"include": ["src"]}\n'},
    ),
    "clangd": Case(
        "clangd",
        "cpp",
        ("scale.cpp", 2),
        ("truck.cpp",),
        {
            "scale.h": "#pragma once\nint weigh(int load);\n",
            "scale.cpp": '#include "scale.h"\nint weigh(int load) { return load; }\n',
            "truck.cpp": '#include "scale.h"\nint full = weigh(2);\n',
        },
        also=("scale.h",),
    ),
    "gopls": Case(
        "gopls",
        "go",
        ("scale.go", 3),
        ("scale.go", "truck_windows.go"),
        {
            "go.mod": "module example.org/scale\n\ngo 1.22\n",
            "scale.go": "package scale\n\nfunc Weigh(load int) int { return load }\n\nvar Once = Weigh(1)\n",
            "truck_windows.go": "package scale\n\nvar Full = Weigh(2)\n",
            "other_windows.go": "package scale\n\ntype Other struct{}\n\nfunc (Other) Weigh() {}\n",
        },
        name="Weigh",
    ),
}
THROUGH = {
    "typescript": Case(
        "typescript-language-server",
        "typescript",
        ("packages/scale/src/index.ts", 1),
        ("packages/truck/src/index.ts",),
        {
            "package.json": '{"name": "depot", "private": true, "workspaces": ["packages/*"]}\n',
            ".gitignore": "node_modules\n",
            "packages/scale/package.json": npm("@depot/scale"),
            "packages/scale/tsconfig.json": TSCONFIG,
            "packages/scale/src/index.ts": _TS["src/index.ts"],
            "packages/lift/package.json": npm("@depot/lift", "@depot/scale"),
            "packages/lift/tsconfig.json": TSCONFIG,
            "packages/lift/src/index.ts": 'export * from "@depot/scale";\n',
            "packages/truck/package.json": npm("@depot/truck", "@depot/lift"),
            "packages/truck/tsconfig.json": TSCONFIG,
            "packages/truck/src/index.ts": 'import { weigh } from "@depot/lift";\n\n'
            "export const full = weigh(2);\n",
        },
        links=(
            ("node_modules/@depot/scale", "../../packages/scale"),
            ("node_modules/@depot/lift", "../../packages/lift"),
        ),
    ),
    "rust": Case(
        "rust-analyzer",
        "rust",
        ("scale/src/lib.rs", 1),
        ("truck/src/lib.rs",),
        {
            "scale/Cargo.toml": CRATE.format("scale"),
            "scale/Cargo.lock": lock(("scale", "")),
            "scale/src/lib.rs": "pub fn weigh(load: u8) -> u8 {\n    load\n}\n",
            "lift/Cargo.toml": CRATE.format("lift") + '\n[dependencies]\nscale = { path = "../scale" }\n',
            "lift/Cargo.lock": lock(("scale", ""), ("lift", "scale")),
            "lift/src/lib.rs": "pub use scale::*;\n",
            "truck/Cargo.toml": CRATE.format("truck") + '\n[dependencies]\nlift = { path = "../lift" }\n',
            "truck/Cargo.lock": lock(("scale", ""), ("lift", "scale"), ("truck", "lift")),
            "truck/src/lib.rs": "pub fn full() -> u8 {\n    lift::weigh(2)\n}\n",
        },
    ),
}


@asynccontextmanager
async def opened(base: Path, case: Case, files: Mapping[str, str] | None = None) -> AsyncIterator[CodeDesk]:
    declared = Declared(language=case.language, command=server_command(case.server))
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all(case.files if files is None else files)
        for link, target in case.links:
            (desk.root / link).parent.mkdir(parents=True, exist_ok=True)
            (desk.root / link).symlink_to(target)
        if case.language == "cpp":
            entry = {"directory": str(desk.root), "file": "scale.cpp", "command": "c++ -c scale.cpp"}
            desk.put("compile_commands.json", orjson.dumps([entry]).decode())
        yield desk


def at(case: Case) -> dict[str, str | int]:
    path, line = case.declared
    return {"path": path, "line": line, "symbol": case.name}


def kept(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files that only a rename changes: where no cage forbids it, cargo writes its lock anew."""
    return {path: text for path, text in files.items() if not path.endswith("Cargo.lock")}


async def finds_and_renames_all(base: Path, case: Case) -> None:
    async with opened(base, case) as desk:
        found = await desk.lsp("references", **at(case))
        assert {one["path"] for one in found["references"]} == {f"./{path}" for path in case.used}
        await desk.lsp("rename", **at(case), new_name="Heft")
        changed = {case.declared[0], *case.used, *case.also}
        for path, text in kept(case.files).items():
            assert desk.text(path) == (text.replace(case.name, "Heft") if path in changed else text)


@LEFT_OUT
@pytest.mark.parametrize("name", CASES)
async def test_files_that_the_build_leaves_out_are_found_and_renamed(tmp_path: Path, name: str) -> None:
    await finds_and_renames_all(tmp_path, CASES[name])


@pytest.mark.requirement("language_servers.monorepos.through")
@pytest.mark.parametrize("name", THROUGH)
@pytest.mark.timeout(600)
async def test_packages_that_know_it_through_another_are_found_and_renamed(tmp_path: Path, name: str) -> None:
    await finds_and_renames_all(tmp_path, THROUGH[name])


@LEFT_OUT
async def test_a_rename_is_refused_for_go_files_of_a_tag_and_for_what_another_system_has_instead(
    tmp_path: Path,
) -> None:
    case = CASES["gopls"]
    tagged = "//go:build heavy\n\npackage scale\n\nvar Heavy = Weigh(3)\n"
    instead = {"scale_linux.go": case.files["scale.go"], "scale_windows.go": case.files["scale.go"]}
    for files, path, left in (
        ({**case.files, "heavy.go": tagged}, "scale.go", "./heavy.go:5"),
        ({"go.mod": case.files["go.mod"], **instead}, "scale_linux.go", "./scale_windows.go:3"),
    ):
        base = tmp_path / path
        base.mkdir()
        async with opened(base, case, files) as desk:
            asked = {**at(case), "path": path, "new_name": "Heft"}
            refused = await desk.refused("rename", **asked)
            assert refused.code == "rename_incomplete" and left in refused.detail["not_looked_at"]
            assert {name: desk.text(name) for name in files} == files
            found = await desk.lsp("references", **{**asked, "new_name": None})
            assert left.partition(":")[0] in {one["path"] for one in found["not_looked_at"]}
            await desk.lsp("rename", **asked, confirm=refused.detail["confirm"])
            assert "Heft" in desk.text(path) and "Weigh" in desk.text(left[2:].partition(":")[0])


@LEFT_OUT
async def test_a_rename_is_refused_for_rust_code_of_a_feature_that_is_off(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": CRATE.format("scale") + "\n[features]\nheavy = []\n",
        "Cargo.lock": lock(("scale", "")),
        "src/lib.rs": "pub fn weigh(load: u8) -> u8 {\n    load\n}\n\n"
        '#[cfg(feature = "heavy")]\npub fn heavy() -> u8 {\n    weigh(3)\n}\n\n'
        '#[cfg(feature = "heavy")]\nmod heavier;\n\n'
        "pub struct Own;\n\nimpl Own {\n    pub fn light(self) {}\n}\n",
        "src/heavier.rs": "pub fn heavier() -> u8 {\n    crate::weigh(4)\n}\n",
    }
    case = Case("rust-analyzer", "rust", ("src/lib.rs", 1), (), files)
    async with opened(tmp_path, case) as desk:
        refused = await desk.refused("rename", **at(case), new_name="heft")
        assert refused.detail["not_looked_at"] == ["./src/heavier.rs:2", "./src/lib.rs:7"]
        assert all(desk.text(name) == text for name, text in kept(files).items())
        done = await desk.lsp("rename", path="src/lib.rs", symbol="Own.light", new_name="bright")
        assert done["files_changed"] == 1
