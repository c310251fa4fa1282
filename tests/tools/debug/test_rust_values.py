"""Rust's values as Rust writes them, by the formatters of the toolchain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import Declared
from app.bridges.dap.rust_formatters import find_formatters
from app.tools.debug.sources import function_name
from tests.driver.debug_adapters import adapter_path, built, copy_of, debug_environment, line_of
from tests.driver.debug_desk import debug_desk
from tests.driver.machine import TOOLS, Lack

LLDB = {
    "name": '"pear"',
    "text": '"slice"',
    "numbers": "size=3",
    "part": "size=2",
    "home": '{city:"Lisbon"}',
    "map": "size=1",
}
ENUMS = {"some": "5", "circle": "1.5", "square": "3"}
"""What is in them. Formatters of newer toolchains have it in the value, others in a child."""
GDB = {"name": '"pear"', "text": '"slice"', "numbers": "Vec(size=3)", "map": "HashMap(size=1)"}
ADAPTERS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "lldb-dap": ((), LLDB),
    "codelldb": ((), LLDB),
    "gdb": (("--interpreter=dap", "--nx", "{gdb_options}", "{script}"), GDB),
}


@pytest.mark.requirement("debugger.rust.values")
@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_values_of_rust_are_readable(tmp_path: Path, adapter: str) -> None:
    program, (arguments, expected) = adapter_path(adapter), ADAPTERS[adapter]
    if find_formatters(debug_environment(tmp_path / "home"), tmp_path) is None:
        pytest.skip(str(Lack("the formatters of Rust (rust-lldb, rust-gdb)", "not installed", TOOLS)))
    root = copy_of("rust", tmp_path)
    script = built(root / "values.rs").name
    line = line_of(root / "values.rs", "values")
    declared = [Declared(runtime="rust", adapter=(str(program), *arguments))]
    async with debug_desk(tmp_path, root, declared=declared) as desk:
        await desk.debug("set_breakpoint", path="values.rs", line=line)
        stop = await desk.debug("launch", runtime="rust", script=script, stop_on_entry=False)
        assert stop["location"]["function"] == "values::main"
        found: list[dict[str, Any]] = (await desk.debug("variables", depth=3))["variables"]
        values = {one["name"]: one["value"] for one in found}
        assert expected.items() <= values.items(), values
        rows = {one["name"]: str(one) for one in found}
        assert all(inner in rows[name] for name, inner in ENUMS.items()), rows
        inside = (await desk.debug("variables", expand="numbers"))["variables"]
        assert [one["value"] for one in inside][:3] == ["1", "2", "3"]


@pytest.mark.requirement("debugger.rust.values")
def test_formatters_are_found_beside_the_compiler_or_by_rustup(tmp_path: Path) -> None:
    def toolchain(folder: Path) -> Path:
        etc = folder / "lib" / "rustlib" / "etc"
        etc.mkdir(parents=True)
        (etc / "lldb_lookup.py").touch()
        return etc

    def program(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    root = tmp_path / "project"
    root.mkdir()
    plain = program(tmp_path / "plain" / "bin" / "rustc")
    environment = {"PATH": str(plain.parent), "HOME": str(tmp_path / "home")}
    assert find_formatters(environment, root) is None
    etc = toolchain(tmp_path / "plain")
    assert find_formatters(environment, root) == etc
    proxy = program(tmp_path / "cargo" / "bin" / "rustup")
    (proxy.parent / "rustc").symlink_to("rustup")
    environment = {"PATH": str(proxy.parent), "HOME": str(tmp_path / "home")}
    assert find_formatters(environment, root) is None
    rustup = tmp_path / "home" / ".rustup"
    stable = toolchain(rustup / "toolchains" / "stable-x86_64-unknown-linux-gnu")
    pinned = toolchain(rustup / "toolchains" / "1.80.0-x86_64-unknown-linux-gnu")
    (rustup / "settings.toml").write_text('default_toolchain = "stable-x86_64-unknown-linux-gnu"\n')
    assert find_formatters(environment, root) == stable
    (root / "rust-toolchain.toml").write_text('[toolchain]\nchannel = "1.80.0"\n')
    assert find_formatters(environment, root) == pinned
    (root / "rust-toolchain.toml").write_text('[toolchain]\nchannel = "../../evil"\n')
    assert find_formatters(environment, root) is None


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("shop::price::h164283497333573b", "shop::price"),
        ("a::main::_$u7b$$u7b$closure$u7d$$u7d$::h51fd485121901416", "a::main::{{closure}}"),
        ("core::ops::FnOnce$LT$A$GT$::call", "core::ops::FnOnce<A>::call"),
        ("main", "main"),
        ("Object.<anonymous>", "Object.<anonymous>"),
        ("jQuery.$u7b$", "jQuery.$u7b$"),
    ],
)
def test_names_of_functions(raw: str, plain: str) -> None:
    assert function_name(raw) == plain
