"""Text that no encoding can carry is refused before anything is touched."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("file.create", {"path": "new/b", "content": "x\ud800"}),
        ("file.write", {"path": "new/b", "content": "\udfff"}),
        ("file.write", {"path": "a", "content": "\ud800"}),
        ("write", {"path": "a", "content": "\ud800"}),
        ("edit.text", {"path": "a", "old_string": "x", "new_string": "\ud800"}),
        ("edit", {"path": "a", "old_string": "x", "new_string": "\ud800"}),
        ("edit.ast", {"rewrites": {"x": "\ud800"}, "lang": "python", "dry_run": False}),
    ],
)
async def test_an_unpaired_surrogate_is_a_mistake_of_the_caller(desk, tool, params):
    desk.put("a", "x\n")
    await desk.ok("file.read", path="a")
    before = desk.snapshot()
    envelope = await desk.call(tool, params)
    assert envelope.code == "invalid_params" and "surrogate" in envelope.error_text
    assert desk.snapshot() == before
