"""Files that come from elsewhere: exported sessions, uploads, and documents that agents read."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from app.harness.transfer.transfer_seal import SEAL, Seal
from tests.attacks.case import Case, filled, worked
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene, unique

AREA = "archives"
Line = dict[str, Any]


def _exported(scene: Scene) -> list[Line]:
    """Export a session with a tool call, and delete it, so that it can come back."""
    session = scene.new_session(scene.project_id, unique("exported"))
    path = f"/sessions/{session}"
    call = {"params": {"path": "src/a.txt"}, "agent_path": "primary.subagents.reader"}
    scene.request("POST", f"{path}/tools/file.read", json=call)
    lines = [json.loads(line) for line in scene.request("GET", f"{path}/export").text.splitlines()]
    assert scene.request("DELETE", path).status_code == 204
    return lines


def _import(scene: Scene, content: bytes, **headers: str) -> int:
    answer = scene.request("POST", "/sessions/import", content=content, headers=headers)
    if answer.status_code == 201:
        session = f"/sessions/{answer.json()['id']}"
        for path in ("", "/messages", "/prompts", "/export", "/commands", "/checkpoints"):
            scene.request("GET", session + path)
        scene.request("DELETE", session)
    return answer.status_code


def _packed(lines: list[Line]) -> bytes:
    """Return the lines as a file, sealed anew: whoever changes an export can do that."""
    raw = [json.dumps(line).encode() for line in lines if line["kind"] != SEAL]
    seal = Seal()
    for one in raw:
        seal.add(one)
    return b"".join(one + b"\n" for one in [*raw, json.dumps({"kind": SEAL, "data": seal.data()}).encode()])


def _comes_back(scene: Scene) -> None:
    assert _import(scene, _packed(_exported(scene))) == 201


def _importing(name: str, change: Callable[[Scene, list[Line]], bytes], **headers: str) -> Case:
    def attack(scene: Scene) -> None:
        status = _import(scene, change(scene, _exported(scene)), **headers)
        assert status in (400, 403, 404, 409, 413, 415, 422), status

    return Case(AREA, name, attack, _comes_back)


def _with(kind: str, /, **values: Any) -> Callable[[Scene, list[Line]], bytes]:
    """Change columns of the first line of a kind."""

    def change(scene: Scene, lines: list[Line]) -> bytes:
        found = next(line["data"] for line in lines if line["kind"] == kind)
        found = found["session"] if kind == "session" and "format" not in values else found
        assert values.keys() <= found.keys()
        found.update(filled(scene, values))
        return _packed(lines)

    return change


def _added(kind: str, **data: Any) -> Callable[[Scene, list[Line]], bytes]:
    return lambda scene, lines: _packed([*lines, {"kind": kind, "data": filled(scene, data)}])


UPLOAD_NAMES = {
    "upload-above": "../../outside/made.txt",
    "upload-absolute": "<outside>/made.txt",
    "upload-backslashes": "..\\..\\outside\\made.txt",
    "upload-in-the-data-folder": "../kept/secret.txt",
    "upload-breaks-a-header": 'x"\r\nSet-Cookie: kaged_session=1\r\n\r\n<script>.html',
    "upload-dots": "..",
}


def _upload(scene: Scene, name: str, content: bytes) -> Any:
    path = f"/uploads?project_id={scene.project_id}"
    return scene.request(
        "POST",
        path,
        params={"project_id": scene.project_id, "name": name},
        content=content,
        headers={"content-type": "text/html"},
    )


def _uploading(name: str, file_name: str) -> Case:
    """A file's name decides over nothing but what it is called."""

    def attack(scene: Scene) -> None:
        answer = _upload(scene, filled(scene, file_name), b"<script>alert(1)</script>")
        if answer.status_code != 201:
            assert answer.status_code == 400, answer.text
            return
        shown = answer.json()["name"]
        assert "/" not in shown
        assert "\\" not in shown
        assert shown not in ("", ".", "..")
        fetched = scene.request("GET", f"/uploads/{answer.json()['id']}/content")
        assert fetched.headers["content-disposition"].startswith("attachment")
        assert fetched.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in fetched.headers

    def control(scene: Scene) -> None:
        answer = _upload(scene, "good.txt", b"content")
        assert (answer.status_code, answer.json()["name"]) == (201, "good.txt")
        assert scene.request("GET", f"/uploads/{answer.json()['id']}/content").content == b"content"

    return Case(AREA, name, attack, control)


