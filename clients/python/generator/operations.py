"""`openapi.json` as two modules of resources: the methods of `Kaged`, and those of `AsyncKaged`.

Owns: which resource and method an operation becomes, its parameters and answer. Never: how it is sent.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from generator.types import Schema, annotation, described, reference, snake

LEFT_OUT = {
    "launch": "signs a browser in",
    "create_chat_completion": "of a protocol that has its own clients",
    "list_chat_models": "of a protocol that has its own clients",
    "get_chat_model": "of a protocol that has its own clients",
}
"""Operations that are no methods, and why."""
RAW_BODIES = {"import_session": "application/jsonl"}
"""Operations whose body is not JSON, and its media type, where the document does not say so."""

_SESSION = "SessionDetail"
"""The answer that becomes a `Session`, which has methods of its own."""

HEAD = '''"""The operations. Written by `python -m generator`; change the generator instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kaged_client._generated import models
from kaged_client._call import Call, given, part
from kaged_client._model import OMIT, Omit
from {module} import {transport}
from kaged_client._pages import {items}

if TYPE_CHECKING:
    from {sessions} import {prefix}Session
'''


@dataclass(frozen=True)
class Mode:
    """The words of one of the two modules."""

    module: str
    transport: str
    items: str
    prefix: str
    define: str
    wait: str
    sessions: str


SYNC = Mode("kaged_client._sync", "Transport", "Items", "", "def", "", "kaged_client.session")
ASYNC = Mode(
    "kaged_client._async",
    "AsyncTransport",
    "AsyncItems",
    "Async",
    "async def",
    "await ",
    "kaged_client.async_session",
)


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    resource: str
    described: Schema


def operations(document: Schema) -> list[Operation]:
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "operationId" in operation and operation["operationId"] not in LEFT_OUT:
                resource = "".join(word.capitalize() for word in operation["tags"][0].split())
                found.append(Operation(operation["operationId"], method.upper(), path, resource, operation))
    return sorted(found, key=lambda one: (one.resource, one.id))


def attribute(resource: str) -> str:
    return snake(resource)


def method_name(operation: Operation) -> str:
    """Return the id without the noun of its resource: `create_session` of sessions is `create`. A name of
    more than a verb is kept whole: `create_project_permission`."""
    noun = attribute(operation.resource)
    for ending in (f"_{noun}", f"_{noun.removesuffix('s')}"):
        short = operation.id.removesuffix(ending)
        if short != operation.id and "_" not in short and not keyword.iskeyword(short):
            return short
    return operation.id


def module(document: Schema, mode: Mode) -> str:
    schemas = document["components"]["schemas"]
    lines = [HEAD.format(**asdict(mode))]
    resources: dict[str, list[Operation]] = {}
    for operation in operations(document):
        resources.setdefault(operation.resource, []).append(operation)
    for resource, members in resources.items():
        lines += [
            "",
            "",
            f"class {mode.prefix}{resource}:",
            f'    """Operations: {attribute(resource)}."""',
            "",
        ]
        lines += [f"    def __init__(self, transport: {mode.transport}) -> None:"]
        lines += ["        self._transport = transport"]
        for operation in members:
            lines += ["", *_method(operation, schemas, mode)]
    lines += ["", "", f"class {mode.prefix}Resources:", '    """Every operation, by resource."""', ""]
    lines += [f"    def __init__(self, transport: {mode.transport}) -> None:"]
    lines += [f"        self.{attribute(name)} = {mode.prefix}{name}(transport)" for name in resources]
    return "\n".join(lines) + "\n"


def _method(operation: Operation, schemas: Schema, mode: Mode) -> list[str]:
    body_name, body = _json_body(operation, schemas)
    query = list(_parameters(operation, "query", besides=body.get("properties", {})))
    path = list(_parameters(operation, "path"))
    raw = _raw_body(operation)
    keyed = any(p["name"] == "Idempotency-Key" for p in operation.described.get("parameters", ()))
    answer, sender, paged = _answer(operation, schemas, mode)
    arguments = [f"{snake(p['name'])}: {annotation(p['schema'], given=True)}" for p in path]
    if raw:
        arguments.append("content: bytes | Path")
    named = [*_body_arguments(body), *_query_arguments(query)]
    if keyed:
        named.append("idempotency_key: str | None = None")
    if named:
        arguments += ["*", *sorted(named, key=lambda text: "=" in text)]
    define = "def" if paged else mode.define
    lines = [f"    {define} {method_name(operation)}({', '.join(['self', *arguments])}) -> {answer}:"]
    about = operation.described.get("description") or ""
    summary = f"{operation.described['summary']}." + (f"\n\n{about}" if about else "")
    lines += described(summary, "        ")
    url = operation.path
    for p in path:
        url = url.replace(f"{{{p['name']}}}", f"{{part({snake(p['name'])})}}")
    parts = [repr(operation.method), f'f"{url}"' if path else repr(url)]
    if query:
        entries = ", ".join(f"{p['name']!r}: {snake(p['name'])}" for p in query)
        parts.append(f"query={{{entries}}}")
    if body_name:
        entries = ", ".join(f"{name!r}: {snake(name)}" for name in body.get("properties", {}))
        parts.append(f"body=given({{{entries}}})")
    if raw:
        parts += ["content=content", f"content_type={raw!r}"]
    if keyed:
        parts.append("keyed=True, key=idempotency_key")
    call = f"Call({', '.join(parts)})"
    wait = "" if paged else mode.wait
    send = f"{wait}self._transport.{sender.format(call=call)}"
    if sender.startswith("either"):  # the transport cannot name the type of its answer
        return [*lines, f"        made: {answer} = {send}", "        return made"]
    return [*lines, f"        return {send}"]


def _parameters(operation: Operation, where: str, besides: Schema = {}) -> Iterator[Schema]:  # noqa: B006
    for parameter in operation.described.get("parameters", ()):
        if parameter["in"] == where and parameter["name"] not in besides:
            yield parameter


def _query_arguments(query: list[Schema]) -> list[str]:
    written = []
    for parameter in query:
        kind = annotation(parameter["schema"], given=True)
        if parameter.get("required"):
            written.append(f"{snake(parameter['name'])}: {kind}")
        else:
            plain = kind if kind.endswith("None") else f"{kind} | None"
            written.append(f"{snake(parameter['name'])}: {plain} = None")
    return written


def _body_arguments(body: Schema) -> list[str]:
    required = set(body.get("required", ()))
    written = []
    for name, schema in body.get("properties", {}).items():
        kind = annotation(schema, given=True, prefix="models.")
        more = "" if name in required else " = OMIT" if kind == "Any" else " | Omit = OMIT"
        written.append(f"{snake(name)}: {kind}{more}")
    return written


def _content(operation: Operation) -> Schema:
    return dict(operation.described.get("requestBody", {}).get("content", {}))


def _json_body(operation: Operation, schemas: Schema) -> tuple[str, Schema]:
    schema = _content(operation).get("application/json", {}).get("schema", {})
    for branch in (schema, *schema.get("anyOf", ())):
        if name := reference(branch):
            return name, schemas[name]
    return "", {}


def _raw_body(operation: Operation) -> str:
    content = [
        media for media in _content(operation) if media not in ("application/json", "multipart/form-data")
    ]
    return content[0] if content else RAW_BODIES.get(operation.id, "")


def _answer(operation: Operation, schemas: Schema, mode: Mode) -> tuple[str, str, bool]:
    """Return the annotation, the call of the transport, and whether it is a list in pages."""
    answers: dict[int, Any] = {}
    for status, response in operation.described["responses"].items():
        if status.startswith("2"):
            answers[int(status)] = response.get("content", {})
    names = {status: _schema_name(content) for status, content in answers.items()}
    distinct = list(dict.fromkeys(name for name in names.values() if name))
    if len(distinct) > 1:
        table = ", ".join(f"{status}: models.{name}" for status, name in names.items())
        kinds = " | ".join(f"models.{name}" for name in distinct)
        return kinds, f"either({{call}}, {{{{{table}}}}})", False
    if distinct:
        if distinct[0] == _SESSION:
            return f"{mode.prefix}Session", "session({call})", False
        schema = schemas[distinct[0]]
        if operation.method == "GET" and is_page(schema):  # pages are read when they are needed
            item = reference(schema["properties"]["items"]["items"])
            return f"{mode.items}[models.{item}]", f"items({{call}}, models.{item})", True
        return f"models.{distinct[0]}", f"model({{call}}, models.{distinct[0]})", False
    if list(answers) == [204]:
        return "None", "nothing({call})", False
    media = next(iter(next(iter(answers.values()))), "")
    if media == "application/json":
        return "dict[str, Any]", "mapping({call})", False
    return ("str", "text({call})", False) if media.startswith("text/") else ("bytes", "data({call})", False)


def is_page(schema: Schema) -> bool:
    return "next_cursor" in schema.get("properties", {})


def _schema_name(content: Schema) -> str:
    return reference(content.get("application/json", {}).get("schema", {}))
