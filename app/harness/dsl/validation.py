"""From nodes to validated models: pydantic's errors become diagnostics with a position.

Owns: the translation of errors and the recovery that lets the sound part of a section be checked further.
Never: rules of its own about the project file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.harness.dsl.advice import instead_of, other_cage, required, shown
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import LocatedMap, Node, to_plain
from app.harness.dsl.spec_types import PATTERN_MEANING, StrictModel
from app.nearest_names import did_you_mean

Model = TypeVar("Model", bound=StrictModel)

# Sections whose entries stand on their own: one bad entry does not take the others along.
_BY_ENTRY = frozenset({"tools", "plugins", "workflows", "tasks", "permissions"})

_EXPECTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "`true` or `false`",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}


@dataclass(frozen=True, slots=True)
class Validated(Generic[Model]):
    """A model made of what was sound; `broken` names the fields that were not and hold a stand-in."""

    model: Model
    broken: frozenset[str]

    def sound(self, name: str) -> bool:
        return name not in self.broken


def first_fault(failure: ValidationError) -> str:
    """Return the first error of values that are no part of a project file: where it is, and what is wrong."""
    first = failure.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"] if not str(step).startswith("<"))
    return f"{where}: {first['msg']}" if where else first["msg"]


def validate(
    kind: type[Model],
    node: Node,
    bag: DiagnosticBag,
    *,
    stand_ins: dict[str, Any] | None = None,
    given: dict[str, Any] | None = None,
) -> Validated[Model] | None:
    """Validate a map against a model, reporting every error; None when not even its sound part makes a model.

    `stand_ins` are values for required fields that are missing or wrong; `given` are values that are
    checked elsewhere.
    """
    if not node.is_map:
        bag.error(
            "wrong_type", f"expected a map, found {node.kind}{instead_of(node, 'a map')}", node.position
        )
        return None
    plain: LocatedMap = to_plain(node)
    plain.update(given or {})
    broken: set[str] = set()
    context: DiagnosticBag = bag
    for attempt in range(3):
        try:
            return Validated(kind.model_validate(plain, context=context), frozenset(broken))
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
        if attempt == 0:
            for error in errors:
                report(error, node, bag)
        context = DiagnosticBag()  # unknown keys were reported in the first round
        plain = _without_broken(plain, errors, broken, whole_fields=attempt > 0)
        for name in broken:
            if stand_ins is not None and name in stand_ins:
                plain.setdefault(name, stand_ins[name])
    return None


def _without_broken(
    plain: LocatedMap, errors: list[ErrorDetails], broken: set[str], *, whole_fields: bool
) -> LocatedMap:
    """Take away what failed: one entry of a map of entries, else the whole field."""
    result = LocatedMap(plain, plain.node)
    entries: dict[str, set[str | int]] = {}
    for error in errors:
        location = error["loc"]
        if not location:
            continue
        name = str(location[0])
        if name in _BY_ENTRY and len(location) > 1 and not whole_fields:
            entries.setdefault(name, set()).add(location[1])
        else:
            broken.add(name)
            result.pop(name, None)
    for name, steps in entries.items():
        value = result.get(name)
        if isinstance(value, LocatedMap):
            result[name] = LocatedMap({k: v for k, v in value.items() if k not in steps}, value.node)
        elif isinstance(value, list):
            result[name] = [item for index, item in enumerate(value) if index not in steps]
    return result


def report(error: ErrorDetails, node: Node, bag: DiagnosticBag) -> None:
    """Add one pydantic error to the bag, at the position where its value is written."""
    target, rest = _find(node, error["loc"])
    context = error.get("ctx", {})
    kind = error["type"]
    if kind == "missing":
        name = str(error["loc"][-1])
        hint = required(name)
        bag.error("missing_key", f"`{name}` is required here{hint}", target.position_of_missing(name))
    elif "text" in context:
        at = context.get("at")
        child = target.step(at) if isinstance(at, str) else None
        position = (
            child.position if child is not None else target.position_of_missing(at) if at else target.position
        )
        bag.error(kind, str(context["text"]), position)
    elif kind == "extra_forbidden":
        bag.error("unknown_key", f"unknown key `{rest}`", target.key)
    else:
        is_key = error["loc"][-1:] == ("[key]",)
        code, message = _explain(kind, error, target, is_key=is_key)
        bag.error(code, message, target.key if is_key else target.position)


def _find(node: Node, location: tuple[int | str, ...]) -> tuple[Node, str]:
    """Follow an error's location as far as the document goes; steps such as union tags are passed over."""
    rest = ""
    for step in location:
        child = node.step(step)
        if child is not None:
            node = child
        else:
            rest = str(step)
    return node, rest


def _explain(kind: str, error: ErrorDetails, node: Node, *, is_key: bool) -> tuple[str, str]:
    context = error.get("ctx", {})
    if kind in _EXPECTED:
        expected = _EXPECTED[kind]
        return "wrong_type", f"expected {expected}, found {node.kind}{instead_of(node, expected)}"
    if kind == "literal_error":
        expected = str(context.get("expected", ""))
        choices = [choice.strip("'") for choice in expected.replace(" or ", ", ").split(", ")]
        is_plain = isinstance(node.value, str | int | float)
        found = f", found `{shown(node)}`" if is_plain else f", found {node.kind}"
        hint = did_you_mean(node.text, choices) if node.text else ""
        if choices == ["disabled"]:
            hint = hint or other_cage(node.position.path)
        return "invalid_value", f"expected {expected}{found}{hint}"
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        meaning = PATTERN_MEANING.get(pattern, f"text that matches {pattern}")
        written = error["input"] if is_key else node.value
        return "invalid_value", f"`{written}` is not {meaning}"
    if kind == "too_long":
        limit = context.get("max_length")
        return "too_many", f"at most {limit} entries, found {context.get('actual_length')}"
    if kind in ("too_short", "string_too_short"):
        return "invalid_value", "must not be empty"
    message = error["msg"].removeprefix("Input should ")
    return "invalid_value", f"must {message}" if message != error["msg"] else message[:1].lower() + message[
        1:
    ]
