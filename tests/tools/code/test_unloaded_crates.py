"""A crate whose dependencies cannot be loaded: `cargo metadata` fails, and its server knows nothing of the
crates that it uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.language_servers import server_path
from tests.tools.code.conftest import code_desk

CRATE = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
NEEDS = '\n[dependencies]\nbase = {{ path = "../base" }}\n{}\n'


@pytest.mark.requirement("language_servers.monorepos.references", "language_servers.monorepos.refused")
async def test_a_crate_beside_that_cannot_be_loaded_is_named_and_no_rename_leaves_it_out(
    tmp_path: Path,
) -> None:
    """It has no Cargo.lock, and a dependency that cannot be fetched."""
    server_path("rust-analyzer")
    async with code_desk(tmp_path) as desk:
        desk.put("base/Cargo.toml", CRATE.format("base"))
        desk.put("base/src/lib.rs", "pub fn total() -> i32 {\n    1\n}\n")
        needs = NEEDS.format('kaged-cannot-be-fetched = "1"')
        desk.put("user/Cargo.toml", CRATE.format("user") + needs)
        desk.put("user/src/lib.rs", "pub fn twice() -> i32 {\n    base::total() * 2\n}\n")
        total = {"path": "base/src/lib.rs", "line": 1, "symbol": "total"}
        found = await desk.lsp("references", **total)
        [left] = found["not_looked_at"]
        assert (left["path"], left["files"]) == ("./user", 1) and "depends on" in left["reason"]
        assert "kaged-cannot-be-fetched" in found["problem"]
        refused = await desk.refused("rename", **total, new_name="whole")
        assert refused.code == "rename_incomplete" and "./user/src/lib.rs:2" in refused.error_text
        assert "total" in desk.text("base/src/lib.rs")
