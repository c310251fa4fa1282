"""The shape of an MCP server in a project file, and of one that an operator declares.

Owns: `McpServerSpec`. Never: starting a server.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from app.bridges.mcp.entries import NAME_PATTERN, RESERVED
from app.harness.dsl.spec_cage import CageMount, CageSpec, cage_kind
from app.harness.dsl.spec_types import Command, Environment, PositiveFloat, StrictModel, invalid

ServerName = Annotated[str, Field(pattern=NAME_PATTERN)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=2_000)]
Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$")]
Plain = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=8_000)]
READS_PROJECT = CageSpec(fs=[CageMount(mode="ro", path=".")])
"""The cage of a server that says nothing of one: the project read-only, a home of its own, no network."""


class McpServerSpec(StrictModel):
    """An MCP server: a program to start, or an address to connect to."""

    command: Command | None = None
    """Program and arguments; it speaks the protocol over stdin and stdout."""
    url: Url | None = None
    """Address of a server that speaks streamable HTTP."""
    env: Environment = Field(default={})
    """Additional environment variables of the program."""
    headers: dict[Header, Plain] = Field(default={}, max_length=50)
    """Headers of each request to `url`."""
    cage: Annotated[
        Annotated[Literal["disabled"], Tag("<word>")] | Annotated[CageSpec, Tag("<block>")],
        Discriminator(cage_kind),
    ] = READS_PROJECT
    """What the program may touch. Default: the project read-only, a home of its own, no network."""
    timeout_seconds: PositiveFloat = 120.0
    """Seconds that one call may take."""
    enabled: bool = True
    """Whether agents can use it."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> McpServerSpec:
        if (self.command is None) == (self.url is None):
            raise invalid("missing_key", "give either `command` or `url`")
        if self.url is not None and self.env:
            raise invalid("invalid_value", "`env` is for a `command`; give `headers`", at="env")
        if self.command is not None and self.headers:
            raise invalid("invalid_value", "`headers` are for a `url`; give `env`", at="headers")
        return self


def reserved_server_name(name: str) -> bool:
    """Whether names of built-in tools begin like the tools of a server with this name."""
    return name in RESERVED
