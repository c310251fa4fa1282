"""A desk to call tools from: a real folder, the real registry and service, and an audit trail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from app.messages import ToolSpec
from app.tools.authorisation.watchdog import Watchdog
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.hook_report import HookReport
from app.tools.contract.ports import ChildAnswer, ChildTask, FileWrite, HumanQuestion, SkillContent, TodoItem
from app.tools.contract.rules import ConsentAnswer, ConsentRequest, PermissionRule
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.project_files.read_tracker import ReadTracker
from tests.driver.tool_registry import tool_registry


@dataclass
class Ports:
    """Keeps what the tools report, and answers for the human as told."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    asked: list[ConsentRequest] = field(default_factory=list)
    answer: ConsentAnswer = "reject"
    todo_list: tuple[TodoItem, ...] = ()
    checkpoints: list[str | None] = field(default_factory=list)
    writes: list[FileWrite] = field(default_factory=list)
    reports: list[HookReport] = field(default_factory=list)
    folders: tuple[Path, ...] = ()
    calls: int = 0
    hidden_tools: tuple[ToolSpec, ...] = ()

    async def progress(self, text: str) -> None:
        self.shown.append(text)

    def audit(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    async def consent(self, request: ConsentRequest) -> ConsentAnswer:
        self.asked.append(request)
        return self.answer

    async def ask(self, question: HumanQuestion) -> dict[str, Any]:
        raise ToolError("headless", "Nobody answers questions here.")

    async def todos(self) -> tuple[TodoItem, ...]:
        return self.todo_list

    async def replace_todos(self, todos: Sequence[TodoItem]) -> None:
        self.todo_list = tuple(todos)

    def skill_folders(self) -> tuple[Path, ...]:
        return self.folders

    async def skill(self, name: str) -> SkillContent:
        raise ToolError("skill_not_found", f"There is no skill {name!r}.")

    def children(self) -> dict[str, dict[str, Any]]:
        return {}

    def tools_to_find(self) -> Sequence[ToolSpec]:
        return self.hidden_tools

    async def delegate(self, task: ChildTask) -> ChildAnswer:
        raise ToolError("no_subagents", "There are none here.")

    async def calls_made(self) -> int:
        self.calls += 1
        return self.calls

    def wrote(self, write: FileWrite) -> None:
        self.writes.append(write)

    def request_checkpoint(self, reason: str | None) -> None:
        self.checkpoints.append(reason)

    def hook_ended(self, report: HookReport) -> None:
        self.reports.append(report)

    def names(self) -> list[str]:
        return [event for event, _ in self.events]

    def of(self, name: str) -> dict[str, Any]:
        return next(data for event, data in self.events if event == name)


@dataclass
class Desk:
    base: Path
    service: ToolService
    context: ToolCallContext
    ports: Ports
    reads: ReadTracker

    @property
    def root(self) -> Path:
        return self.context.project_root

    def put(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def as_agent(self, agent_path: str, cage: Mapping[str, Any] | None = None) -> Desk:
        return replace(self, context=replace(self.context, agent_path=agent_path, cage=cage))

    def caged(self, *fs: tuple[str, str], **more: Any) -> Desk:
        cage = {"fs": [{"mode": mode, "path": path} for mode, path in fs], **more}
        return self.as_agent("primary.subagents.worker", cage)

    def ruled(self, *rules: PermissionRule, headless: bool = False) -> Desk:
        return replace(self, context=replace(self.context, rules=rules, headless=headless))

    def with_tools(self, *extra: ToolDefinition, watchdog: Watchdog | None = None) -> Desk:
        definitions: Iterable[ToolDefinition] = (*self.service.registry.definitions(), *extra)
        return replace(
            self,
            service=ToolService(ToolRegistry(definitions), watchdogs=() if watchdog is None else (watchdog,)),
        )

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        allowed: Collection[str] | None = None,
        **params: Any,
    ) -> ToolEnvelope:
        granted = self.service.registry.names() if allowed is None else allowed
        given = params if arguments is None else arguments
        return await self.service.call(name, given, self.context, allowed=granted)

    async def ok(self, name: str, **params: Any) -> Any:
        envelope = await self.call(name, **params)
        assert envelope.type == "output", envelope.model_text()
        return envelope.data

    async def code(self, name: str, **params: Any) -> str | None:
        envelope = await self.call(name, **params)
        assert envelope.type == "error", envelope.data
        return envelope.code

    def snapshot(self) -> dict[str, tuple[Any, ...]]:
        """Everything below the base folder, so that two moments can be compared."""
        found: dict[str, tuple[Any, ...]] = {}
        for path in sorted(self.base.rglob("*")):
            status = path.lstat()
            content: Any = None
            if path.is_symlink():
                content = path.readlink()
            elif path.is_file():
                content = path.read_bytes()
            found[str(path)] = (status.st_mode, status.st_uid, content)
        return found


@pytest.fixture
async def children() -> AsyncIterator[ChildProcesses]:
    processes = ChildProcesses()
    yield processes
    await processes.aclose()


@pytest.fixture
def desk(tmp_path: Path, children: ChildProcesses) -> Desk:
    root = tmp_path / "project"
    root.mkdir()
    data_dir = tmp_path / "data"
    scratch = data_dir / "sessions" / "ses_1" / "scratch"
    scratch.mkdir(parents=True)
    ports = Ports()
    context = ToolCallContext(
        session_id="ses_1",
        run_id="run_1",
        agent_path="primary",
        project_id="prj_1",
        project_root=root,
        cage=None,
        request_id="req_1",
        call_id="call_1",
        scratch_dir=scratch,
        ports=ports,
    )
    reads = ReadTracker()
    service = ToolService(tool_registry(reads=reads, children=children, data_dir=data_dir))
    return Desk(tmp_path, service, context, ports, reads)
