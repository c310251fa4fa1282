"""Examples of bodies and answers, composed from their schemas and from values by the names of fields.

Owns: the shape of an example, and its place in the document. Never: values (`values`, `model_values`).
Each model has one example among the document's components, to which bodies and answers refer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.api.openapi_examples.model_values import ERRORS, FIELDS_OF_MODELS, OPERATIONS
from app.api.openapi_examples.values import FIELDS, IDS, REFERENCES, reference

_SCHEMAS = "#/components/schemas/"
_EXAMPLES = "#/components/examples/"
_JSON = "application/json"
_TIME = "2026-01-02T03:04:05.678Z"
_NOTHING = object()


class NoExample(Exception):
    """A field of a model has no value in `values` or `model_values`."""


def add_examples(document: dict[str, Any]) -> None:
    """Give every JSON body and every JSON answer of a success an example."""
    components = document["components"]
    composer = _Composer(components["schemas"])
    for operations in document["paths"].values():
        for operation in operations.values():
            _add_to(operation.get("requestBody", {}), operation["operationId"], composer)
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    _add_to(answer, operation["operationId"], composer)
    _add_to_errors(components["responses"])
    components["examples"] = {name: {"value": value} for name, value in composer.examples.items()}


def _add_to(part: Mapping[str, Any], operation: str, composer: _Composer) -> None:
    media = part.get("content", {}).get(_JSON)
    if media is None:
        return
    name = _model_of(media["schema"])
    if name is None:
        media["example"] = OPERATIONS[operation]
        return
    composer.keep(name)
    media["examples"] = {name: {"$ref": f"{_EXAMPLES}{name}"}}


def _add_to_errors(answers: Mapping[str, Any]) -> None:
    for name, answer in answers.items():
        code, message, details = ERRORS[name[-3:]]
        if name.startswith("Protocol"):
            kind = "server_error" if name[-3:] >= "500" else "invalid_request_error"
            error: dict[str, Any] = {"message": message, "type": kind, "param": None, "code": code}
        else:
            error = {"code": code, "message": message, "request_id": reference("req")}
            error |= {} if details is None else {"details": details}
        answer["content"][_JSON]["example"] = {"error": error}


def _model_of(schema: Mapping[str, Any]) -> str | None:
    """Return the name of the model that a body or an answer is of, also where it may be left out."""
    for option in schema.get("anyOf", [schema]):
        if "$ref" in option:
            return str(option["$ref"].removeprefix(_SCHEMAS))
    return None


class _Composer:
    """Makes the example of each model once."""

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self.examples: dict[str, Any] = {}

    def keep(self, name: str) -> None:
        if name not in self.examples:
            self.examples[name] = self._model(name, within=())

    def _model(self, name: str, within: tuple[str, ...]) -> Any:
        schema = self._schemas[name]
        if "example" in schema or "examples" in schema:
            return schema["example"] if "example" in schema else schema["examples"][0]
        return self._whole(schema, name, (*within, name))

    def _whole(self, schema: Mapping[str, Any], name: str, within: tuple[str, ...]) -> Any:
        if "properties" not in schema:
            return self._value(schema, f"{name}.", within)
        return {
            field: self._value(about, f"{name}.{field}", within)
            for field, about in schema["properties"].items()
        }

    def _value(self, schema: Mapping[str, Any], place: str, within: tuple[str, ...]) -> Any:
        """Return the example of a field, whose place is `Model.field`."""
        name, _, field = place.partition(".")
        if place in FIELDS_OF_MODELS:
            return FIELDS_OF_MODELS[place]
        if field == "id" and name in IDS:
            return reference(IDS[name])
        if field in REFERENCES:
            return reference(REFERENCES[field])
        options = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
        optional = len(options) < len(schema.get("anyOf", [schema]))
        for option in options:
            told = self._told(option, field, place, within, optional=optional)
            if told is not _NOTHING:
                return told
        raise NoExample(f"{place}: {schema}")

    def _told(
        self, schema: Mapping[str, Any], field: str, place: str, within: tuple[str, ...], *, optional: bool
    ) -> Any:
        if "$ref" in schema:
            model = schema["$ref"].removeprefix(_SCHEMAS)
            return None if optional and model in within else self._model(model, within)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        if schema.get("format") == "date-time":
            return None if optional else _TIME
        kind = schema.get("type")
        if field in FIELDS and _fits(FIELDS[field], kind, optional=optional):
            return FIELDS[field]
        if kind == "boolean":
            return schema.get("default", False)
        if kind == "array" and "items" in schema:
            return self._items(schema["items"], place, within)
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return {}
        return schema["examples"][0] if "examples" in schema else _NOTHING

    def _items(self, schema: Mapping[str, Any], place: str, within: tuple[str, ...]) -> Any:
        if schema.get("$ref", "").removeprefix(_SCHEMAS) in within:
            return []
        return [self._value(schema, f"{place}[]", within)]


_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
    "null": (),
}


def _fits(value: Any, kind: object, *, optional: bool) -> bool:
    if value is None:
        return optional
    return isinstance(kind, str) and kind in _KINDS and isinstance(value, _KINDS[kind])
