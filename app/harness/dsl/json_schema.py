"""The JSON Schema of the project file, for editors.

Owns: what the generated schema lacks for an editor. Never: a second description of the format; the models
are it.
"""

from __future__ import annotations

from typing import Any

from app.harness.dsl.spec import ProjectSpec

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def project_json_schema() -> dict[str, Any]:
    """Return the schema of `.kaged/project.yaml` (JSON Schema 2020-12, recursive through `$defs`)."""
    schema = ProjectSpec.model_json_schema()
    _tidy(schema)
    return {
        "$schema": SCHEMA_DIALECT,
        "title": "kaged project file",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _tidy(value: Any) -> None:
    """Close maps whose keys follow a pattern, and drop the titles that only repeat a key's name."""
    if isinstance(value, list):
        for item in value:
            _tidy(item)
    if not isinstance(value, dict):
        return
    if "patternProperties" in value:
        value.setdefault("additionalProperties", False)
    for name, child in value.items():
        if name in ("properties", "$defs") and isinstance(child, dict):
            for entry in child.values():
                if isinstance(entry, dict):
                    entry.pop("title", None)
                _tidy(entry)
        elif name not in ("default", "const", "enum"):
            _tidy(child)
