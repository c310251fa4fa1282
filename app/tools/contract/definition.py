"""What a tool declares about itself.

Owns: `ToolDefinition`, the requirements and effects it names, the base class of parameters, and loading the
text that a model reads about it.
Never: looking tools up or running them.
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
    """Access to the paths that the call names (its effects).

    `filtered` is for tools that look through folders: such a call may begin outside the cage,
    and the tool itself leaves out of its result what the cage does not show.
    """

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
    """What one call touches, with paths as the caller wrote them. Calls whose effects do not
    collide may run side by side; an `exclusive` call runs alone.

    `commands` are the shell command lines that it runs, in `directory` and with the variables of
    `environment` (name, value) that the caller chose, and `hosts` what it connects to, as `host` or
    `host:port`: permission rules and the watchdog judge by them, so a tool that runs commands must
    name them here. `own_hosts` are names of the loopback on which the caller's own programs listen; rules
    judge them, a cage does not: who may be reached there the tool finds out itself. With
    `works_out_writes` the tool finds out what has to be written, `writes` included, and holds all of it
    against the cage before it writes: to begin, `writes` need only be readable.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    exclusive: bool = False
    commands: tuple[str, ...] = ()
    directory: str = "."
    environment: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()
    own_hosts: tuple[str, ...] = ()
    works_out_writes: bool = False


class ToolParams(BaseModel):
    """Base of every tool's parameters: no unknown names, no silent conversion.

    Declare sequences as `list` and choices as `Literal`: JSON has no tuples or enumerations.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True)


class GivenParams(ToolParams):
    """The parameters of a tool whose JSON Schema comes from elsewhere: from a project file, a plugin."""

    given: dict[str, Any] = {}


class ToolResult(BaseModel):
    """Base of every tool's result. Fields that are None are left out of the answer.

    A tool that cuts its own result keeps the whole in a file (`app.tools.contract.output.write_sidecar`)
    and names it by `whole_in`; the answer's metadata then say so. Pictures for the model's eyes
    are not fields: `with_images` adds them, for callers whose `takes_images` is true.
    """

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
    """What a tool returns that has found out what to do, and leaves the doing to another tool.

    The service authorises that call like any other and runs it; `finish` makes this tool's result
    of the other's, `explain` adds what this tool knows to the other's error. The other tool need
    not be enabled for the agent, and must not delegate in turn. `adjust` adds to its checked
    parameters what no caller may give.
    """

    tool: str
    arguments: dict[str, Any]
    finish: Callable[[Any], BaseModel]
    explain: Callable[[ToolError], ToolError]
    adjust: Callable[[Any], Any] = _as_they_are


Run = Callable[[Any, ToolCallContext], Awaitable[BaseModel | Delegation]]


def _no_effects(_params: Any) -> Effects:
    return Effects()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool. `run` gets validated `parameters` and the context and returns a `result`, or a
    `Delegation` to the tool that does the work; it reports failures by raising
    `app.errors.ToolError`.

    `body_field` names the result's text that the model reads unescaped. `max_output_bytes`
    bounds the answer; what is beyond goes to a file in the scratch folder. `schema` is the JSON
    Schema of the parameters where it is no model's own; `parameters` are then `GivenParams`.
    `place` names the parameter that says where a call works, of tools whose contract calls a place
    outside of the project `invalid_params`; the others answer `invalid_path`.
    """

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
    place: str | None = None
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
        """Return what a call with these validated parameters touches."""
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
