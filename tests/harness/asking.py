"""A tool that asks for consent by itself, for whatever it is told to; real definitions and rules.

What decides when a call must ask is tested elsewhere: here is what happens once it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from app.errors import ToolError
from app.tools.catalog import build_registry
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult
from app.tools.contract.rules import ConsentRequest, PermissionRule, Subject, plain
from app.tools.dispatch.registry import ToolRegistry
from tests.driver.sessions import PROJECT_YAML, Driver, Frame, Watch

ASKING_YAML = (
    PROJECT_YAML
    + '    "lab.*": { enabled: true }\n'
    + 'permissions: [{ permission: shell, pattern: "*", action: ask }]\n'
)


class AskParams(ToolParams):
    commands: list[str]
    suggest: list[str] = Field(default_factory=list)


class Said(ToolResult):
    answer: str


@dataclass
class AskingTool:
    """`rules` are those of operators that the calls were given, `done` the commands that were run."""

    rules: list[tuple[PermissionRule, ...]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    async def ask(self, params: AskParams, context: ToolCallContext) -> BaseModel:
        self.rules.append(tuple(rule for rule in context.rules if rule.scope != "manifest"))
        request = ConsentRequest(
            tool="lab.ask",
            permission="lab.ask",
            subjects=tuple(params.commands),
            reason="The rule `lab.ask *` asks.",
            source="rule",
            suggestions=tuple(
                PermissionRule("lab.ask", pattern, "allow", "session") for pattern in params.suggest
            ),
            about=tuple(Subject("command", ("lab.ask",), "shell", plain(text)) for text in params.commands),
        )
        answer = await context.ports.consent(request)
        if answer == "reject":
            raise ToolError("permission_denied", "the operator said no")
        self.done.extend(params.commands)
        return Said(answer=answer)

    def build_registry(self, **options: Any) -> ToolRegistry:
        """Return the daemon's registry with this tool in it."""
        real = build_registry(**options)
        mine = ToolDefinition(
            name="lab.ask",
            title="Ask",
            description="Asks for consent.",
            parameters=AskParams,
            result=Said,
            run=self.ask,
            acp_kind="other",
        )
        return ToolRegistry((*real.definitions(), mine), real.groups())


async def until_asked(watch: Watch, count: int = 1) -> list[Frame]:
    """Wait for so many questions and return their payloads."""
    await watch.until(lambda _: len(watch.of("permission.requested")) >= count)
    return [frame["payload"] for frame in watch.of("permission.requested")]


async def answer(driver: Driver, question: Frame, status: int = 200, **body: Any) -> Any:
    path = f"/interactions/{question['interaction_id']}/answer"
    return await driver.session_call("POST", path, body, status=status)


async def results(driver: Driver) -> list[str]:
    """Return what the model has read as results, in order."""
    return [message["content"] for message in await driver.messages() if message["role"] == "tool"]
