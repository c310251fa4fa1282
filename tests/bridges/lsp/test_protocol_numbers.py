"""Names and numbers in the code, and edits that it takes, held against the types of `lsprotocol`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import converters, types

from app.bridges.lsp import clangd, client, companion, diagnostics, server, tsserver, watched
from app.bridges.lsp.client import client_capabilities
from app.bridges.lsp.workspace_edit import (
    Annotation,
    CreateFile,
    DeleteFile,
    EditPlan,
    RenameFile,
    TextEdit,
    TextEdits,
    parse_workspace_edit,
)
from app.bridges.rpc import peer
from app.tools.code import diagnostic_rows, raw_request, symbols
from tests.driver.language_servers import ROOT

pytestmark = pytest.mark.requirement("language_servers.protocol_types")
CONVERTER = converters.get_converter()
METHOD = re.compile(
    r"(?:\$|callHierarchy|client|codeAction|textDocument|typeHierarchy|window|workspace|workspaceSymbol)/[a-zA-Z/]+"
)
OWN = {"$/nothing"}
"""Names that begin with `$/` are for implementations: servers refuse what they do not know."""


def written_methods(folders: Iterable[str]) -> set[str]:
    """Return the names of methods that stand in the code."""
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 50
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    beginnings = {text for text in texts if text.endswith("/did")}
    return {text for text in texts if METHOD.fullmatch(text)} - beginnings


def test_every_method_is_one_of_the_protocol() -> None:
    written = written_methods(("app/bridges/lsp", "app/tools/code", "app/tools/after_edit"))
    assert len(written) > 40
    assert written | raw_request.READING <= types.METHOD_TO_TYPES.keys() | OWN


def test_every_capability_of_a_server_is_one_of_the_protocol() -> None:
    known = members(types.ServerCapabilities)
    assert set(client._STATIC.values()) | {provider for provider, _ in client._WITHIN.values()} <= known
    assert set(client._FILE_OPERATIONS) == members(types.FileOperationOptions)


def members(kind: type[Any]) -> set[str]:
    """Return the names of a type's members, as the protocol writes them."""
    words = [member.name.split("_") for member in kind.__attrs_attrs__]
    return {first + "".join(map(str.capitalize, more)) for first, *more in words}


def words(kind: type[Enum]) -> dict[Any, str]:
    """Return the names of an enumeration by their values, as `enum_member`."""
    return {one.value: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one.name).lower() for one in kind}


def test_every_number_is_that_of_the_protocol() -> None:
    assert dict(enumerate(symbols.KINDS, 1)) == words(types.SymbolKind)
    assert dict(enumerate(diagnostic_rows.SEVERITIES, 1)) == words(types.DiagnosticSeverity)
    assert words(types.DiagnosticTag) == diagnostic_rows._TAGS
    assert {name: number for number, name in words(types.FileChangeType).items()} == watched.KINDS
    assert {
        "created": types.WatchKind.Create,
        "changed": types.WatchKind.Change,
        "deleted": types.WatchKind.Delete,
    } == watched._BITS
    assert tsserver._SEVERITIES["error"] == types.DiagnosticSeverity.Error
    assert tsserver._SEVERITIES["warning"] == types.DiagnosticSeverity.Warning
    assert tsserver._SEVERITIES["suggestion"] == types.DiagnosticSeverity.Hint
    assert tsserver._SEVERITIES["message"] == types.DiagnosticSeverity.Information


def test_every_error_code_is_that_of_the_protocol() -> None:
    again = {types.LSPErrorCodes.ContentModified, types.LSPErrorCodes.ServerCancelled}
    assert again == server._ASK_AGAIN
    assert again | {types.LSPErrorCodes.RequestCancelled} == companion._ASK_AGAIN
    assert again | {types.LSPErrorCodes.RequestCancelled} == diagnostics._RETRIED_CODES
    assert types.LSPErrorCodes.RequestCancelled == peer.REQUEST_CANCELLED
    assert types.ErrorCodes.InternalError == peer.INTERNAL_ERROR
    assert types.ErrorCodes.UnknownErrorCode == peer.UNKNOWN_ERROR == clangd._INVALID_AST


def test_every_value_that_is_offered_is_one_of_the_protocol() -> None:
    offered = client_capabilities(watches_files=True)
    assert set(offered["general"]["positionEncodings"]) == values(types.PositionEncodingKind)
    edits, texts = offered["workspace"]["workspaceEdit"], offered["textDocument"]
    assert set(edits["resourceOperations"]) == values(types.ResourceOperationKind)
    assert edits["failureHandling"] in values(types.FailureHandlingKind)
    assert set(texts["hover"]["contentFormat"]) == values(types.MarkupKind)
    assert set(texts["publishDiagnostics"]["tagSupport"]["valueSet"]) == values(types.DiagnosticTag)
    for section in (texts["documentSymbol"], offered["workspace"]["symbol"]):
        assert set(section["symbolKind"]["valueSet"]) == values(types.SymbolKind)
    actions = texts["codeAction"]["codeActionLiteralSupport"]["codeActionKind"]["valueSet"]
    assert set(actions) <= values(types.CodeActionKind)


def values(kind: type[Enum]) -> set[Any]:
    return {one.value for one in kind}


def test_an_edit_with_all_that_the_protocol_has_is_taken_whole(tmp_path: Path) -> None:
    def uri(name: str) -> str:
        return (tmp_path / name).as_uri()

    start, end = types.Position(1, 2), types.Position(3, 4)
    span = types.Range(start, end)
    document = types.OptionalVersionedTextDocumentIdentifier(uri("a"), 7)
    edit = types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                document, [types.TextEdit(span, "plain"), types.AnnotatedTextEdit("why", span, "noted")]
            ),
            types.CreateFile(uri("b"), options=types.CreateFileOptions(True, True), annotation_id="why"),
            types.RenameFile(uri("b"), uri("c"), options=types.RenameFileOptions(True, True)),
            types.DeleteFile(uri("d"), options=types.DeleteFileOptions(True, True), annotation_id="why"),
        ],
        change_annotations={"why": types.ChangeAnnotation("Because", True, "of this")},
    )
    assert parse_workspace_edit(CONVERTER.unstructure(edit)) == EditPlan(
        (
            TextEdits(
                tmp_path / "a",
                7,
                (TextEdit((1, 2), (3, 4), "plain"), TextEdit((1, 2), (3, 4), "noted", "why")),
            ),
            CreateFile(tmp_path / "b", True, True, "why"),
            RenameFile(tmp_path / "b", tmp_path / "c", True, True),
            DeleteFile(tmp_path / "d", True, True, "why"),
        ),
        (Annotation("why", "Because", True, "of this"),),
    )
    simple = types.WorkspaceEdit(changes={uri("a"): [types.TextEdit(span, "plain")]})
    assert parse_workspace_edit(CONVERTER.unstructure(simple)) == EditPlan(
        (TextEdits(tmp_path / "a", None, (TextEdit((1, 2), (3, 4), "plain"),)),)
    )
