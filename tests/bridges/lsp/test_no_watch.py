"""Where the files cannot be watched for the server, it is not told that they are, and watches itself."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.bridges.lsp.connection import options_for
from app.bridges.lsp.server_behaviours import behaviour_of
from app.workspace.tree_watch import TreeWatches
from tests.bridges.lsp.conftest import messages, open_place, serving
from tests.driver.language_servers import copy_of

SECONDS = 60.0


@pytest.mark.requirement("language_servers.watch.exact")
def test_a_server_gets_a_watching_client_only_where_one_watches() -> None:
    behaviour = behaviour_of("typescript-language-server")
    watched, unwatched = (options_for(behaviour, watches_files=watches) for watches in (True, False))
    assert watched["tsserver"] == {**unwatched["tsserver"], "useClientFileWatcher": True}
    assert unwatched == behaviour.options.initialization
    assert "useClientFileWatcher" not in unwatched["tsserver"]


@pytest.mark.requirement("language_servers.watch.exact")
async def test_a_server_sees_changes_by_itself_where_the_client_cannot_watch(tmp_path: Path) -> None:
    root = copy_of("typescript", tmp_path)
    async with open_place(
        tmp_path,
        root,
        declared=serving("typescript-language-server", "typescript"),
        watches=TreeWatches(max_folders=0),
    ) as place:
        place.put("src/used.ts", "export const value = 1;\n")
        place.put("src/user.ts", 'import { value } from "./used.js";\n\nexport const two = value * 2;\n')
        server = await place.project.server_for("src/user.ts")
        assert messages(await server.diagnostics("src/user.ts")) == []
        place.put("src/used.ts", "export const valve = 1;\n")
        deadline = time.monotonic() + SECONDS
        while not (found := (await server.diagnostics("src/user.ts")).items):
            assert time.monotonic() < deadline, "the server has not seen the change"
        assert "value" in found[0]["message"]
