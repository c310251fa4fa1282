"""A desk with real language servers, one for the tests of each file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.lsp.manager import Declarations, LanguageServers, ServerCages, ServerLimits
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.service import ToolService
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.project_files.text_format import text_of
from app.workspace.tree_watch import TreeWatches
from tests.driver.caging import FULL
from tests.driver.language_servers import PATIENT, server_environment
from tests.driver.machine import need_tier
from tests.driver.tool_registry import tool_registry
from tests.tools.conftest import Desk, Ports

DEADLINE = 60.0


@pytest.fixture(autouse=True)
def patient_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions rest on diagnostics, which a busy server has late: then it offers none that fixes them."""
    monkeypatch.setattr("app.tools.code.code_actions.DIAGNOSTICS_SECONDS", PATIENT.wait_seconds)


@dataclass
class CodeDesk(Desk):
    """`audited` has what the bridge records: event, project, data."""

    languages: LanguageServers = field(kw_only=True)
    audited: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list, kw_only=True)

    async def lsp(self, action: str, **params: Any) -> Any:
        return await self.ok("code.lsp", action=action, **params)

    async def refused(self, action: str, **params: Any) -> Any:
        """Return the error of a call that must fail."""
        envelope = await self.call("code.lsp", action=action, **params)
        assert envelope.type == "error", envelope.data
        return envelope

    def text(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def snapshot(self) -> dict[str, tuple[Any, ...]]:
        """The project and the daemon's data. Servers write files of their own beside them, at any time."""
        project, data = (replace(self, base=place) for place in (self.root, self.base / "data"))
        return Desk.snapshot(project) | Desk.snapshot(data)

    def put_all(self, files: Mapping[str, str]) -> None:
        for path, content in files.items():
            self.put(path, content)

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.audited if event == name]


@asynccontextmanager
async def code_desk(
    base: Path,
    *,
    limits: ServerLimits = PATIENT,
    declarations: Declarations | None = None,
    environment: Mapping[str, str] | None = None,
    tier: Tier | None = None,
) -> AsyncIterator[CodeDesk]:
    """Open a desk in `base`, where the folder `project` may exist, and close its servers at the end; no
    process is left then. With `tier` the servers run in cages, as a machine of that tier has them; on another
    machine the test is skipped."""
    if tier is not None:
        need_tier(tier)
    root = base / "project"
    root.mkdir(exist_ok=True)
    scratch = base / "data" / "sessions" / "ses_1" / "scratch"
    scratch.mkdir(parents=True)
    ports = Ports()
    context = ToolCallContext(
        "ses_1", "run_1", "primary", "prj_1", root, None, "req_1", "call_1", scratch, ports
    )
    children, reads = ChildProcesses(), ReadTracker()
    watches = TreeWatches()
    audited: list[tuple[str, str, dict[str, Any]]] = []
    cages = Cages(children, tier or FULL)
    masks = tier is not None and tier.name == "full"
    states = base / "states" if masks else None
    languages = LanguageServers(
        children,
        watches,
        environment=environment or server_environment(base / "home"),
        declared=lambda _: declarations or Declarations(),
        decode=text_of,
        record=lambda event, project, data: audited.append((event, project, data)),
        limits=limits,
        cages=None if tier is None else ServerCages(cages, states, masks=masks),
    )
    service = ToolService(
        tool_registry(reads=reads, children=children, data_dir=base / "data", languages=languages)
    )
    try:
        yield CodeDesk(base, service, context, ports, reads, languages=languages, audited=audited)
    finally:
        await languages.aclose()
        await watches.aclose()
        await cages.aclose()
        await children.aclose()


@pytest.fixture(scope="module", autouse=True)
def patient_calls() -> Iterator[None]:
    """A call waits as long as `PATIENT` lets a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.tools.code.lsp.CALL_SECONDS", PATIENT.load_seconds)
        patch.setattr("app.tools.code.call.SECONDS", PATIENT.request_seconds)
        yield


@pytest.fixture
async def coding(tmp_path: Path) -> AsyncIterator[CodeDesk]:
    """A desk of the test's own."""
    async with code_desk(tmp_path) as desk:
        yield desk


def of_agent(desk: CodeDesk, *fs: tuple[str, str], **more: Any) -> CodeDesk:
    """Return the desk as an agent in a cage has it."""
    cage = {"fs": [{"mode": mode, "path": path} for mode, path in fs], **more}
    return replace(desk, context=replace(desk.context, agent_path="primary.subagents.worker", cage=cage))
