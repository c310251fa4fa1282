"""Sockets of whoever should not listen, and frames that nobody should send."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from tests.attacks.case import Case, filled
from tests.attacks.scene import Scene

AREA = "websocket"
OWN = "/sessions/<session_id>/ws"


def _end_of(scene: Scene, path: str, *frames: str | bytes, **options: Any) -> int:
    """Open a socket, send frames and a ping, and return how it ended: an HTTP status, or a close code; 0
    when the daemon keeps it open and answers."""
    try:
        with scene.websocket(filled(scene, path), **options) as socket:
            with suppress(ConnectionClosed):
                for frame in (*frames, '{"type":"ping","id":"last"}'):
                    socket.send(frame)
            try:
                while '"last"' not in (said := str(socket.recv(60))):
                    scene.said.append(said)
                return 0
            except ConnectionClosed:
                return socket.close_code or 1006
    except InvalidStatus as refused:
        return refused.response.status_code
    except WebSocketException:
        return 1006


def _answers_a_ping(scene: Scene) -> None:
    with scene.websocket(filled(scene, OWN)) as socket:
        socket.send('{"type":"ping","id":"control"}')
        while '"control"' not in str(socket.recv(60)):
            pass


def _refused(name: str, path: str = OWN, *frames: str | bytes, **options: Any) -> Case:
    def attack(scene: Scene) -> None:
        given = filled(scene, options)
        kind = given.pop("kind", None)
        if kind is not None:
            given["token"] = scene.token_of(kind)
        ended = _end_of(scene, path, *frames, **given)
        assert ended in (400, 401, 403, 404, 4401, 4403, 4404, 1002, 1003, 1006, 1007, 1008, 1009), ended

    return Case(AREA, name, attack, _answers_a_ping)


def _without_effect(name: str, *frames: str | bytes) -> Case:
    """Frames that are answered by an error; the socket may stay."""

    def attack(scene: Scene) -> None:
        state = scene.request("GET", filled(scene, "/sessions/<session_id>")).json()["state"]
        _end_of(scene, OWN, *frames)
        assert scene.request("GET", filled(scene, "/sessions/<session_id>")).json()["state"] == state

    return Case(AREA, name, attack, _answers_a_ping)


def _other_sessions_are_silent() -> Case:
    """A socket of one session hears nothing of another's."""

    def attack(scene: Scene) -> None:
        title = scene.place.canary("other-title")
        path = filled(scene, "/sessions/<other_session_id>")
        with scene.websocket(filled(scene, OWN)) as socket:
            scene.request("PATCH", path, json={"title": "quiet"})
            scene.request("PATCH", path, json={"title": title})
            scene.said.clear()
            socket.send('{"type":"ping","id":"after"}')
            while '"after"' not in (frame := str(socket.recv(60))):
                scene.said.append(frame)

    return Case(AREA, "hears-another-session", attack, _answers_a_ping)


def _revoked() -> Case:
    """The socket of a token that is revoked is closed at once."""

    def attack(scene: Scene) -> None:
        made = scene.request("POST", "/tokens", json={"name": "soon revoked", "scope": "read-only"}).json()
        with scene.websocket(filled(scene, OWN), made["token"]) as socket:
            socket.recv(60)
            scene.request("DELETE", f"/tokens/{made['id']}")
            with suppress(ConnectionClosed):
                while True:
                    socket.recv(60)
            assert socket.close_code == 4401

    return Case(AREA, "stays-after-revocation", attack, _answers_a_ping)


def _reader_cancels() -> Case:
    def attack(scene: Scene) -> None:
        with scene.websocket(filled(scene, OWN), scene.token_of("read-only")) as socket:
            for kind in ("cancel", "pause"):
                socket.send(json.dumps({"type": kind}))
                while '"error"' not in str(socket.recv(60)):
                    pass

    return Case(AREA, "reader-cancels", attack, _answers_a_ping)


CASES: tuple[Case, ...] = (
    _refused("no-token", kind="none"),
    _refused("wrong-token", kind="wrong"),
    _refused("revoked-token", kind="revoked"),
    _refused("token-in-the-address", f"{OWN}?token=<token>", kind="none"),
    _refused("wrong-subprotocol-token", kind="none", subprotocols=["kaged.bearer.kgd_wrong"]),
    _refused("foreign-origin", additional_headers={"origin": "http://evil.example"}),
    _refused("rebound-host", additional_headers={"host": "evil.example"}),
    _refused("no-such-session", "/sessions/ses_00000000000000000000000000/ws"),
    _refused("session-is-a-path", "/sessions/..%2f..%2foutside/ws"),
    _refused("agent-hears-another-session", "/sessions/<other_session_id>/ws", kind="agent"),
    _refused("agent-hears-everything", "/ws", kind="agent"),
    _refused("plugin-hears-another-project", "/sessions/<other_session_id>/ws", kind="plugin"),
    _refused("position-of-an-overflow", f"{OWN}?after_seq=99999999999999999999999"),
    _refused("giant-frame", OWN, "x" * 2_000_000),
    _refused("binary-frames", OWN, *([b"\x00\xff" * 100] * 40)),
    _refused("malformed-frames", OWN, *(["{"] * 40)),
    _without_effect("deep-frame", '{"type":' + "[" * 30_000 + "]" * 30_000 + "}"),
    _without_effect("frame-of-an-unknown-kind", '{"type":"load","path":"/etc"}'),
    _without_effect("frame-with-an-identity", '{"type":"ping","actor":"operator","scope":"operator"}'),
    _without_effect(
        "answer-to-a-stranger",
        '{"type":"answer","interaction_id":"itx_00000000000000000000000000","answer":"always"}',
    ),
    _other_sessions_are_silent(),
    _reader_cancels(),
    _revoked(),
)
