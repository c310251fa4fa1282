"""Every tool against arguments that nobody would write: an answer always, damage never.

The arguments are made from each tool's own schema, so that a new tool is covered by being there.
What the name of a parameter says is used to come close to what works; commands and tasks are
taken from a harmless few, all else is free.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.bridges.lsp.manager import Declarations, Declared, LanguageServers
from app.bridges.processes.process import ChildProcesses
from app.tools.code.parameters import ACTIONS
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import CapabilityRequirement, ToolDefinition
from app.tools.contract.schema import parameters_schema
from app.tools.dispatch.service import ToolService
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.project_files.text_format import text_of
from app.workspace.tree_watch import TreeWatches
from tests.driver.rounds import rounds
from tests.driver.tool_registry import tool_registry
from tests.tools import documents, pictures
from tests.tools.conftest import Desk, Ports

pytestmark = [
    pytest.mark.requirement("tools.dispatch", "tools.fuzz.parameters"),
    pytest.mark.timeout(600),
]
TOOLS = sorted(definition.name for definition in tool_registry().definitions())
SERVER = Path(__file__).parent / "code" / "scripted_server.py"
STARTS_PROGRAMS = ("code.", "search.", "edit.ast", "shell.", "project.", "grep", "glob", "bash")

files = st.sampled_from(["a.txt", "code.py", "sub/b.txt", "old.txt", "a.png", "a.ipynb", "a.pdf", "new"])
names = files | st.sampled_from(["sub", "link", "out", "pipe", "..", ".", "", "~", "/"])
paths = st.one_of(
    files, names, st.lists(names, max_size=4).map("/".join), st.text(st.characters(), max_size=20)
)
texts = st.one_of(
    st.sampled_from(["", "x", "alpha", "beta\n", "alpha\nbeta", "1: alpha", "print($X)", "$$$A", "(", "*.py"])
    | st.sampled_from(["-e", "--files", "(a+)+$", "2**3**9", "1-2", "**/*", "!*", "{a,b", "[z-a]"]),
    st.text(max_size=30),
    st.text(st.characters(), max_size=30),
)
commands = st.sampled_from(
    [
        "true",
        "echo hello",
        "exit 3",
        "cat a.txt",
        "printf '\\377\\000'",
        "cd sub && pwd",
        "true &",
        "",
        " ",
        "(",
        "\0",
    ]
)
tasks = st.sampled_from(["test", "fail", "nothing", "test more", "", " ", "-n", "'", "test\0"])
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=6,
)
code_calls = st.fixed_dictionaries(
    {
        "action": st.sampled_from(ACTIONS),
        "path": st.sampled_from(["code.py", "code.py", "a.txt", ".", "sub"]),
        "line": st.sampled_from([1, 1, 1, 2, 9]),
        "symbol": st.sampled_from(["print", "print", "2", "print#2", "#1", "$"]),
        "new_name": st.sampled_from(["log", "sub/new.py", "../out", "\n", ".git/x", "code.py"]) | texts,
        "query": st.sampled_from(["textDocument/hover", "workspace/executeCommand", "print"]) | texts,
        "payload": st.sampled_from(["{}", "null", '{"position": {"line": 0}}', '{"uri": "file:///x"}', "["]),
        "scope": st.sampled_from(["document", "workspace"]),
    }
)
"""Calls that come as far as to a language server."""
BY_NAME = {
    "path": paths,
    "pattern": st.sampled_from(["alpha", "print($X)", "*", "**/*.py", "$$$A"]) | texts,
    "rewrites": st.dictionaries(st.just("print($X)") | texts, st.just("log($X)") | texts, max_size=2),
    "pages": st.sampled_from(["1", "2-2", "1-9", "2,1", ""]) | texts,
    "offset": st.integers(1, 4) | st.integers(-2, 1 << 70) | st.just("3"),
    "limit": st.integers(1, 4) | st.integers(-2, 1 << 70) | st.just("3"),
    "old_string": st.sampled_from(["alpha", "beta\n", "print(", "и", "ALPHA"]) | texts,
    "paths": st.lists(paths, max_size=3),
    "cwd": paths,
    "command": commands,
    "op": tasks,
    "url": st.sampled_from(["http://127.0.0.1:9/", "https://[::1]/a?b", "http://10.0.0.1", "ftp://x"])
    | texts,
    "timeout": st.sampled_from([-1, 0, 1000, 5000, "2000", 1 << 70]),
}


def fitting(schema: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Return values that a schema allows, or nearly."""
    if name in BY_NAME:
        return BY_NAME[name]
    for choices in (schema.get("anyOf"), schema.get("oneOf")):
        if choices:
            return st.one_of([fitting(choice) for choice in choices])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "string":
            return texts | paths
        case "integer":
            return st.integers(-2, 1 << 70) | st.integers(0, 9) | st.just("3")
        case "number":
            return st.floats() | st.integers(0, 9)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fitting(schema.get("items", {})), max_size=3)
        case "object" if "properties" in schema:
            return fields(schema)
        case "object":
            inner = schema.get("additionalProperties")
            return st.dictionaries(texts, fitting(inner) if isinstance(inner, dict) else junk, max_size=3)
        case _:
            return junk


