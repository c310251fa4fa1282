"""The declaration of a tool.

Owns: `ToolDefinition`, requirements, effects, base classes of parameters and results, descriptions. Never:
looking tools up or running them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from app.errors import ToolError
from app.messages import ImageBlock
from app.tools.contract.call import ToolCallContext

AcpKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
DEFAULT_MAX_OUTPUT_BYTES = 200_000
MAX_EXACT_FLOAT = 2**53


@dataclass(frozen=True, slots=True)
class FsRequirement:
    """Access to the paths of the call's effects. `filtered` is for tools that search folders: the call may
    begin outside the cage, and the tool leaves out what the cage does not show."""

    mode: Literal["ro", "rw"]
    filtered: bool = False
    kind: Literal["fs"] = "fs"


@dataclass(frozen=True, slots=True)
class SeccompRequirement:
    profile: Literal["relaxed"] = "relaxed"
    kind: Literal["seccomp"] = "seccomp"


@dataclass(frozen=True, slots=True)
class NetRequirement:
    """Network access to `target`, as `host:port`."""

    target: str
    kind: Literal["net"] = "net"


@dataclass(frozen=True, slots=True)
class CapabilityRequirement:
    name: str
    kind: Literal["capability"] = "capability"


Requirement = FsRequirement | SeccompRequirement | NetRequirement | CapabilityRequirement


@dataclass(frozen=True, slots=True)
class Effects:
    """What one call touches, with paths as the caller wrote them. Calls whose effects do not collide run side
    by side; an `exclusive` call runs alone. Rules and watchdogs judge `commands`, shell command lines in
    `directory` with `environment` (name, value), and `hosts` (`host` or `host:port`), so every tool must
    declare them. `judged_as` are other tools and actions whose rules apply to this call as well; those of its
    own tool must be enabled. `own_hosts` are loopback names of the caller's own programs, and hosts that the
    daemon connects to for it: rules judge them, a cage does not. With `works_out_writes` the tool checks all
    its writes against the cage itself, and `writes` need only be readable at first. `sends` are texts that
    go to other machines: watchdogs look for secrets in them."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    exclusive: bool = False
    commands: tuple[str, ...] = ()
    directory: str = "."
    environment: tuple[tuple[str, str], ...] = ()
    judged_as: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    own_hosts: tuple[str, ...] = ()
    works_out_writes: bool = False
    sends: tuple[str, ...] = ()


class ToolParams(BaseModel):
    """Base of every tool's parameters: no unknown names, no silent conversion. Declare sequences as `list`
    and choices as `Literal`: JSON has no tuples or enumerations."""

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True)


class GivenParams(ToolParams):
    """The parameters of a tool whose JSON Schema comes from elsewhere: from a project file, a plugin."""

    given: dict[str, Any] = {}


class ToolResult(BaseModel):
    """Base of every tool's result. Fields that are None are left out of the answer. A tool that cuts its
    result keeps the whole in a file (`app.tools.contract.output.write_sidecar`) and names it by `whole_in`.
    `with_images` adds images, for callers whose `takes_images` is true."""

    model_config = ConfigDict(defer_build=True, frozen=True)
    _output_path: Path | None = PrivateAttr(default=None)
    _images: tuple[ImageBlock, ...] = PrivateAttr(default=())

    @property
    def output_path(self) -> Path | None:
        return self._output_path

    def whole_in(self, path: Path) -> Self:
        """Note the file that holds the whole result, and return the result."""
        self._output_path = path
        return self

    @property
    def images(self) -> tuple[ImageBlock, ...]:
        return self._images

    def with_images(self, *images: ImageBlock) -> Self:
        """Add what the model is shown beside the result, and return the result."""
        self._images = images
        return self


def _to_int(value: Any) -> Any:
    if isinstance(value, str) and len(value) <= 18:
        text = value.strip()
        digits = text[1:] if text[:1] in {"-", "+"} else text
        if digits.isascii() and digits.isdigit():
            return int(text)
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT_FLOAT:
        return int(value)
    return value


def _to_bool(value: Any) -> Any:
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


Integer = Annotated[int, BeforeValidator(_to_int)]
"""An integer; models that send `"200"` for 200, or 200.0, which JSON Schema calls an integer too,
are understood."""

PositiveInteger = Annotated[int, Field(ge=1), BeforeValidator(_to_int)]
"""Bound inside, so that the schema of `PositiveInteger | None` has the bound by its proper name."""

NaturalNumber = Annotated[int, Field(ge=0), BeforeValidator(_to_int)]
"""As `PositiveInteger`, with 0."""

Boolean = Annotated[bool, BeforeValidator(_to_bool)]
"""A truth value; models that send `"true"` for true are understood."""


def _as_they_are(params: Any) -> Any:
    return params


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """The result of a tool that leaves the work to another tool. The service authorises that call like any
    other and runs it. `finish` makes this tool's result of the other's, `explain` adds to the other's error,
    `adjust` sets parameters that no caller may set. The other tool need not be enabled for the agent, need
    not be in the catalogue when it is given itself, and must not delegate."""

    tool: str | ToolDefinition
    arguments: dict[str, Any]
    finish: Callable[[Any], BaseModel]
    explain: Callable[[ToolError], ToolError]
    adjust: Callable[[Any], Any] = _as_they_are


Run = Callable[[Any, ToolCallContext], Awaitable[BaseModel | Delegation]]


def _no_effects(_params: Any) -> Effects:
    return Effects()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool. `run` gets validated `parameters` and the context. It returns a `result` or a `Delegation`,
    and raises `app.errors.ToolError`. `audits_itself`: its changes are audited in the unit that stores them.
    `body_field` names the result's text that the model reads unescaped. `max_output_bytes` bounds the answer;
    the rest goes to a file. `schema` is the JSON Schema of the parameters of agents and plugins; `parameters`
    are then `GivenParams`. `path_parameter` is the parameter whose invalid values are `invalid_params`;
    without it they are `invalid_path`."""

    name: str
    title: str
    description: str
    parameters: type[ToolParams]
    result: type[BaseModel]
    run: Run
    acp_kind: AcpKind
    requires: tuple[Requirement, ...] = ()
    read_only: bool = False
    destructive: bool = False
    version: str = "1"
    principal_scope: Literal["root-only"] | None = None
    actions: tuple[str, ...] = ()
    root_default: bool = False
    source: Literal["builtin", "agent", "plugin", "mcp"] = "builtin"
    schema: Mapping[str, Any] | None = None
    effects_of: Callable[[Any], Effects] = _no_effects
    path_parameter: str | None = None
    audits_itself: bool = False
    body_field: str | None = None
    max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES

    @property
    def namespace(self) -> str:
        return self.name.split(".", 1)[0]

    @property
    def qualified_names(self) -> tuple[str, ...]:
        """The tool's name, then one name for each action (`kaged.issue.create`)."""
        return (self.name, *(f"{self.name}.{action}" for action in self.actions))

    def effects(self, params: BaseModel) -> Effects:
        return self.effects_of(params)


OwnTools = Mapping[str, ToolDefinition]
"""Tools that one agent has beside the catalogue, by name: its children, the tools of its plugins."""
NO_OWN_TOOLS: OwnTools = MappingProxyType({})


def load_description(package: str, name: str) -> str:
    """Return the text of `name` in `package` (`app.tools.file`, `read.md`), stripped."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8").strip()


def _whole(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("contains an unpaired surrogate; send whole characters") from None
    return text


WholeText = Annotated[str, AfterValidator(_whole)]
