"""The manifest of a plugin, `kaged-plugin.yaml`.

Owns: its shape and checks; all problems are reported at once, each with its remedy. Never: reading files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from app.bridges.plugins.capabilities import Capability, covered, parse_capability
from app.bridges.plugins.manifest_text import MANIFEST_NAME, read_document
from app.bridges.plugins.problems import PluginProblem
from app.json_schema import schema_problem
from app.nearest_names import did_you_mean

API_VERSION = 1
HOOK_PREFIX = "kaged.hook."
RESERVED = frozenset(
    {"file", "edit", "search", "code", "debug", "shell", "compute", "project", "kaged"}
    | {"web", "discover", "media", "job"}
)
"""Namespaces of built-in tools."""
NAME_PATTERN = r"^[a-z][a-z0-9-]{0,63}$"
_TOOL = r"^[a-z][a-z0-9_]{0,63}$"
_METHOD = r"^[a-z][a-z0-9-]{0,63}(?:\.[A-Za-z][A-Za-z0-9_]{0,63}){1,3}$"
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"
_SEMVER = (
    r"^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})"
    r"(?:-[0-9A-Za-z-]{1,64}(?:\.[0-9A-Za-z-]{1,64}){0,8})?(?:\+[0-9A-Za-z.-]{1,64})?$"
)
_MAX_PROBLEMS = 50

HookName = Literal["on_session_start", "on_session_idle", "pre_compact", "post_compact"]
Role = Literal["observer", "compactor"]
HOOKS: tuple[str, ...] = get_args(HookName)


def _capability(value: Any) -> Capability:
    if not isinstance(value, str):
        raise ValueError("a capability is a text; write it as `net:*`")
    return parse_capability(value)


Granted = Annotated[Capability, BeforeValidator(_capability)]
Text = Annotated[str, Field(min_length=1, max_length=4096)]
Method = Annotated[str, Field(pattern=_METHOD)]
Schema = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


class PluginTool(_Strict):
    """A tool of a plugin, called `<plugin>.<name>`. `requires` are capabilities that the plugin has."""

    name: Annotated[str, Field(pattern=_TOOL)]
    description: Annotated[str, Field(min_length=1, max_length=4000)]
    parameters_schema: Schema
    requires: list[Granted] = Field(default=[], max_length=32)


class PluginManifest(_Strict):
    """A manifest whose every part is checked. Times in seconds."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    version: Annotated[str, Field(pattern=_SEMVER)]
    kaged_api: Literal[1]
    description: Annotated[str, Field(min_length=1, max_length=200)]
    command: Annotated[list[Text], Field(min_length=1, max_length=64)]
    env: dict[Annotated[str, Field(pattern=_VARIABLE)], Annotated[str, Field(max_length=4096)]] = Field(
        default={}, max_length=64
    )
    capabilities: list[Granted] = Field(default=[], max_length=64)
    methods: list[Method] = Field(default=[], max_length=128)
    notifications: list[Method] = Field(default=[], max_length=128)
    roles: Annotated[list[Role], Field(min_length=1, max_length=2)] = ["observer"]
    hooks: list[HookName] = Field(default=[], max_length=len(HOOKS))
    tools: list[PluginTool] = Field(default=[], max_length=64)
    config_schema: Schema | None = None
    system_config_schema: Schema | None = None
    idle_debounce_sec: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 30.0
    hook_timeout_sec: Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)] = 10.0
    shutdown_timeout_sec: Annotated[float, Field(ge=1, le=30, allow_inf_nan=False)] = 5.0
    health_interval_sec: Annotated[float, Field(ge=5, le=300, allow_inf_nan=False)] = 30.0

    @model_validator(mode="after")
    def _agrees(self) -> PluginManifest:
        problems = list(_disagreements(self))
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @property
    def promised(self) -> frozenset[str]:
        """The methods that its hooks and tools need."""
        tools = {f"{self.name}.{tool.name}" for tool in self.tools}
        return frozenset({HOOK_PREFIX + hook for hook in self.hooks} | tools)

    def tool(self, name: str) -> PluginTool | None:
        """Return the tool of that name, without the plugin's."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def may(self, capability: str) -> bool:
        return covered(self.capabilities, parse_capability(capability))


def parse_manifest(content: bytes) -> PluginManifest:
    """Read a manifest. Takes up to a tenth of a second. Raises PluginProblem
    `plugin_manifest_invalid` with all that is wrong."""
    try:
        return PluginManifest.model_validate(read_document(content))
    except ValidationError as refused:
        found = (one for error in refused.errors(include_url=False) for one in _sentences(error))
        raise invalid_manifest(tuple(islice(found, _MAX_PROBLEMS))) from None


def invalid_manifest(problems: tuple[str, ...]) -> PluginProblem:
    count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    return PluginProblem(
        "plugin_manifest_invalid", f"{MANIFEST_NAME} has {count}: " + "; ".join(problems), problems
    )


def _disagreements(manifest: PluginManifest) -> Iterator[str]:  # noqa: C901
    """Yield the contradictions in a manifest."""
    if manifest.name in RESERVED:
        yield f"name: `{manifest.name}` is the namespace of built-in tools; write another name"
    for field in ("capabilities", "methods", "notifications", "roles", "hooks", "tools"):
        for twice in _repeated(getattr(manifest, field)):
            yield f"{field}: `{twice}` stands there twice; write it once"
    for field, names in (("methods", manifest.methods), ("notifications", manifest.notifications)):
        for name in names:
            own = name.startswith(f"{manifest.name}.")
            if not own and not (field == "methods" and name.startswith(HOOK_PREFIX)):
                yield f"{field}: `{name}` is not the plugin's own; write `{manifest.name}.` before the name"
            elif not own and name.removeprefix(HOOK_PREFIX) not in manifest.hooks:
                yield f"methods: `{name}` is a hook that `hooks` does not have; write it there, too"
    if "compactor" in manifest.roles and "pre_compact" not in manifest.hooks:
        yield "roles: a compactor is called by `pre_compact`; write that under `hooks`"
    nets = [one for one in manifest.capabilities if one.kind == "net"]
    if len(nets) > 1 and any(one.is_nothing for one in nets):
        yield "capabilities: `net:[]` is no network at all; write it alone, or leave it out"
    for tool in manifest.tools:
        parameters = tool.parameters_schema.get("properties")
        if isinstance(parameters, dict) and "_context" in parameters:
            yield f"tools.{tool.name}.parameters_schema: `_context` is the daemon's own; write another name"
        for wanted in tool.requires:
            if not covered(manifest.capabilities, wanted):
                yield f"tools.{tool.name}.requires: write `{wanted.text}` under `capabilities`, too"
    yield from _schema_problems(manifest)
    for name in manifest.env:
        if name.startswith("KAGED_"):
            yield f"env.{name}: names with KAGED_ are the daemon's own; write another name"


def _schema_problems(manifest: PluginManifest) -> Iterator[str]:
    schemas: list[tuple[str, Mapping[str, Any] | None]] = [
        ("config_schema", manifest.config_schema),
        ("system_config_schema", manifest.system_config_schema),
    ]
    schemas += [(f"tools.{tool.name}.parameters_schema", tool.parameters_schema) for tool in manifest.tools]
    for place, schema in schemas:
        problem = schema_problem(schema) if schema is not None else None
        if problem is not None:
            yield f"{place}: it {problem}"


def _repeated(values: Iterable[Any]) -> list[str]:
    seen: set[str] = set()
    twice: list[str] = []
    for value in values:
        name = value if isinstance(value, str) else getattr(value, "text", getattr(value, "name", ""))
        if name in seen:
            twice.append(name)
        seen.add(name)
    return twice


_WRITE: dict[str, str] = {
    "name": "a lower-case letter, then letters, digits and `-`, at most 64, as `memory`",
    "version": 'a semantic version in quotes, as `"1.0.0"`',
    "kaged_api": "the number 1",
    "description": "a text of 1 to 200 characters",
    "command": "a list of texts with the program first, as `[python, plugin.py]`",
    "env": 'names and values, both texts, as `MODE: "fast"`',
    "capabilities": "a list of texts, or leave it out",
    "methods": "a list of names as `memory.recall`",
    "notifications": "a list of names as `memory.changed`",
    "roles": "`[observer]`, `[compactor]` or both",
    "hooks": f"some of {', '.join(HOOKS)}",
    "tools": "a list of maps, each with `name`, `description` and `parameters_schema`",
    "config_schema": "a JSON Schema with `type: object`",
    "system_config_schema": "a JSON Schema with `type: object`",
    "idle_debounce_sec": "a number of seconds above 0",
    "hook_timeout_sec": "a number of seconds above 0, at most 300",
    "shutdown_timeout_sec": "a number of seconds from 1 to 30",
    "health_interval_sec": "a number of seconds from 5 to 300",
}
_WRITE_TOOL: dict[str, str] = {
    "name": "a lower-case letter, then letters, digits and `_`, as `recall_notes`",
    "description": "what the tool does, in 1 to 4000 characters",
    "parameters_schema": "a JSON Schema with `type: object`",
    "requires": "capabilities that stand under `capabilities`",
}


def _sentences(error: ErrorDetails) -> Iterator[str]:
    place = ".".join(str(step) for step in error["loc"] if step != "[key]")
    if not error["loc"]:
        # Raised by this module: sentences that already say where and what to write.
        yield from (
            _own_words(error["msg"]).split("\n")
            if error["type"] == "value_error"
            else ("the manifest is no map; write `name: memory` and so on",)
        )
        return
    field = str(error["loc"][0])
    hint = _WRITE.get(field, "")
    if field == "tools" and len(error["loc"]) > 2:
        hint = _WRITE_TOOL.get(str(error["loc"][2]), "")
    match error["type"]:
        case "missing":
            yield f"{place}: is missing; write {hint}"
        case "extra_forbidden":
            yield f"{place}: there is no such key{_instead_of_key(error['loc'])}"
        case "value_error":
            yield f"{place}: {_own_words(error['msg'])}"
        case _:
            yield f"{place}: {_what_is_wrong(error)}; write {hint or 'another value'}"


def _instead_of_key(location: tuple[int | str, ...]) -> str:
    """Return the advice for an unknown key."""
    known = list(PluginTool.model_fields if location[0] == "tools" else PluginManifest.model_fields)
    return did_you_mean(str(location[-1]), known) or "; take it out"


def _own_words(message: str) -> str:
    return message.removeprefix("Value error, ")


def _what_is_wrong(error: ErrorDetails) -> str:
    shown = repr(error["input"])
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} cannot stand here"
