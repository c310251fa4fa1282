"""`skill`: loads the body of a skill into the conversation.

Owns: the tool's parameters, and the marks around a body. Never: finding or reading skills; the harness does.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr

from pydantic import Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.contract.ports import SKILL_TOOL, SkillContent

_MARK = re.compile(r"<(?=\s*+/?\s*+skill_content\b)", re.IGNORECASE)


class SkillParams(ToolParams):
    name: str = Field(min_length=1, max_length=64, description="A name from the list of skills.")


class SkillResult(ToolResult):
    name: str
    folder: str = Field(description="The skill's folder; its files are read by paths below it.")
    files: list[str] | None = Field(default=None, description="Further files in the folder.")
    files_left_out: int | None = Field(default=None, description="Files that are not listed.")
    content: str = Field(description="The instructions of the skill.")


def marked(name: str, body: str) -> str:
    """Return a body between marks with the skill's name, which nothing in it can end."""
    plain = _MARK.sub("&lt;", body)
    return f"<skill_content name={quoteattr(name)}>\n{plain}\n</skill_content>"


def result_of(found: SkillContent) -> SkillResult:
    left_out = found.file_count - len(found.files)
    return SkillResult(
        name=found.name,
        folder=found.folder,
        files=list(found.files) or None,
        files_left_out=left_out or None,
        content=marked(found.name, found.body),
    )


def skill() -> ToolDefinition:
    async def run(params: SkillParams, context: ToolCallContext) -> SkillResult:
        return result_of(await context.ports.skill(params.name))

    return ToolDefinition(
        name=SKILL_TOOL,
        title="Load a skill",
        description=load_description("app.tools.locked", "skill.md"),
        parameters=SkillParams,
        result=SkillResult,
        run=run,
        acp_kind="other",
        read_only=True,
        body_field="content",
    )
