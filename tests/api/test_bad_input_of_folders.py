"""What a client may send wrong to the routes of files, changes, workspaces and git: each mistake gets an
error that says what to do, and none is an error of the daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.storage.pages import encode_cursor
from tests.driver.sessions import write_project
from tests.driver.workspaces import git, new_workplace

OTHER = encode_cursor("sessions", [1, "ses_1"])
UNKNOWN = "01JZ0000000000000000000000"
NAMES = [
    "a\0b",
    "a\nb",
    "\ud800",
    "../x",
    "/etc/passwd",
    "~bytes:",
    "~bytes:!",
    "~bytes:AA",
    "a" * 5000,
    "\u202e",
    ".",
]
NUMBERS: list[Any] = [-1, 2**31, 2**63, 10**400, "x"]
TYPES: list[Any] = [None, True, 10**400, [], {}, "", ["\0"], "\ud800", ["x" * 9000]]
BASES = [
    "a\0b",
    "main\nx",
    "\ud800",
    "-x",
    "@{-1}",
    "..",
    "main..main",
    "HEAD:README.md",
    "^main",
    "x" * 200,
    "main@{1.year.ago}",
    "*",
    "\u202e",
    "--all",
    "HEAD~99999999999",
]


def wishes(project: str, session: str, elsewhere: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield wrong requests: the method, the address, and what is sent."""
    yield from lists(project, session, elsewhere)
    yield from named_files(project, session)
    for base in BASES:
        body = {"project_id": project.rpartition("/")[2], "workspace": {"kind": "worktree", "base": base}}
        yield "POST", "/sessions", {"json": body}
        yield "POST", f"{session}/workspace/merge", {"json": {"into": base, "dry_run": True}}
        for what in ("branches", "switch"):
            yield "POST", f"{project}/git/{what}", {"json": {"name": base}}
        yield "POST", f"{project}/git/branches", {"json": {"name": "new", "from": base, "switch": False}}
    for value in TYPES:
        for key in ("strategy", "into", "message", "dry_run", "conflicts", "hooks", "create"):
            yield "POST", f"{session}/workspace/merge", {"json": {"dry_run": True, key: value}}
        for key in ("path", "hunks", "digest", "since"):
            yield "POST", f"{session}/reverts", {"json": {"path": "none.txt", key: value}}
        for key in ("paths", "path", "hunks"):
            yield "POST", f"{project}/git/stage", {"json": {"path": "README.md", "hunks": ["x"], key: value}}
        for key in ("message", "paths", "amend", "hooks", "unsigned"):
            yield "POST", f"{project}/git/commit", {"json": {"message": "x", key: value}}
        yield "POST", "/sessions", {"json": {"project_id": project.rpartition("/")[2], "workspace": value}}
    for body in (b"", b"null", b"[]", b'{"path": "\\ud800"}', b'{"into": "\\udcff"}', b"{", b"\xff"):
        for what in (f"{session}/reverts", f"{session}/workspace/merge", f"{project}/git/commit"):
            yield "POST", what, {"content": body, "headers": {"Content-Type": "application/json"}}


