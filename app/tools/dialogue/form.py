"""`kaged.form`: data from the operator by a form, files included.

Owns: the tool's parameters, and its result made of an answer. Never: checking the answer or taking files in.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Boolean, ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.dialogue.ask import Name, ask_human

FieldType = Literal["text", "textarea", "url", "number", "boolean", "file"]
MAX_FIELDS = 50


class FormField(ToolParams):
    name: Name = Field(description="The value has this name: letters, digits, `_` and `-`.")
    label: str = Field(min_length=1, max_length=300, description="What the operator reads beside the field.")
    type: FieldType = Field(description="text, textarea, url, number, boolean or file.")
    required: Boolean = Field(default=False, description="Whether it must be filled in.")
    description: str = Field(default="", max_length=2_000, description="What is expected, with an example.")


class FormParams(ToolParams):
    summary: str = Field(
        min_length=1,
        max_length=4_000,
        description="Brief context explaining what data is needed and why.",
    )
    fields: list[FormField] = Field(
        min_length=1, max_length=MAX_FIELDS, description="Form fields to present to the operator."
    )

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            raise ValueError("two fields have the same name; give each its own")
        return self


class FormResult(ToolResult):
    """A file is `{path, name, size}`: where it lies in the project, and its size in bytes. A field that
    was left empty is null."""

    values: dict[str, Any]


def result_of(request: dict[str, Any], answer: dict[str, Any]) -> FormResult:
    """Return the result for a checked answer: `values` by the fields' names."""
    given = answer["values"]
    return FormResult(values={field["name"]: _value(given.get(field["name"])) for field in request["fields"]})


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: value[name] for name in ("path", "name", "size")}
    return value


def build() -> ToolDefinition:
    async def run(params: FormParams, context: ToolCallContext) -> FormResult:
        request = params.model_dump()
        return result_of(request, await ask_human(context, "form", request))

    return ToolDefinition(
        name="kaged.form",
        title="Ask the operator for data",
        description=load_description("app.tools.dialogue", "form.md"),
        parameters=FormParams,
        result=FormResult,
        run=run,
        acp_kind="other",
        principal_scope="root-only",
        root_default=True,
    )
