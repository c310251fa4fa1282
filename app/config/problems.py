"""The report of a mistake in the configuration: source, key, what is wrong, what to write.

Owns: the wording. Never: the value of a key, which may be secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.config.settings import COMPUTED_KEYS, Settings
from app.errors import ConfigError
from app.nearest_names import nearest

KeyPath = tuple[str, ...]

_WORDING = {
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "path_type": "must be a path",
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "string_pattern_mismatch": "must be an address that begins with http:// or https://",
    "missing": "is missing",
}


@dataclass(slots=True)
class Problems:
    """Collects mistakes so that all are reported at once. `sources` maps a key to where it was set."""

    default_source: str
    sources: Mapping[KeyPath, str]
    found: list[dict[str, str]] = field(default_factory=list)

    def add(self, path: KeyPath, message: str, *, nearest: str | None = None) -> None:
        entry = {"key": ".".join(path), "source": self._source(path), "message": message}
        if nearest is not None:
            entry["nearest"] = nearest
        self.found.append(entry)

    def add_validation(self, error: ValidationError) -> None:
        for detail in error.errors(include_url=False, include_context=True, include_input=False):
            path = tuple(str(part) for part in detail["loc"])
            if detail["type"] == "extra_forbidden":
                self.add_unknown(path, known_keys(path[:-1]))
            else:
                self.add(path, _wording(detail))

    def add_unknown(self, path: KeyPath, known: Iterable[str]) -> None:
        near = nearest(path[-1], known)
        self.add(path, "is not a known key", nearest=".".join((*path[:-1], near)) if near else None)

    def as_error(self) -> ConfigError:
        """Return the error with one line for each mistake; `details.problems` lists them."""
        return ConfigError("\n".join(map(_line, self.found)), details={"problems": self.found})

    def _source(self, path: KeyPath) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in self.sources:
                return self.sources[path[:length]]
        inside = [source for key, source in self.sources.items() if key[: len(path)] == path]
        return inside[0] if inside else self.default_source


def known_keys(path: KeyPath) -> list[str]:
    """Return the keys that may stand inside the table at `path`."""
    model: type[BaseModel] | None = Settings
    inside_map = False
    for part in path:
        if inside_map:
            inside_map = False
            continue
        annotation = model.model_fields[part].annotation if model and part in model.model_fields else None
        inside_map = any(_is_model(argument) for argument in get_args(annotation))
        model = next((item for item in (annotation, *get_args(annotation)) if _is_model(item)), None)
    return [] if model is None else [name for name in model.model_fields if name not in COMPUTED_KEYS]


def _is_model(candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, BaseModel)


def _wording(detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "literal_error":
        return f"must be one of {detail['ctx']['expected']}"
    words = detail["msg"].removeprefix("Value error, ")
    return _WORDING.get(kind) or words.replace("Input should be", "must be").replace("String", "text")


def _line(problem: Mapping[str, str]) -> str:
    hint = f"; did you mean {problem['nearest']}?" if "nearest" in problem else ""
    return f"{problem['source']}: {problem['key']} {problem['message']}{hint}"
