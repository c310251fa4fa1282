"""What is committed of the TypeScript client is what the documents give."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.typescript.conftest import SOURCE, compile_with

pytestmark = pytest.mark.requirement("client.typescript")


def test_its_lock_pins_everything_and_names_no_host() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text())
    text = (SOURCE / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert "dependencies" not in manifest
    wanted = manifest["devDependencies"]
    assert all(packages[f"node_modules/{name}"]["version"] == pin for name, pin in wanted.items())
    assert all(entry.get("integrity") for name, entry in packages.items() if name)
    assert '"resolved"' not in text


def test_generating_again_gives_exactly_what_is_committed(installed: Path, tmp_path: Path) -> None:
    subprocess.run(["node", "generate.mjs", str(tmp_path)], cwd=installed, check=True, timeout=300)
    for name in ("generated/routes.ts", "generated/events.ts"):
        assert (tmp_path / name).read_text() == (SOURCE / "src" / name).read_text(), (
            "run `make clients-typescript`"
        )


def test_wrong_calls_are_errors_of_the_compiler(built: Path) -> None:
    folder = built / "wrong"
    folder.mkdir()
    (folder / "calls.ts").write_text(WRONG)
    options = {"rootDir": "wrong", "noEmit": True, "types": ["node"]}
    settings = {"extends": "./tsconfig.json", "compilerOptions": options, "include": ["wrong"]}
    (built / "wrong.json").write_text(json.dumps(settings))
    compile_with(built, "wrong.json")


WRONG = """\
import { createKaged } from "@kaged/client";

const kaged = createKaged({ baseUrl: "http://127.0.0.1:7777" });
// @ts-expect-error no such route
await kaged.get("/api/v1/sessionss");
// @ts-expect-error no such method on this route
await kaged.put("/api/v1/sessions", { body: {} });
// @ts-expect-error the path's id is missing
await kaged.get("/api/v1/sessions/{session_id}");
// @ts-expect-error the body is missing
await kaged.post("/api/v1/sessions");
// @ts-expect-error unknown field
await kaged.post("/api/v1/sessions", { body: { project_id: "prj_1", titel: "x" } });
// @ts-expect-error not a list
kaged.list("/api/v1/versions");
for await (const event of kaged.follow("ses_1")) {
  if (event.type === "run.ended") {
    event.payload.state.length;
    // @ts-expect-error a field of another event
    event.payload.delta;
  }
  // @ts-expect-error no such type
  if (event.type === "run.stopped") break;
}
"""
