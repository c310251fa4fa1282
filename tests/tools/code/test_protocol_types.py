"""What language servers are sent, held against the protocol's types (`lsprotocol`): nothing may be lost."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from lsprotocol import converters, types

from app.bridges.lsp.client import client_capabilities
from app.bridges.lsp.manager import Declarations, Declared
from app.tools.code import diagnostics
from tests.driver.language_servers import PATIENT, ROOT, server_command
from tests.tools.code.conftest import CodeDesk, code_desk
from tests.tools.code.projects import PYTHON

RECORDER = ROOT / "tests" / "fakes" / "recorded_language_server.py"
SCRIPTED = ROOT / "tests" / "tools" / "code" / "scripted_server.py"
CONVERTER = converters.get_converter()
OWN = frozenset({"$/nothing"})
"""Methods that kaged sends and the protocol does not have. Names that begin so are for implementations."""
SPAN = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 4}}
ITEM = {"name": "word", "kind": 5, "uri": "{root}/a.scr", "range": SPAN, "selectionRange": SPAN}
REPORT = {"kind": "full", "resultId": "1", "items": []}
EVERYTHING: dict[str, Any] = {
    "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}},
    "hoverProvider": True,
    "implementationProvider": True,
    "typeHierarchyProvider": True,
    "codeActionProvider": {"resolveProvider": True},
    "diagnosticProvider": {
        "identifier": "own",
        "interFileDependencies": True,
        "workspaceDiagnostics": True,
    },
}
ANSWERS: dict[str, Any] = {
    "textDocument/diagnostic": {
        **REPORT,
        "items": [{"range": SPAN, "severity": 2, "message": "so it is", "code": 7, "source": "scripted"}],
    },
    "workspace/diagnostic": {"items": [{**REPORT, "uri": "{root}/a.scr", "version": None}]},
    "textDocument/implementation": [],
    "textDocument/prepareTypeHierarchy": [{**ITEM, "data": [1, None, {"own": True}]}],
    "typeHierarchy/subtypes": [],
    "typeHierarchy/supertypes": [],
    "textDocument/codeAction": [{"title": "Mend", "kind": "quickfix", "data": {"number": 1.5}}],
    "codeAction/resolve": {"title": "Mend", "edit": {"changes": {}}},
    "textDocument/hover": None,
}


@pytest.fixture(autouse=True)
def patient_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has not answered `shutdown` in time is killed, and never told to `exit`."""
    monkeypatch.setattr("app.bridges.lsp.lifecycle.SHUTDOWN_SECONDS", PATIENT.wait_seconds)


def without_loss(given: Any, as_type: Any) -> None:
    """Assert that a type of the protocol takes a value and holds all of it."""
    taken = CONVERTER.structure(given, as_type)
    kept = json.loads(json.dumps(CONVERTER.unstructure(taken, as_type)))
    assert list(lost(given, kept)) == []


