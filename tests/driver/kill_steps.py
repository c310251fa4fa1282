"""Steps with a repository that a daemon may be killed in, each with a repository of its own.

Owns: preparing a step, doing it, and what its repository may look like afterwards: as before, or as when the
step is done. Never: the daemon, or when it is killed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.workspaces import git, write_repository

FILES = 12
INTO = {"merge": "working_tree", "branch": "side", "checkout": "main"}
WORKS_IN_WORKSPACE = (*INTO, "keep", "discard", "undiscard")
REVERTS = ("revert_file", "revert_hunk", "undo_revert")
KINDS = ("create", "setup", *WORKS_IN_WORKSPACE, "pick", *REVERTS, "commit")
LINES = [f"line {number}\n" for number in range(400)]
SETUP = "for n in 1 2 3 4 5 6; do echo $n > made-by-setup-$n; sleep 0.02; done"


@dataclass
class Place:
    """One kind of step in its repository at `root`. `number` counts the rounds, `ends` what came of them."""

    kind: str
    root: Path
    project_id: str = ""
    session_id: str = ""
    number: int = 0
    before: dict[str, Any] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=lambda: {"old": 0, "new": 0})

    @classmethod
    def make(cls, kind: str, folder: Path) -> Place:
        root = write_repository(folder / kind)
        git(root, "branch", "side")
        (root / "lines.txt").write_text("".join(LINES))
        if kind == "setup":
            project = root / ".kaged" / "project.yaml"
            project.write_text(project.read_text() + f"workspace: {{setup: '{SETUP}'}}\n")
        git(root, "add", "-A"), git(root, "commit", "-qm", "lines")
        return cls(kind, root)

    @property
    def url(self) -> str:
        return f"/sessions/{self.session_id}"

    # -- before the kill --------------------------------------------------------------------

    async def prepare(self, client: httpx2.AsyncClient) -> None:
        """Bring everything to where the step begins."""
        self.number += 1
        if self.kind in WORKS_IN_WORKSPACE:
            await self._new_session(client, "worktree")
            self._write_files(await self.until(client, "ready"))
            if self.kind == "undiscard":
                await self._post(client, f"{self.url}/workspace/discard")
        elif self.kind == "pick":
            await self._new_attempts(client)
        elif self.kind not in {"create", "setup"}:
            changed = [*LINES[:200], *(f"added {self.number}\n" for _ in range(2000)), *LINES[200:]]
            changed[0] = f"first {self.number}\n"
            (self.root / "lines.txt").write_text("".join(changed))
        if self.kind in REVERTS:
            await self._new_session(client, "shared")
            diff = await self._get(client, f"{self.url}/changes/lines.txt?since=head")
            self.before["hunk"] = diff["hunks"][0]["digest"]
            self.before["changed"] = (self.root / "lines.txt").read_text()
            if self.kind == "undo_revert":
                self.before["revert"] = (await self._revert(client, None))["id"]
        if self.kind == "commit":
            diff = await self._get(client, f"/projects/{self.project_id}/git/diff?path=lines.txt")
            self.before["hunk"] = diff["hunks"][0]["digest"]
        self.before["side"] = git(self.root, "rev-parse", "side")
        self.before["main"] = git(self.root, "rev-parse", "main")

    async def step(self, client: httpx2.AsyncClient) -> None:
        """Do what the daemon is killed in."""
        if self.kind in {"create", "setup"}:
            await self._new_session(client, "worktree")
            await self.until(client, "ready")
        elif self.kind in INTO:
            await self._post(client, f"{self.url}/workspace/merge", into=INTO[self.kind])
        elif self.kind in WORKS_IN_WORKSPACE:
            action = "undo" if self.kind == "undiscard" else self.kind
            await self._post(client, f"{self.url}/workspace/{action}")
        elif self.kind == "pick":
            await self._post(client, f"/attempts/{self.before['group']}/pick", session_id=self.session_id)
        elif self.kind == "commit":
            git_url = f"/projects/{self.project_id}/git"
            await self._post(client, f"{git_url}/stage", path="lines.txt", hunks=[self.before["hunk"]])
            await self._post(client, f"{git_url}/commit", message=f"round {self.number}")
        elif self.kind == "undo_revert":
            await self._post(client, f"{self.url}/reverts/{self.before['revert']}/undo")
        else:
            await self._revert(client, [self.before["hunk"]] if self.kind == "revert_hunk" else None)

    # -- after the kill ---------------------------------------------------------------------

    async def check(self, client: httpx2.AsyncClient, *data: Path) -> str:
        """Return whether all is `old` or `new`; raise when it is neither, or something is left behind in the
        repository or in the data folders of the daemons."""
        found = await self._settled(client)
        self._check_nothing_left(data, found)
        if self.kind in {"create", "setup"}:
            end = self._created(found)
        elif self.kind in WORKS_IN_WORKSPACE:
            end = self._worked(next(one for one in found if one["session_id"] == self.session_id))
        elif self.kind == "pick":
            end = await self._picked(client)
        elif self.kind == "commit":
            end = self._committed()
        else:
            end = await self._reverted(client)
        self.ends[end] += 1
        git(self.root, "add", "-A")
        if git(self.root, "status", "--porcelain"):
            git(self.root, "commit", "-qm", f"round {self.number}")
        return end

    def _check_nothing_left(self, data: tuple[Path, ...], found: list[dict[str, Any]]) -> None:
        """Compare what is on disk with what the daemon says."""
        held = {one["id"] for one in found if one["removed_at"] is None}
        places = [(one / "workspaces").glob(f"{self.project_id}/*") for one in data]
        folders = sorted(one.name for place in places for one in place)
        pins = set(git(self.root, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/kaged").split())
        assert folders == sorted(held), (set(folders) ^ held, found)
        assert pins == held, (pins ^ held, found)
        left = [*self.root.rglob("*.lock"), *self.root.rglob("*tmp_*"), *self.root.rglob("*kaged-*")]
        left += [one for one in self.root.rglob(".*") if one.name not in {".git", ".kaged", ".gitignore"}]
        assert not left, f"left behind: {left}"
        assert git(self.root, "fsck", "--no-dangling") == ""
        branches = git(self.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/kaged").split()
        kept = {one["branch"] for one in found if one["state"] == "kept"}
        assert set(branches) == kept, (branches, kept)
        for number in range(self.number + 1):
            names = list(self.root.glob(f"made-{number}-*"))
            assert len(names) in (0, FILES), f"half of a merge: {len(names)} files of {number}"

    def _created(self, found: list[dict[str, Any]]) -> str:
        assert {one["state"] for one in found} <= {"ready"}, found
        for one in found:
            root = Path(one["root"])
            assert (root / "lines.txt").exists() and git(root, "status", "--porcelain", "-uno") == ""
            if self.kind == "setup":
                assert len(list(root.glob("made-by-setup-*"))) == 6, one["setup_log"]
        grown = len(found) > self.before.get("held", 0)
        self.before["held"] = len(found)
        return "new" if grown else "old"

    def _worked(self, row: dict[str, Any]) -> str:
        done = {"keep": "kept", "discard": "discarded", "undiscard": "ready"}.get(self.kind, "merged")
        undone = "discarded" if self.kind == "undiscard" else "ready"
        assert row["state"] in (done, undone), row
        new = row["state"] == done
        side, main = git(self.root, "rev-parse", "side"), git(self.root, "rev-parse", "main")
        moved = {"branch": "side", "checkout": "main"}.get(self.kind)
        for name, at in (("side", side), ("main", main)):
            if new and name == moved:
                assert git(self.root, "rev-parse", f"{name}^") == self.before[name]
                listed = git(self.root, "ls-tree", "-r", "--name-only", name).splitlines()
                assert sum(one.startswith(f"made-{self.number}-") for one in listed) == FILES
            else:
                assert at == self.before[name], name
        if self.kind != "merge":
            assert git(self.root, "status", "--porcelain") == ""
        here = len(list(self.root.glob(f"made-{self.number}-*"))) == FILES
        assert here == (new and self.kind in {"merge", "checkout"})
        if new and self.kind == "keep":
            assert git(self.root, "rev-parse", row["branch"]) == row["merged"]["commit"]
        return "new" if new else "old"

    async def _picked(self, client: httpx2.AsyncClient) -> str:
        group = await self._group_until(client, "picked", "done")
        states = [one["workspace_state"] for one in group["attempts"]]
        here = len(list(self.root.glob(f"made-{self.number}-*"))) == FILES
        new = group["state"] == "picked"
        assert (states, here) == ((["merged", "discarded"], True) if new else (["ready"] * 2, False)), group
        return "new" if new else "old"

    def _committed(self) -> str:
        moved = git(self.root, "rev-parse", "main") != self.before["main"]
        if moved:
            assert git(self.root, "rev-parse", "main^") == self.before["main"]
            assert git(self.root, "show", "--format=", "--numstat", "main") == "1\t1\tlines.txt"
        states = git(self.root, "status", "--porcelain")
        assert states in (("M lines.txt",) if moved else ("M lines.txt", "MM lines.txt")), states
        return "new" if moved else "old"

    async def _reverted(self, client: httpx2.AsyncClient) -> str:
        now, before = (self.root / "lines.txt").read_text(), self.before["changed"]
        committed = git(self.root, "show", "HEAD:lines.txt") + "\n"
        hunk = committed.splitlines(keepends=True)[0] + before.partition("\n")[2]
        after = {"revert_file": committed, "revert_hunk": hunk, "undo_revert": before}[self.kind]
        start = committed if self.kind == "undo_revert" else before
        assert now in (start, after), len(now)
        (await client.get(f"{self.url}/changes?since=head")).raise_for_status()
        event = "changes.revert_undone" if self.kind == "undo_revert" else "changes.reverted"
        trail = await self._get(client, f"/audit?session_id={self.session_id}&event={event}")
        assert len(trail["items"]) == (now == after), trail
        return "new" if now == after else "old"

    # -- inside -----------------------------------------------------------------------------

    def _write_files(self, found: dict[str, Any]) -> None:
        for one in range(FILES):
            name = f"made-{self.number}-{one}.txt"
            (Path(found["root"]) / name).write_text(f"{self.number} {one}\n" * 2000)

    async def _new_attempts(self, client: httpx2.AsyncClient) -> None:
        """Start two attempts, which no model answers, and work in the first one."""
        url = f"/projects/{self.project_id}/attempts"
        made = await self._post(client, url, content=f"Round {self.number}", attempts={"n": 2})
        self.before["group"] = made["id"]
        await self._post(client, f"/attempts/{made['id']}/cancel")
        await self._group_until(client, "done")
        self.session_id, other = (one["session_id"] for one in made["attempts"])
        self._write_files(await self.until(client, "ready"))
        assert (await self._get(client, f"/sessions/{other}/workspace"))["state"] == "ready"

    async def _group_until(self, client: httpx2.AsyncClient, *states: str) -> dict[str, Any]:
        async with asyncio.timeout(WAIT_SECONDS * 2):
            while True:
                found = await self._get(client, f"/attempts/{self.before['group']}")
                if found["state"] in states:
                    return found
                await asyncio.sleep(0.02)

    async def until(self, client: httpx2.AsyncClient, state: str) -> dict[str, Any]:
        async with asyncio.timeout(WAIT_SECONDS * 2):
            while True:
                found = await self._get(client, f"{self.url}/workspace")
                if found["state"] == state:
                    return found
                await asyncio.sleep(0.02)

    async def _settled(self, client: httpx2.AsyncClient) -> list[dict[str, Any]]:
        """Return all workspaces once none of them is under way."""
        async with asyncio.timeout(WAIT_SECONDS * 2):
            while True:
                found = await self._listed(client)
                if not any(map(_is_under_way, found)):
                    return found
                await asyncio.sleep(0.05)

    async def _listed(self, client: httpx2.AsyncClient) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            page = await self._get(client, f"/projects/{self.project_id}/workspaces?limit=100{more}")
            found, cursor = found + page["items"], page["next_cursor"]
        return found

    async def _new_session(self, client: httpx2.AsyncClient, kind: str) -> None:
        made = await self._post(client, "/sessions", project_id=self.project_id, workspace=kind)
        self.session_id = made["id"]

    async def _revert(self, client: httpx2.AsyncClient, hunks: list[str] | None) -> dict[str, Any]:
        body: dict[str, Any] = {"path": "lines.txt", "since": "head"}
        return await self._post(client, f"{self.url}/reverts", **body, hunks=hunks)

    async def _get(self, client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
        answer: dict[str, Any] = (await client.get(url)).raise_for_status().json()
        return answer

    async def _post(self, client: httpx2.AsyncClient, url: str, **body: Any) -> dict[str, Any]:
        given = {name: value for name, value in body.items() if value is not None}
        answer = await client.post(url, **({"json": given} if given else {}))
        assert answer.is_success, (self.kind, answer.text)
        found: dict[str, Any] = answer.json()
        return found


def _is_under_way(one: dict[str, Any]) -> bool:
    """Tell whether the daemon has something to do yet: a branch that is kept loses its folder soon."""
    return one["state"] in {"creating", "merging"} or (one["state"] == "kept" and one["removed_at"] is None)
