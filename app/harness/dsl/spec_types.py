"""What every model of the project file shares: strictness, and the words of the schema.

Owns: `StrictModel`, which reports unknown and removed keys with their place, and the reusable field types.
Never: one particular section of the file.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from app.harness.dsl.advice import known_keys
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import LocatedMap
from app.nearest_names import did_you_mean

SLUG_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$"
AGENT_KEY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,57}$"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
PLUGIN_PATTERN = r"^[a-z][a-z0-9-]{0,63}$"
INPUT_PATTERN = r"^[a-z][a-z0-9_]{0,63}$"
ENV_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
CAPABILITY_PATTERN = r"^[a-z][a-z0-9_.:-]{0,63}$"
NET_PATTERN = r"^(?:\*\.)?[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63})*(?::(?:\*|[0-9]{1,5}))?$"
MODEL_PATTERN = r"^[^\s:]+(?::\S+)?$"

PATTERN_MEANING: dict[str, str] = {
    SLUG_PATTERN: "a slug: 2 to 64 lower-case letters, digits and inner hyphens",
    AGENT_KEY_PATTERN: "a name: letters, digits, `_` and `-`, at most 58",
    NAME_PATTERN: "a name: letters, digits, `_`, `.` and `-`, at most 64",
    PLUGIN_PATTERN: "a plugin name: lower-case letters, digits and `-`, beginning with a letter",
    INPUT_PATTERN: "an input name: lower-case letters, digits and `_`, beginning with a letter",
    ENV_PATTERN: "a variable name: letters, digits and `_`",
    CAPABILITY_PATTERN: "a capability name such as `shell`",
    NET_PATTERN: "`host`, `host:port` or `*.host:port`, without a scheme or a path",
    MODEL_PATTERN: "a model alias, or `provider:model`",
}

Slug = Annotated[str, Field(pattern=SLUG_PATTERN)]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
PluginName = Annotated[str, Field(pattern=PLUGIN_PATTERN)]
EnvName = Annotated[str, Field(pattern=ENV_PATTERN)]
ModelName = Annotated[str, Field(pattern=MODEL_PATTERN, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]
ProjectPath = Annotated[str, Field(min_length=1, max_length=4096)]
Command = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=256)]


def _command_kind(value: Any) -> str:
    return "<list>" if isinstance(value, list) else "<text>"


CommandOrLine = Annotated[
    Annotated[str, Field(min_length=1, max_length=10_000), Tag("<text>")] | Annotated[Command, Tag("<list>")],
    Discriminator(_command_kind),
]
Environment = dict[EnvName, str]
PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
OnOverflow = Literal["abort", "truncate"]

_RESERVED_NAMESPACES = frozenset(
    {"file", "edit", "search", "code", "debug", "shell", "compute", "project", "kaged"}
    | {"web", "discover", "media", "job"}
)


class StrictModel(BaseModel):
    """Base of every section: frozen, strict types, no unknown key.

    Given a `LocatedMap` and a `DiagnosticBag` as validation context, unknown and removed keys are reported
    there all at once and left out, so that the rest of the section is still checked.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        protected_namespaces=(),
    )

    removed_keys: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _report_unknown_keys(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, LocatedMap) or not isinstance(info.context, DiagnosticBag):
            return data
        known = cls.model_fields
        for key in data:
            if key in known:
                continue
            position = data.node.entries[key].key
            if key in cls.removed_keys:
                info.context.error("removed_key", f"`{key}` was removed: {cls.removed_keys[key]}", position)
            elif key == "<<":
                info.context.error("unknown_key", "merge keys are not YAML 1.2; write the keys out", position)
            else:
                hint = did_you_mean(key, known) or known_keys(known)
                info.context.error("unknown_key", f"unknown key `{key}`{hint}", position)
        return LocatedMap({key: value for key, value in data.items() if key in known}, data.node)


def invalid(code: str, message: str, *, at: str | None = None) -> PydanticCustomError:
    """The error to raise in a validator; `at` names the key below the model that is to blame."""
    return PydanticCustomError(code, "{text}", {"text": message, "at": at})


def reserved_plugin_name(name: str) -> bool:
    """Whether a plugin of this name would stand in a built-in tool namespace."""
    return name in _RESERVED_NAMESPACES