def lost(given: Any, kept: Any, where: str = "") -> Iterator[str]:
    """Yield the places where two values of JSON differ. An optional member that is null may be missing."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for name in given.keys() | kept.keys():
            yield from lost(given.get(name), kept.get(name), f"{where}.{name}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for number, (one, other) in enumerate(zip(given, kept, strict=True)):
            yield from lost(one, other, f"{where}[{number}]")
    elif type(given) is not type(kept) or given != kept:
        yield f"{where}: {given!r} became {kept!r}"


@asynccontextmanager
async def recorded(
    base: Path, language: str, extension: str, command: tuple[str, ...]
) -> AsyncIterator[tuple[CodeDesk, Path]]:
    """Open a desk whose files of an extension belong to a server with a recorder before it."""
    log = base / "log"
    log.mkdir()
    server = Declared(
        language=language,
        command=(sys.executable, str(RECORDER), str(log), *command),
        extensions=(extension,),
    )
    async with code_desk(base, declarations=Declarations(project=(server,))) as desk:
        yield desk, log


def messages(file: Path) -> list[dict[str, Any]]:
    found, rest = [], file.read_bytes()
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = int(head.lower().rpartition(b"content-length:")[2].split()[0])
        found.append(orjson.loads(rest[:length]))
        rest = rest[length:]
    return found


def checked(log: Path) -> set[str]:
    """Hold every message to the server against its type. Return the methods, answers as `answer to ...`."""
    received = messages(log / "received")
    asked = {one["id"]: one["method"] for one in received if "id" in one and "method" in one}
    seen = set()
    for message in messages(log / "sent"):
        if (method := message.get("method")) is None:
            method = asked[message["id"]]
            seen.add(f"answer to {method}")
            without_loss(message, types.METHOD_TO_TYPES[method][1])
        elif method not in OWN:
            seen.add(method)
            without_loss(message, types.METHOD_TO_TYPES[method][0])
    return seen


@pytest.mark.requirement("language_servers.protocol_types")
@pytest.mark.parametrize("watches", [True, False])
def test_the_capabilities_of_the_client(watches: bool) -> None:
    given = client_capabilities(watches_files=watches)
    without_loss(given, types.ClientCapabilities)
    with pytest.raises(AssertionError, match="workDoneProgres:"):
        without_loss({**given, "window": {"workDoneProgres": True}}, types.ClientCapabilities)


@pytest.mark.requirement("language_servers.protocol_types")
async def test_every_message_to_basedpyright(tmp_path: Path) -> None:
    async with recorded(tmp_path, "python", ".py", server_command("basedpyright")) as (desk, log):
        desk.put_all(PYTHON)
        await desk.lsp("diagnostics", path="main.py")
        at = {"path": "main.py", "line": 3, "symbol": "bill"}
        for action in ("definition", "type_definition", "references", "hover", "call_hierarchy"):
            await desk.lsp(action, **at)
        await desk.lsp("call_hierarchy", direction="outgoing", **at)
        await desk.lsp("symbols", path="main.py")
        await desk.lsp("symbols", path="main.py", scope="workspace", query="total")
        await desk.lsp("code_actions", path="main.py", line=3)
        desk.put("main.py", desk.text("main.py") + "\n\nlast: int = bill()\n")
        desk.put("shop/more.py", "more = 1\n")
        await desk.lsp("diagnostics", path="main.py")
        await desk.lsp("rename", path="shop/orders.py", line=4, symbol="bill", new_name="invoice")
        await desk.lsp("rename_file", path="shop/prices.py", new_name="shop/costs.py")
    assert checked(log) >= {
        *("initialize", "initialized", "shutdown", "exit"),
        *("textDocument/didOpen", "textDocument/didChange", "workspace/didChangeWatchedFiles"),
        *("textDocument/definition", "textDocument/typeDefinition", "textDocument/references"),
        *("textDocument/hover", "textDocument/documentSymbol", "workspace/symbol", "textDocument/codeAction"),
        *("textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"),
        *("textDocument/prepareRename", "textDocument/rename", "workspace/willRenameFiles"),
        *("answer to workspace/configuration", "answer to client/registerCapability"),
    }


@pytest.mark.requirement("language_servers.protocol_types")
async def test_every_message_to_a_server_that_offers_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "MAX_FILES", 1)  # more are asked for with one request
    monkeypatch.setattr(diagnostics, "MOST_FILES", 0)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"capabilities": EVERYTHING, "answers": ANSWERS}))
    command = (sys.executable, str(SCRIPTED), str(script))
    async with recorded(tmp_path, "scripted", ".scr", command) as (desk, log):
        desk.put_all({"a.scr": "word other\n", "b.scr": "word\n"})
        at = {"path": "a.scr", "line": 1, "symbol": "word"}
        await desk.lsp("diagnostics", path="a.scr")
        await desk.lsp("diagnostics", path=".")
        for action in ("implementation", "type_hierarchy", "code_actions"):
            await desk.lsp(action, **at)
        await desk.lsp("type_hierarchy", direction="supertypes", **at)
        desk.put("a.scr", "word changed\n")
        await desk.lsp("hover", **at)
        desk.put("b.scr", "word changed\n")
        (desk.root / "a.scr").unlink()
        await desk.lsp("hover", **at | {"path": "b.scr"})
    assert checked(log) >= {
        *("textDocument/diagnostic", "workspace/diagnostic", "textDocument/implementation"),
        *("textDocument/prepareTypeHierarchy", "typeHierarchy/subtypes", "typeHierarchy/supertypes"),
        *("textDocument/codeAction", "codeAction/resolve"),
        *("textDocument/didChange", "textDocument/didSave", "textDocument/didClose"),
    }
