"""One tool call: who calls, from where, and the one shape that every answer has.

Owns: `ToolCallContext` and `ToolEnvelope`. Never: dispatching or running anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field

from app.errors import ToolError
from app.ids import ROOT_AGENT
from app.messages import Frozen, ImageBlock
from app.tools.contract.edit_findings import EditFindings
from app.tools.contract.ports import ToolPorts, WriteObserver
from app.tools.contract.rules import PermissionRule


@dataclass(frozen=True, slots=True)
class PathConsent:
    """What counts for the paths of a call: the rules of these tools, and the consent to some of them.
    `only_reads`: its commands are known to only read."""

    tools: tuple[str, ...] = ("",)
    consented: frozenset[str] = frozenset()
    only_reads: bool = False


@dataclass(frozen=True, slots=True)
class ModelStep:
    """The step of a run in which a model made the call, 0 without one. `takes_images`: it reads images."""

    number: int = 0
    takes_images: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallContext:
    """The caller and the bounds of one call. `agent_path` is the position in the tree of agents (`primary`,
    `primary.subagents.x`). `cage` is the caller's compiled cage, None without one. `scratch_dir` is the
    session's folder for large outputs; it may not exist yet. `rules` are the permission rules of all scopes.
    `headless`: nobody can be asked, so a question is a denial. `paths` is set by the service. `writes`
    observes the files that the call writes."""

    session_id: str
    run_id: str | None
    agent_path: str
    project_id: str
    project_root: Path
    cage: Mapping[str, Any] | None
    request_id: str
    call_id: str
    scratch_dir: Path
    ports: ToolPorts
    rules: tuple[PermissionRule, ...] = ()
    headless: bool = False
    paths: PathConsent = PathConsent()
    step: ModelStep = ModelStep()
    writes: WriteObserver | None = None

    @property
    def is_root_agent(self) -> bool:
        return self.agent_path == ROOT_AGENT

    @property
    def aside(self) -> tuple[Path, ...]:
        """The folders outside the project that the caller may read by absolute paths: the session's scratch
        folder, and those of skills."""
        return (self.scratch_dir, *self.ports.skill_folders())

    def audit(self, event: str, **data: object) -> None:
        """Record an audit event with the caller and the request added. `data` is JSON-ready and redacted."""
        self.ports.audit(event, {**data, "caller": self.agent_path, "request_id": self.request_id})


class ToolMetadata(Frozen):
    """`output_path` is the file with what was cut, `diagnostics_after_edit` the findings of a language server
    in edited files, `cage_notes` events in the caller's cage, `hook_notes` the words of hooks."""

    duration_ms: int = 0
    truncated: bool | None = None
    output_path: str | None = None
    diagnostics_after_edit: EditFindings | None = None
    cage_notes: tuple[str, ...] | None = None
    hook_notes: tuple[str, ...] | None = None


class ToolEnvelope(Frozen):
    """The answer of every tool: `data` when `type` is `output`, else `error_text` and `code`. `body` names
    the field of `data` that `model_text` prints as plain text. `images` go to the model beside the text, not
    into the JSON."""

    type: Literal["output", "error"]
    data: Any = None
    error_text: str | None = None
    code: str | None = None
    detail: dict[str, Any] | None = None
    metadata: ToolMetadata = Field(default_factory=ToolMetadata)
    body: str | None = Field(default=None, exclude=True)
    images: tuple[ImageBlock, ...] = Field(default=(), exclude=True)

    @classmethod
    def of_error(cls, error: ToolError) -> ToolEnvelope:
        return cls(type="error", error_text=error.message, code=error.code, detail=error.detail or None)

    @property
    def is_error(self) -> bool:
        return self.type == "error"

    def timed(self, duration_ms: int) -> ToolEnvelope:
        metadata = self.metadata.model_copy(update={"duration_ms": duration_ms})
        return self.model_copy(update={"metadata": metadata})

    def with_findings(self, findings: EditFindings) -> ToolEnvelope:
        """Return the same answer with what a language server finds after it."""
        metadata = self.metadata.model_copy(update={"diagnostics_after_edit": findings})
        return self.model_copy(update={"metadata": metadata})

    def with_cage_notes(self, notes: tuple[str, ...]) -> ToolEnvelope:
        """Return the same answer with what has happened to the caller's cage."""
        metadata = self.metadata.model_copy(update={"cage_notes": notes})
        return self.model_copy(update={"metadata": metadata})

    def with_hook_notes(self, notes: tuple[str, ...]) -> ToolEnvelope:
        """Return the same answer with the words of hooks."""
        metadata = self.metadata.model_copy(update={"hook_notes": notes})
        return self.model_copy(update={"metadata": metadata})

    def as_json(self) -> dict[str, Any]:
        """Return the envelope as plain data, without the fields that do not apply."""
        shown: dict[str, Any] = {"type": self.type}
        if self.type == "output":
            shown["data"] = self.data
        else:
            shown["error_text"] = self.error_text
            shown["code"] = self.code
            if self.detail:
                shown["detail"] = self.detail
        shown["metadata"] = self.metadata.model_dump(exclude_none=True)
        return shown

    def model_text(self) -> str:
        """Return the text for the model: one line of JSON, the body as plain text, findings after an edit,
        notes on the cage, words of hooks. An error is its code and message; `detail` is for programs."""
        notes = [f"Note: {note}" for note in self.metadata.cage_notes or ()]
        notes += self.metadata.hook_notes or ()
        if self.is_error:
            return "\n".join([f"Error {self.code}: {self.error_text}", *notes])
        head = self.data
        body: str | None = None
        if (
            self.body is not None
            and isinstance(self.data, dict)
            and isinstance(self.data.get(self.body), str)
        ):
            body = self.data[self.body]
            head = {key: value for key, value in self.data.items() if key != self.body}
        if self.metadata.output_path is not None and isinstance(head, dict):
            head = {**head, "truncated": True, "output_path": self.metadata.output_path}
        findings = self.metadata.diagnostics_after_edit
        parts = (_compact(head), body, None if findings is None else findings.in_words())
        return "\n".join([*(part for part in parts if part is not None), *notes])


def _compact(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
