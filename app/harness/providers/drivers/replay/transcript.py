"""The transcript file that the `replay` driver plays: its model, and reading it with good errors.

Owns: the shape documented in `docs/replay.md`. Never: playing it (`replay`) or writing one from a
session (`recording`). Every error names the file and the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from app.errors import ConfigError
from app.harness.providers.errors import ProviderErrorKind
from app.messages import Usage

ENDINGS = (".yaml", ".yml")


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallPart(Strict):
    """A tool call under kaged's name. `raw_arguments` in place of `arguments` is text that is not a
    JSON object, as a confused model would send it."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    raw_arguments: str | None = None
    id: str | None = None

    @field_validator("arguments")
    @classmethod
    def _is_json(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME)
        except TypeError as error:
            raise ValueError(f"must be JSON (quote dates): {error}") from error
        return value


class ErrorPart(Strict):
    """A failure of the provider. `times` limits it to the first calls, so that a retry succeeds."""

    kind: ProviderErrorKind
    message: str = "scripted failure"
    status: int | None = None
    retry_after: float | None = Field(default=None, ge=0)
    times: int | None = Field(default=None, ge=1)


class Part(Strict):
    """One piece of an answer: exactly one of the keys. `pause` is seconds; `stall: true` says nothing
    more until the call is cancelled or times out."""

    text: str | None = None
    thinking: str | None = None
    tool_call: CallPart | None = None
    pause: float | None = Field(default=None, ge=0)
    stall: Literal[True] | None = None
    error: ErrorPart | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Part:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"must have exactly one of {', '.join(type(self).model_fields)}")
        return self


class Expectation(Strict):
    """Regular expressions that the conversation must contain where the step is played."""

    user: str | None = None
    tool_result: str | None = None

    @field_validator("user", "tool_result")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        return _checked_pattern(value)


class Counts(Usage):
    """Token counts as written in a transcript."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def counted(self) -> Usage:
        """Return the counts as the rest of the harness has them."""
        return Usage(**self.model_dump())


class Step(Strict):
    """One answer of the model. `otherwise` is played in its place when `expect` is not met;
    `chunk_delay` is seconds before each word; `stop_reason` defaults to `toolUse` when there is a
    call, else `stop`; `usage` defaults to an estimate."""

    answer: tuple[Part, ...] = Field(min_length=1)
    expect: Expectation | None = None
    otherwise: tuple[Part, ...] | None = Field(default=None, min_length=1)
    usage: Counts | None = None
    stop_reason: Literal["stop", "length", "toolUse"] | None = None
    chunk_delay: float | None = Field(default=None, ge=0)


class Conversation(Strict):
    """What is answered after one message of the operator: `when` is a regular expression found in
    it, `says` the whole message. Equal ones are taken in turn."""

    when: str | None = None
    says: str | None = None
    steps: tuple[Step, ...] = Field(min_length=1)

    @field_validator("when")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        return _checked_pattern(value)

    @model_validator(mode="after")
    def _one_matcher(self) -> Conversation:
        if (self.when is None) == (self.says is None):
            raise ValueError("must have exactly one of when, says")
        return self

    def matches(self, text: str) -> bool:
        """Tell whether the operator's message `text` begins this conversation."""
        if self.says is not None:
            return self.says.strip() == text.strip()
        return re.search(self.when or "", text) is not None


class Fallback(Strict):
    """What is answered when no conversation matches."""

    steps: tuple[Step, ...] = Field(min_length=1)


class Transcript(Strict):
    """A whole file."""

    description: str = ""
    chunk_delay: float = Field(default=0.02, ge=0)
    conversations: tuple[Conversation, ...] = ()
    fallback: Fallback | None = None


def load_transcript(path: Path) -> Transcript:
    """Read a transcript; blocks on the file. Raises `ConfigError` with file, line and what is wrong."""
    # Only replays need a YAML parser here, and it is slow to import.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"transcript {path}: {error}") from error
    try:
        tree = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ConfigError(f"transcript {path}, line {line}: {error.problem or error}") from error
    except YAMLError as error:
        raise ConfigError(f"transcript {path}: {error}") from error
    try:
        return Transcript.model_validate(tree)
    except ValidationError as error:
        located = YAML(typ="rt", pure=True).load(text)
        raise ConfigError(_explained(path, located, error)) from error


def _explained(path: Path, located: Any, error: ValidationError) -> str:
    lines = []
    problems = error.errors()
    places = [problem["loc"] for problem in problems]
    for problem in problems:
        size = len(problem["loc"])
        if any(len(place) > size and place[:size] == problem["loc"] for place in places):
            # A list counts as too short when its only item is wrong; the item says why.
            continue
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        message = problem["msg"].removeprefix("Value error, ")
        lines.append(f"transcript {path}, line {_line(located, problem['loc'])}: {where}: {message}")
    return "\n".join(lines)


def _line(located: Any, steps: Sequence[str | int]) -> int:
    """Return the line (from 1) of the deepest part of the path that is written in the file."""
    line = 0
    node = located
    for step in steps:
        marks: Any = getattr(node, "lc", None)
        if marks is None:
            break
        try:
            mark = marks.key(step) if isinstance(node, dict) else marks.item(step)
            line, node = mark[0], node[step]
        except (KeyError, IndexError, TypeError):
            break
    return line + 1


def _checked_pattern(value: str | None) -> str | None:
    try:
        re.compile(value or "")
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return value
