"""What a call answers when its language server is silent."""

from __future__ import annotations

import sys

import pytest

from app.bridges.lsp.manager import Declarations, Declared
from app.tools.code import lsp
from tests.bridges.lsp.conftest import HOSTILE
from tests.tools.code.conftest import code_desk


@pytest.mark.requirement("security.silent_server")
async def test_a_call_that_only_looks_is_given_up_in_all_and_says_after_how_long(tmp_path, monkeypatch):
    silent = ("--log", str(tmp_path / "log"), "--never-answer", "textDocument/hover")
    declared = Declared(
        language="hostile", command=(sys.executable, str(HOSTILE), *silent), extensions=(".hostile",)
    )
    async with code_desk(tmp_path, declarations=Declarations(project=(declared,))) as desk:
        desk.put("one.hostile", "word\n")
        await desk.lsp("symbols", path="one.hostile")
        monkeypatch.setattr(lsp, "CALL_SECONDS", 0.5)  # now that the server has started
        refused = await desk.refused("hover", path="one.hostile", line=1, character=0)
        assert refused.code == "lsp_timeout" and "given up after 0.5 s" in refused.error_text