def lists(project: str, session: str, elsewhere: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    paged = (f"{session}/changes", f"{session}/reverts", f"{project}/files", f"{project}/git/status",
             f"{project}/git/branches", f"{project}/workspaces")  # fmt: skip
    for path in paged:
        for number in map(str, NUMBERS):
            yield "GET", path, {"params": {"limit": number}}
        for cursor in (OTHER, "x", "\0", "é", "", "W10", encode_cursor("changes", ["a", "b"])):
            yield "GET", path, {"params": {"cursor": cursor}}
    for since in (
        "",
        "x",
        "checkpoint:",
        f"checkpoint:ckp_{UNKNOWN}",
        "checkpoint:\0",
        "\0",
        "start\n",
        "-head",
    ):
        yield "GET", f"{session}/changes", {"params": {"since": since}}
        yield "GET", f"{session}/changes/README.md", {"params": {"since": since}}
        yield "POST", f"{session}/reverts", {"json": {"path": "README.md", "since": since}}
    for number in map(str, NUMBERS):
        yield "GET", f"{project}/files", {"params": {"depth": number}}
        yield (
            "GET",
            f"{project}/files/text",
            {"params": {"path": "README.md", "line": number, "limit": number}},
        )
        yield "GET", f"{session}/changes/README.md", {"params": {"context": number}}
    for one in (f"ses_{UNKNOWN}", "ses_\0", "x", "\0", elsewhere):
        yield "GET", f"{project}/files", {"params": {"session_id": one}}
        yield "GET", f"{project}/symbols", {"params": {"q": "x", "session_id": one}}
    for one in (f"rvt_{UNKNOWN}", "%00", "%0A", "x", "rvt_", "%ED%A0%80", "..%2F..", "x" * 300):
        yield "POST", f"{session}/reverts/{one}/undo", {}
    for one in (f"/sessions/ses_{UNKNOWN}", "/sessions/x", "/sessions/%00", "/sessions/%ED%A0%80"):
        for what in ("changes", "changes/x", "reverts", "workspace"):
            yield "GET", f"{one}/{what}", {}
        for what in ("merge", "keep", "discard", "undo"):
            yield "POST", f"{one}/workspace/{what}", {"json": {}} if what == "merge" else {}
    for one in (f"/projects/prj_{UNKNOWN}", "/projects/x", "/projects/%00"):
        for what in ("files", "files/content", "files/search", "symbols", "git/status", "git/branches"):
            yield "GET", f"{one}/{what}", {}
        yield "GET", f"{one}/workspaces", {}


def named_files(project: str, session: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in NAMES:
        sent = {"path": name.encode("utf-8", "surrogatepass")}
        for what in ("files", "files/content", "files/text", "git/diff"):
            yield "GET", f"{project}/{what}", {"params": sent}
        yield "GET", f"{project}/files/search", {"params": {"q": sent["path"]}}
        yield "GET", f"{project}/symbols", {"params": {"q": sent["path"]}}
        yield "POST", f"{project}/git/stage", {"json": {"paths": [name]}}
        yield "POST", f"{project}/git/unstage", {"json": {"path": name, "hunks": ["0"]}}
        yield "POST", f"{project}/git/commit", {"json": {"message": "x", "paths": [name]}}
        yield "POST", f"{session}/reverts", {"json": {"path": name}}
        yield "POST", f"{session}/workspace/merge", {"json": {"message": name, "dry_run": True}}
    for path in (
        "%00",
        "%0A",
        "%ED%A0%80",
        "..%2Fx",
        "%2Fetc%2Fpasswd",
        "~bytes:",
        "~bytes:!",
        "%FF",
        "a" * 9000,
    ):
        yield "GET", f"{session}/changes/{path}", {}


@pytest.mark.timeout(600)
async def test_no_request_is_an_error_of_the_daemon(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    root = write_project(tmp_path / "desk")
    git(root, "init", "-q", "-b", "main"), git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    git(root, "add", "-A"), git(root, "commit", "-qm", "first")
    ids = []
    for folder in (root, write_project(tmp_path / "other")):
        answer = await client.post("/api/v1/projects/load", json={"path": str(folder)})
        ids.append(str(answer.json()["id"]))
    elsewhere = (await client.post("/api/v1/sessions", json={"project_id": ids[1]})).json()["id"]
    session = (await new_workplace(client, ids[0])).session_id
    before = git(root, "for-each-ref", "--format=%(refname)", "refs/heads")
    wrong = []
    for method, path, sent in wishes(f"/projects/{ids[0]}", f"/sessions/{session}", elsewhere):
        body = sent.get("json")
        if body is not None:  # as it is: with characters that are no text
            sent = {"content": _json(body), "headers": {"Content-Type": "application/json"}}
        answer = await client.request(method, f"/api/v1{path}", **sent)
        if answer.status_code >= 500:
            wrong.append((method, path[:120], str(body or sent)[:200], answer.text[:300]))
        elif answer.status_code >= 400:
            error = answer.json()["error"]
            fields = error.get("details", {}).get("fields", {"": "x"})
            if len(error["message"]) < 12 or not fields:
                wrong.append((method, path[:120], str(body or sent)[:200], answer.text[:300]))
    assert not wrong, "\n".join(map(str, wrong))
    kept = git(root, "for-each-ref", "--format=%(refname)", "refs/heads")
    assert set(before.split()) <= set(kept.split())


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()