def fields(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    known = {name: fitting(inner, name) for name, inner in schema["properties"].items()}
    required = {name: known[name] for name in schema.get("required", ())}
    optional = {name: strategy for name, strategy in known.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


def arguments_of(definition: ToolDefinition) -> st.SearchStrategy[Any]:
    schema = parameters_schema(definition.parameters)
    proper = fields({"properties": {}, **schema})
    harmless = set(schema.get("properties", {})) - {"command", "op"}
    spoiled = st.builds(
        lambda base, extra: {**base, **extra},
        proper,
        st.dictionaries(st.sampled_from([*harmless, "odd"]), junk, max_size=3),
    )
    partial = st.builds(
        lambda base, gone: {name: value for name, value in base.items() if name not in gone},
        proper,
        st.sets(st.sampled_from([*schema.get("properties", {}), "odd"]), max_size=2),
    )
    if definition.name == "code.lsp":
        return st.one_of(*[code_calls.map(dict) for _ in range(6)], proper, spoiled, partial)
    return st.one_of(*[proper] * 6, spoiled, partial, st.text(st.characters(), max_size=30))


class Workshop:
    """One event loop, one registry and its child processes for all examples."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self._base = Path(tempfile.mkdtemp())
        self._children = ChildProcesses()
        self._reads = ReadTracker()
        data = self._base / "data"
        self._watches = TreeWatches()
        self._languages = self._language_servers()
        self._service = ToolService(
            tool_registry(
                reads=self._reads, children=self._children, data_dir=data, languages=self._languages
            )
        )

    def _language_servers(self) -> LanguageServers:
        """Servers that start at once; what real ones answer is tested with real ones."""
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5}}
        place, edit = {"uri": "{root}/code.py", "range": span}, {"range": span, "newText": "log"}
        changes = {"changes": {"{root}/code.py": [edit]}}
        answers = {
            "textDocument/definition": place,
            "textDocument/references": [place, {**place, "uri": "{root}/sub/b.txt"}],
            "textDocument/hover": {"contents": "print", "range": span},
            "textDocument/documentSymbol": [{"name": "x", "kind": 1, "range": span, "selectionRange": span}],
            "textDocument/rename": changes,
            "textDocument/codeAction": [{"title": "log", "edit": changes}],
            "workspace/symbol": [{"name": "print", "kind": 12, "location": place}],
        }
        script = self._base / "script.json"
        publish = {"items": [{"range": span, "message": "m"}]}
        script.write_bytes(orjson.dumps({"answers": answers, "publish": publish}))
        declared = Declared(
            language="python", command=(sys.executable, str(SERVER), str(script)), extensions=(".py",)
        )
        return LanguageServers(
            self._children,
            self._watches,
            environment={"PATH": os.defpath},
            declared=lambda _: Declarations(local=(declared,)),
            decode=text_of,
            record=lambda *_: None,
        )

    def definition(self, name: str) -> ToolDefinition:
        found = self._service.registry.get(name)
        assert found is not None
        return found

    def fresh(self) -> Desk:
        base = Path(tempfile.mkdtemp(dir=self._base))
        root = base / "project"
        (root / "sub").mkdir(parents=True)
        (root / "a.txt").write_text("alpha\nbeta\n")
        (root / "code.py").write_text("print(1)\nprint(2, 3)\n")
        (root / "Makefile").write_text("test:\n\ttrue\nfail:\n\tfalse\n")
        (root / "sub/b.txt").write_bytes(b"\xff\xfea\0b\0")
        (root / "a.png").write_bytes(pictures.png(2, 2))
        (root / "a.pdf").write_bytes(documents.pdf(["One", "Two"]))
        (root / "a.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "x"}]}')
        (root / "old.txt").write_bytes("Строка с русским текстом и настройки\n".encode("cp1251") * 2)
        (root / "link").symlink_to("a.txt")
        (root / "out").symlink_to(base)
        os.mkfifo(root / "pipe")
        (base / "secret.txt").write_text("secret")
        ports = Ports()
        context = ToolCallContext(
            "ses", "run", "primary", base.name, root, None, "req", "call", base / "scratch", ports
        )
        return Desk(base, self._service, context, ports, self._reads)

    def clear(self, desk: Desk) -> None:
        self.runner.run(self._languages.close_project(desk.context.project_id))
        shutil.rmtree(desk.base)

    def close(self) -> None:
        self.runner.run(self._languages.aclose())
        self.runner.run(self._watches.aclose())
        self.runner.run(self._children.aclose())
        self.runner.close()
        shutil.rmtree(self._base)


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    opened = Workshop()
    yield opened
    opened.close()


def examples(tool: str) -> int:
    starts_programs = tool.startswith(STARTS_PROGRAMS) and tool != "code.lsp"
    return rounds(12, 60) if starts_programs else rounds(40, 200)


@pytest.mark.parametrize("tool", TOOLS)
def test_no_arguments_break_a_tool_or_change_the_disk_with_an_error(workshop: Workshop, tool: str) -> None:
    definition = workshop.definition(tool)
    codes: Counter[str] = Counter()

    @settings(max_examples=examples(tool), deadline=None, suppress_health_check=list(HealthCheck))
    @given(arguments=arguments_of(definition), caged=st.booleans())
    def check(arguments: Any, caged: bool) -> None:
        desk = workshop.fresh()
        try:
            if caged:
                fs = [{"mode": "rw", "path": "sub"}, {"mode": "ro", "path": "."}]
                desk = desk.as_agent("primary.x", {"fs": fs, "capabilities": ["shell", "exec"]})
            codes[workshop.runner.run(judge(desk, definition, arguments))] += 1
        finally:
            workshop.clear(desk)

    check()
    assert len(codes) > 1, f"these arguments try little: {codes}"


async def judge(desk: Desk, definition: ToolDefinition, arguments: Any) -> str:
    """Call the tool, check all that must hold, and return the code of its answer."""
    for path in ("a.txt", "sub/b.txt", "code.py", "old.txt"):
        await desk.call("file.read", path=path)
    before = desk.snapshot()
    envelope = await desk.call(definition.name, arguments)
    assert envelope.code != "internal_error", envelope.error_text
    orjson.dumps(envelope.as_json())
    orjson.dumps(desk.ports.events)
    envelope.model_text().encode()
    after = desk.snapshot()
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    scratch = str(desk.base / "scratch")
    if envelope.type == "error" and not runs_commands(definition):
        assert not changed
    if definition.read_only:
        assert all(path.startswith(scratch) for path in changed)
    inside = (f"{desk.root}/", scratch)
    assert all(path.startswith(inside) for path in changed)
    return envelope.code or "output"


def runs_commands(definition: ToolDefinition) -> bool:
    """A command that fails may have changed the disk before it did."""
    return any(
        isinstance(one, CapabilityRequirement) and one.name in {"shell", "exec"}
        for one in definition.requires
    )
