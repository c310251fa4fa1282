"""request: one request of the protocol, as the agent writes it.

Owns: which methods may be asked by whom, filling in the document, and taking out of the answer what a
caller may not see. Never: a request by which a server would write, run something, or lose its state.

A caller with a cage or rules may only ask about the file that it names, by methods of a list whose
answers are about that file, or are places; places in other files are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from app.errors import ToolError
from app.tools.code.call import CodeCall
from app.tools.code.parameters import wrong
from app.tools.code.places import Files
from app.tools.code.results import LspResult
from app.tools.processes.foreign_text import clean_value, one_line

MAX_DEPTH = 60
READING = frozenset(
    f"textDocument/{name}"
    for name in (
        *("definition", "declaration", "typeDefinition", "implementation", "references"),
        *("documentSymbol", "documentHighlight", "foldingRange", "selectionRange"),
        *("semanticTokens/full", "documentColor", "linkedEditingRange"),
    )
)
"""What callers may ask that do not see the whole project. Answers with documentation are not among
them: it may be that of another file. The action hover shows what may be read of it."""
_QUOTING = frozenset({"textDocument/documentSymbol"})
"""Those of them that have types in their answers: not for who asks a server that sees more than they do."""
_FORBIDDEN = re.compile(
    r"initialize|initialized|shutdown|exit|\$/.*|.*/did[A-Z].*|window/.*|client/.*|telemetry/.*"
    r"|workspace/(executeCommand|applyEdit)|textDocument/(willSaveWaitUntil|willSave|publishDiagnostics)"
)
_METHOD = re.compile(r"[A-Za-z$][A-Za-z0-9_$./-]{0,199}")
_LOCATED = ("uri", "targetUri", "oldUri", "newUri")


async def request(call: CodeCall) -> LspResult:
    """Send the request and return the server's answer; positions in it are the protocol's."""
    method = call.params.query or ""
    restricted = call.view.restricts
    scope = await call.scope()
    _check_method(method, restricted=restricted)
    if method in _QUOTING:
        scope.check_words(method)
    payload = _payload(call.params.payload or "")
    named = await call.named()
    if named.is_directory:
        raise ToolError("is_directory", f"{named.shown} is a folder; request needs a file, for its server")
    server = await call.server(named)
    text = await server.document(named.relative)
    if method.startswith("textDocument/") and isinstance(payload, dict):
        payload.setdefault("textDocument", {"uri": text.uri})
    if restricted and any(uri != text.uri for uri in _uris(payload)):
        raise wrong("payload", "may only name the file of path; leave textDocument out to have it filled in")
    answer = await server.request(method, payload)

    def shown() -> LspResult:
        visible = answer
        if restricted:
            visible = _visible(answer, Files(call, server.encoding, text), 0)
        note = "The server answered null." if visible is None else None
        return LspResult(
            result=clean_value(visible),
            language=server.language,
            position_encoding=server.encoding,
            note=note,
        )

    return await call.aside(shown)


def _check_method(method: str, *, restricted: bool) -> None:
    if _METHOD.fullmatch(method) is None:
        raise wrong("query", "is no method of the protocol, such as textDocument/hover")
    if restricted and method not in READING:
        allowed = ", ".join(sorted(READING))
        raise ToolError(
            "capability_denied",
            f"this agent does not see the whole project, and may only request {allowed}",
            detail={"method": method, "allowed": sorted(READING)},
        )
    if _FORBIDDEN.fullmatch(method) is not None:
        raise wrong(
            "query",
            f"{one_line(method, 100)} is not sent: it would change the server's state, write files or run "
            "something; use the other actions, edit.text or shell.bash",
        )


def _payload(text: str) -> Any:
    try:
        payload = orjson.loads(text)
    except ValueError as problem:
        raise wrong("payload", f"is not valid JSON: {problem}") from None
    if payload is not None and not isinstance(payload, dict | list):
        raise wrong("payload", "must be a JSON object, an array or null")
    return payload


def _uris(value: Any) -> Iterator[str]:
    """Every text in the payload that names a document: what stands under such a name, or looks like
    a URI of a file."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if isinstance(one, str) and (key.lower().endswith("uri") or one.lower().startswith("file:")):
                yield one
            else:
                yield from _uris(one)
    elif isinstance(value, list):
        for one in value:
            yield from _uris(one)
    elif isinstance(value, str) and value.lower().startswith("file:"):
        yield value


def _visible(value: Any, files: Files, depth: int) -> Any:
    """Return the answer without objects that are about files which the caller may not read. Blocking."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, list):
        kept = (_visible(one, files, depth + 1) for one in value)
        return [one for one, before in zip(kept, value, strict=True) if one is not None or before is None]
    if isinstance(value, Mapping):
        for name in _LOCATED:
            if name in value:
                found = files.of_uri(value[name])
                if found is None or found.parts is None or found.verdict != "inside":
                    return None
        return {key: _visible(one, files, depth + 1) for key, one in value.items()}
    return value