def _reading(name: str, file_name: str, content: bytes) -> Case:
    """A document that would cost more than it says: an answer comes, and a small one."""

    def attack(scene: Scene) -> None:
        file = scene.place.project / "src" / file_name
        file.write_bytes(content)
        for agent in ("reader", "primary"):
            envelope = scene.call(agent, "file.read", {"path": f"src/{file_name}"})
            assert len(json.dumps(envelope)) < 6_000_000
        file.unlink()

    def control(scene: Scene) -> None:
        worked(scene.call("reader", "file.read", {"path": "src/a.txt"}), NEIGHBOUR)

    return Case(AREA, name, attack, control)


def _png(width: int, height: int, data: bytes) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def _pdf(*objects: bytes) -> bytes:
    body = b"%PDF-1.7\n"
    for number, one in enumerate(objects, 1):
        body += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    return body + b"trailer << /Root 1 0 R >>\n%%EOF\n"


ZEROS = zlib.compress(bytes(60_000_000))
STREAM = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(ZEROS), ZEROS)

DOCUMENTS = {
    "picture-of-giant-size": ("giant.png", _png(2**31 - 1, 2**31 - 1, b"")),
    "picture-that-unpacks-large": ("bomb.png", _png(8_000, 8_000, ZEROS)),
    "pdf-of-itself": (
        "circle.pdf",
        _pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99999999 >>"),
    ),
    "pdf-that-unpacks-large": (
        "bomb.pdf",
        _pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /MediaBox [0 0 9 9] >>",
            STREAM,
        ),
    ),
    "pdf-that-names-a-file": (
        "outside.pdf",
        _pdf(
            b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /Launch /F (/etc/passwd) >> >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /Contents << /F (/etc/passwd) /Length 0 >> /MediaBox [0 0 9 9] >>",
        ),
    ),
    "notebook-without-a-floor": ("deep.ipynb", b'{"cells":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "notebook-with-a-giant-output": (
        "giant.ipynb",
        json.dumps(
            {
                "nbformat": 4,
                "metadata": {},
                "cells": [
                    {
                        "cell_type": "code",
                        "source": ["1"],
                        "outputs": [
                            {"output_type": "stream", "text": ["x" * 3_000_000]},
                            {
                                "output_type": "display_data",
                                "data": {"image/png": base64.b64encode(bytes(3_000_000)).decode()},
                            },
                        ],
                    }
                ],
            }
        ).encode(),
    ),
    "one-endless-line": ("line.txt", b"x" * 3_000_000),
}

CASES: tuple[Case, ...] = (
    _importing("session-with-a-path-as-id", _with("session", id="../../outside")),
    _importing("session-of-another-format", _with("session", format=999)),
    _importing("session-of-another-shape", _with("session", state="running", kind=[])),
    _importing("session-that-runs", _with("session", state="running")),
    _importing("call-with-a-path-as-id", _with("tool_call", id="../../kept/secret.txt")),
    _importing("call-that-runs", _with("tool_call", state="running")),
    _importing("call-of-another-session", _with("tool_call", session_id="<other_session_id>")),
    _importing("row-of-another-table", _added("access_token", id="tok_x", scope="operator", digest="x")),
    _importing("rule-that-allows-everything", _added("permission", permission="*", action="allow")),
    _importing("packed", lambda _, lines: gzip.compress(_packed(lines)), **{"content-encoding": "gzip"}),
    _importing("packed-bomb", lambda *_: gzip.compress(bytes(50_000_000))),
    _importing("deep-line", lambda _, lines: _packed(lines) + b'{"kind":' + b"[" * 50_000 + b"\n"),
    _importing("binary", lambda *_: bytes(range(256)) * 100),
    *(_uploading(name, file_name) for name, file_name in UPLOAD_NAMES.items()),
    *(_reading(name, *document) for name, document in DOCUMENTS.items()),
)
