"""Every tool against arguments that nobody would write: an answer always, damage never."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.tools.call import ToolCallContext
from app.tools.read_tracker import ReadTracker
from app.tools.service import ToolService
from tests.tool_registry import tool_registry
from tests.tools.conftest import Desk, Ports

pytestmark = pytest.mark.requirement("R2.6.5")
TOOLS = ["file.read", "file.write", "file.create", "edit.text"]

names = st.sampled_from(["a.txt", "sub", "sub/b.txt", "link", "out", "pipe", "new", "..", ".", "", "~", "/"])
paths = st.one_of(
    st.lists(names, max_size=4).map("/".join),
    st.text(st.characters(), max_size=20),
    names,
    st.text(max_size=5),
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=6,
)
texts = st.one_of(
    st.sampled_from(["", "x", "alpha", "beta\n", "alpha\nbeta", "1: alpha"]), st.text(max_size=30)
)
fields = {
    "path": paths,
    "content": texts,
    "old_string": texts,
    "new_string": texts,
    "replace_all": st.booleans(),
    "offset": st.integers(-2, 1 << 70) | st.just("3"),
    "limit": st.integers(-2, 1 << 70) | st.just("9"),
}


def _arguments(definition) -> st.SearchStrategy[Any]:
    known = {name: fields[name] for name in definition.parameters.model_fields}
    proper = st.fixed_dictionaries({}, optional=known)
    spoiled = st.builds(
        lambda base, extra: {**base, **extra}, proper, st.dictionaries(st.sampled_from([*known, "odd"]), junk)
    )
    required = st.fixed_dictionaries(known)
    return st.one_of(required, required, proper, spoiled, st.text(st.characters(), max_size=30))


def _fresh() -> Desk:
    base = Path(tempfile.mkdtemp())
    root = base / "project"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("alpha\nbeta\n")
    (root / "sub/b.txt").write_bytes(b"\xff\xfea\0b\0")
    (root / "link").symlink_to("a.txt")
    (root / "out").symlink_to(base)
    os.mkfifo(root / "pipe")
    (base / "secret.txt").write_text("secret")
    ports = Ports()
    context = ToolCallContext(
        "ses", "run", "primary", "prj", root, None, "req", "call", base / "scratch", ports
    )
    reads = ReadTracker()
    return Desk(base, ToolService(tool_registry(reads=reads, data_dir=base / "data")), context, ports, reads)


@pytest.mark.parametrize("tool", TOOLS)
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_arguments_break_a_tool_or_change_the_disk_with_an_error(tool, data):
    desk = _fresh()
    try:
        arguments = data.draw(_arguments(desk.service.registry.get(tool)))
        caged = data.draw(st.booleans())
        if caged:
            desk = desk.as_agent(
                "primary.x", {"fs": [{"mode": "rw", "path": "sub"}, {"mode": "ro", "path": "."}]}
            )
        asyncio.run(_judge(desk, tool, arguments))
    finally:
        shutil.rmtree(desk.base)


async def _judge(desk: Desk, tool: str, arguments: Any) -> None:
    for path in ("a.txt", "sub/b.txt"):
        await desk.call("file.read", path=path)
    before = desk.snapshot()
    envelope = await desk.call(tool, arguments)
    assert envelope.code != "internal_error", envelope.error_text
    orjson.dumps(envelope.as_json())
    orjson.dumps(desk.ports.events)
    envelope.model_text().encode()
    after = desk.snapshot()
    if envelope.type == "error" or tool == "file.read":
        assert after == before
    inside = str(desk.root)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert all(path.startswith(inside + "/") for path in changed)
