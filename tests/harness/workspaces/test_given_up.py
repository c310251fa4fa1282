"""A workspace that is given up while somebody makes it, or means to, is not there afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.config import WorkspaceSettings
from app.harness.workspaces import clone
from app.harness.workspaces.clone import Begun, give_repository, make_folder, prepare
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.making import Making
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.tending import Tending
from app.storage.models import Workspace

pytestmark = pytest.mark.requirement("workspaces.recovery")


class Store:
    """A storage with one workspace and nothing else."""

    def __init__(self, row: Workspace) -> None:
        self.row = row
        self.workspaces, self.sessions = self, SimpleNamespace(get=lambda _: None)

    async def read(self, ask: Callable[[Store], Any]) -> Any:
        return ask(self)

    async def write(self, do: Callable[[Store], Any], *, durable: bool) -> Any:
        return do(self)

    def get(self, _: str) -> Workspace:
        return self.row.model_copy()

    def update(self, _: str, **values: object) -> None:
        self.row = self.row.model_copy(update=values)

    def with_folder(self) -> list[Workspace]:
        return [self.get("")]

    def bytes_held(self) -> int:
        return 0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(
        Workspace(
            id="wks_1", project_id="prj_1", kind="worktree", state="creating", root=str(tmp_path),
            base="head", created_at=0, updated_at=0,
        )
    )  # fmt: skip


def given_up(store: Store) -> None:
    store.update("", state="discarded", removed_at=1, ended_at=1)


async def test_what_was_given_up_since_the_rows_were_read_is_not_begun(store: Store) -> None:
    begun: list[Workspace] = []
    anything: Any = SimpleNamespace(tends=lambda _: True)
    record: Any = SimpleNamespace(storage=store)

    @asynccontextmanager
    async def holding(_: str) -> AsyncIterator[Workspace]:
        given_up(store)  # whoever has held it until now
        yield store.get("")

    record.holding = holding
    making: Any = SimpleNamespace(begin=begun.append, seeds=None)
    await Tending(record, anything, anything, WorkspaceSettings(), making).look()
    assert begun == []


async def test_what_is_given_up_while_it_is_made_does_not_come_back(store: Store, tmp_path: Path) -> None:
    left: list[str] = []
    storage: Any = store
    nothing: Any = None
    record = WorkspaceRecord(storage, nothing, lambda _: None)

    async def make(*_: object) -> Any:
        given_up(store)
        return SimpleNamespace(root=tmp_path, borrowed=(), note=None, base_commit="c")

    async def abandon(*_: object) -> None:
        left.append("nothing")

    async def identity(_: object) -> dict[str, str]:
        return {}

    async def fit(row: Workspace, *_: object) -> Any:
        return row, [], {}

    layout = SimpleNamespace(folder=tmp_path / "none")
    tools: Any = SimpleNamespace(
        layout_of=lambda _: layout,
        merging=SimpleNamespace(identity=identity),
        creation=SimpleNamespace(make=make, abandon=abandon),
        outfit=SimpleNamespace(fit=fit),
    )
    section = SimpleNamespace(acting=lambda: SimpleNamespace(workspace=None))
    projects: Any = SimpleNamespace(root_of=lambda _: tmp_path, get=lambda _: section)
    making = Making(record, projects, tools, WorkspaceSettings())

    async def with_files(_: object, section: Any) -> Any:
        return section

    making._with_files = with_files  # type: ignore[method-assign]
    making.begin(store.get(""))
    await making.finished("wks_1")
    assert store.row.state == "discarded" and left == ["nothing"]
    await making.aclose()


STEPS: dict[str, Callable[[Layout], Awaitable[None]]] = {
    "remove_tree": make_folder,
    "write_files": lambda layout: prepare(layout, None),
    "shutil": lambda layout: give_repository(layout, None, Begun("0" * 40, "kaged/x")),
}


@pytest.mark.parametrize("where", STEPS)
async def test_a_step_that_is_cancelled_ends_with_its_thread(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def work(*_: object, **__: object) -> None:
        begun.set()
        assert go.wait(60)

    layout = Layout(tmp_path / "wks_1")
    (layout.git / "objects" / "pack").mkdir(parents=True), layout.tree.mkdir()
    layout.index.touch(), (layout.git / "objects" / "pack" / "one.pack").touch()
    monkeypatch.setattr(clone, where, SimpleNamespace(copyfile=work) if where == "shutil" else work)
    task = asyncio.ensure_future(STEPS[where](layout))
    assert await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    ended_before = task.done()
    go.set()
    await asyncio.wait({task})
    assert task.cancelled() and not ended_before
