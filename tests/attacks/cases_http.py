"""Requests of whoever should not get in, or not that far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.attacks.case import Case, filled
from tests.attacks.scene import Scene, unique

AREA = "http"
REFUSED = (400, 401, 403, 404, 405, 413, 415, 422, 429)


@dataclass(frozen=True)
class Ask:
    """One request, with the token of a kind."""

    method: str
    path: str
    token: str = "operator"
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    content: bytes | None = None

    def send(self, scene: Scene) -> int:
        options: dict[str, Any] = {"headers": filled(scene, self.headers)}
        if self.content is not None:
            options["content"] = self.content
            options["headers"].setdefault("content-type", "application/json")
        elif self.body is not None:
            options["json"] = filled(scene, self.body)
        with scene.client_as(scene.token_of(self.token)) as client:
            return client.request(self.method, filled(scene, self.path), **options).status_code


def http(name: str, attack: Ask, control: Ask, *statuses: int) -> Case:
    def attacking(scene: Scene) -> None:
        assert attack.send(scene) in (statuses or REFUSED)

    def controlling(scene: Scene) -> None:
        status = control.send(scene)
        assert 200 <= status < 300, status

    return Case(AREA, name, attacking, controlling)


PROJECTS = Ask("GET", "/projects")
SESSION = "/sessions/<session_id>"
TOOL = f"{SESSION}/tools/file.read"


def _call(agent: str = "reader", token: str = "agent", session: str = SESSION) -> Ask:
    body = {"params": {"path": "src/a.txt"}, "agent_path": f"primary.subagents.{agent}"}
    return Ask("POST", f"{session}/tools/file.read", token, body=body)


STRANGERS = {
    "no-token": Ask("GET", "/projects", "none"),
    "wrong-token": Ask("GET", "/projects", "wrong"),
    "revoked-token": Ask("GET", "/projects", "revoked"),
    "token-in-the-address": Ask("GET", "/projects?token=<token>", "none"),
    "user-of-a-proxy": Ask("GET", "/projects", "none", {"x-kaged-user-id": "operator"}),
    "basic-sign-in": Ask("GET", "/projects", "none", {"authorization": "Basic b3BlcmF0b3I6eA=="}),
    "cookie-with-a-wrong-token": Ask("GET", "/projects", "none", {"cookie": "kaged_session=kgd_x"}),
    "rebound-host": Ask("GET", "/projects", headers={"host": "evil.example"}),
    "host-with-a-user": Ask("GET", "/projects", headers={"host": "127.0.0.1@evil.example"}),
    "forwarded-host": Ask(
        "GET", "/projects", "none", {"x-forwarded-host": "127.0.0.1", "host": "evil.example"}
    ),
    "foreign-origin": Ask("POST", "/tokens", headers={"origin": "http://evil.example"}, body={"name": "x"}),
    "null-origin": Ask("POST", "/tokens", headers={"origin": "null"}, body={"name": "x"}),
    "cross-site-form": Ask("POST", "/tokens", headers={"sec-fetch-site": "cross-site"}, body={"name": "x"}),
    "other-method-in-a-header": Ask("GET", "/projects/load", headers={"x-http-method-override": "POST"}),
    "trace": Ask("TRACE", "/projects"),
    "deep-body": Ask("POST", "/sessions", content=b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    "many-values": Ask("POST", "/sessions", content=b"[" + b"1," * 300_000 + b"1]"),
    "large-body": Ask("POST", "/sessions", content=b'{"title":"' + b"x" * 11_000_000 + b'"}'),
    "no-json": Ask("POST", "/sessions", content=b"\xff\xfe{}"),
    "unknown-identity-in-the-body": Ask(
        "POST", TOOL, body={"params": {"path": "src/a.txt"}, "actor": "operator", "cage": "disabled"}
    ),
    "cage-in-the-overrides": Ask(
        "POST",
        "/sessions",
        body={"project_id": "<project_id>", "overrides": {"primary": {"cage": {"fs": []}}}},
    ),
    "id-is-a-path": Ask("GET", "/sessions/..%2f..%2f..%2foutside%2fsecret.txt/messages"),
    "static-is-a-path": Ask("GET", "/../../static/..%2f..%2f..%2fdaemon.py"),
    "upload-is-a-path": Ask("GET", "/uploads/..%2f..%2fkept%2fsecret.txt/content"),
    "command-is-a-path": Ask("GET", f"{SESSION}/commands/..%2f..%2fkept%2fsecret.txt"),
}

READERS = {
    "reader-loads-a-project": Ask("POST", "/projects/load", "read-only", body={"path": "<other>"}),
    "reader-mints-a-token": Ask("POST", "/tokens", "read-only", body={"name": "x"}),
    "reader-lists-tokens": Ask("GET", "/tokens", "read-only"),
    "reader-posts-a-message": Ask("POST", f"{SESSION}/messages", "read-only", body={"content": "x"}),
    "reader-calls-a-tool": _call(token="read-only"),
    "reader-deletes-a-session": Ask("DELETE", SESSION, "read-only"),
    "reader-gets-a-launch-link": Ask("POST", "/tokens/launch-link", "read-only"),
    "reader-makes-a-rule": Ask(
        "POST",
        "/projects/<project_id>/permissions",
        "read-only",
        body={"permission": "*", "pattern": "*", "action": "allow"},
    ),
}

AGENTS = {
    "agent-calls-as-another": _call("runner"),
    "agent-calls-as-the-root": Ask(
        "POST", TOOL, "agent", body={"params": {"path": "src/a.txt"}, "agent_path": "primary"}
    ),
    "agent-calls-in-another-session": _call(session="/sessions/<other_session_id>"),
    "agent-reads-another-session": Ask("GET", "/sessions/<other_session_id>", "agent"),
    "agent-lists-sessions": Ask("GET", "/sessions", "agent"),
    "agent-reads-the-audit": Ask("GET", "/audit", "agent"),
    "agent-reads-the-log": Ask("GET", "/logs", "agent"),
    "agent-mints-a-token": Ask("POST", "/tokens", "agent", body={"name": "x"}),
    "agent-loads-a-project": Ask("POST", "/projects/load", "agent", body={"path": "<outside>"}),
    "agent-reloads-its-project": Ask("POST", "/projects/<project_id>/reload", "agent"),
    "agent-posts-a-message": Ask("POST", f"{SESSION}/messages", "agent", body={"content": "x"}),
    "agent-answers-for-the-operator": Ask(
        "POST",
        f"{SESSION}/interactions/itx_00000000000000000000000000/answer",
        "agent",
        body={"answer": "once"},
    ),
    "agent-allows-itself": Ask(
        "POST",
        f"{SESSION}/permissions",
        "agent",
        body={"permission": "*", "pattern": "*", "action": "allow"},
    ),
    "agent-changes-a-prompt": Ask(
        "PUT",
        f"{SESSION}/checkpoints/ckp_00000000000000000000000000/prompts/primary",
        "agent",
        body={"content": "obey"},
    ),
    "agent-validates-a-project-file": Ask("POST", "/dsl/validate", "agent", body={"yaml": "version: 1"}),
}

PLUGINS = {
    "plugin-calls-a-tool": _call(token="plugin"),
    "plugin-reads-another-project": Ask("GET", "/sessions/<other_session_id>", "plugin"),
    "plugin-mints-a-token": Ask("POST", "/tokens", "plugin", body={"name": "x"}),
    "plugin-enables-itself": Ask("POST", "/projects/<project_id>/plugins/notes/enable", "plugin"),
    "plugin-archives-a-session": Ask("POST", f"{SESSION}/archive", "plugin"),
}


def _raw(name: str, head: str, body: bytes = b"") -> Case:
    """Bytes that are no proper request: refused, and nothing behind them is taken for a second one."""

    def request(scene: Scene, lines: str, content: bytes) -> bytes:
        host = scene.url.removeprefix("http://")
        authorization = f"Authorization: Bearer {scene.token}"
        text = lines.replace("<host>", host).replace("<authorization>", authorization)
        return scene.raw(text.replace("\n", "\r\n").encode("latin-1") + b"\r\n" + content)

    def attack(scene: Scene) -> None:
        before = scene.request("GET", "/tokens").json()["total"]
        answer = request(scene, head, body)
        assert b" 200 " not in answer.partition(b"\r\n")[0]
        assert b"Injected" not in answer
        assert scene.request("GET", "/tokens").json()["total"] == before

    def control(scene: Scene) -> None:
        good = "GET /api/v1/projects HTTP/1.1\nHost: <host>\n<authorization>\nConnection: close\n"
        assert request(scene, good, b"").startswith(b"HTTP/1.1 200 ")

    return Case(AREA, name, attack, control)


SMUGGLED = (
    b"0\r\n\r\nPOST /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b'Content-Length: 12\r\n\r\n{"name":"x"}'
)

RAW = (
    _raw(
        "two-lengths",
        "POST /api/v1/sessions HTTP/1.1\nHost: <host>\n<authorization>\nContent-Length: 4\n"
        "Content-Length: 90\n",
        SMUGGLED,
    ),
    _raw(
        "length-and-pieces",
        "POST /api/v1/sessions HTTP/1.1\nHost: <host>\nContent-Length: 4\nTransfer-Encoding: chunked\n",
        SMUGGLED,
    ),
    _raw(
        "length-and-pieces-of-somebody-known",
        "GET /api/v1/projects HTTP/1.1\nHost: <host>\n<authorization>\nContent-Length: 4\n"
        "Transfer-Encoding: chunked\n",
        SMUGGLED,
    ),
    _raw("two-hosts", "GET /api/v1/projects HTTP/1.1\nHost: <host>\nHost: evil.example\n<authorization>\n"),
    _raw("no-host", "GET /api/v1/projects HTTP/1.1\n<authorization>\n"),
    _raw(
        "absolute-address",
        "GET http://evil.example/api/v1/projects HTTP/1.1\nHost: evil.example\n<authorization>\n",
    ),
    _raw("path-above-static", "GET /static/../../../../etc/passwd HTTP/1.1\nHost: <host>\n<authorization>\n"),
    _raw("endless-header", "GET /api/v1/projects HTTP/1.1\nHost: <host>\nX: " + "x" * 200_000 + "\n"),
    _raw("folded-header", "GET /api/v1/projects HTTP/1.1\nHost: evil.example\n <host>\n<authorization>\n"),
    _raw("method-with-control", "G\x00T /api/v1/projects HTTP/1.1\nHost: <host>\n<authorization>\n"),
)


def _request_id() -> Case:
    """A request id that would break out of its header or of a line of the log is not taken."""

    def attack(scene: Scene) -> None:
        for value in ("a\tb", "x" * 5_000, "${jndi:ldap://127.0.0.1/x}", "<script>"):
            answer = scene.request("GET", "/projects", headers={"x-request-id": value})
            assert answer.headers["x-request-id"] != value

    def control(scene: Scene) -> None:
        name = unique("request")
        answer = scene.request("GET", "/projects", headers={"x-request-id": name})
        assert answer.headers["x-request-id"] == name

    return Case(AREA, "request-id-breaks-out", attack, control)


def _launch_code() -> Case:
    def sign_in(scene: Scene, link: str) -> int:
        with scene.client_as(None) as client:
            return client.get(link, follow_redirects=False).status_code

    def link_of(scene: Scene) -> str:
        return str(scene.request("POST", "/tokens/launch-link").json()["url"])

    def attack(scene: Scene) -> None:
        link = link_of(scene)
        assert sign_in(scene, link) == 303
        assert sign_in(scene, link) == 401
        assert sign_in(scene, f"{scene.url}/launch?token={scene.token}") == 401
        scene.said.clear()  # the test's own token in the address is not what the daemon gave away

    def control(scene: Scene) -> None:
        assert sign_in(scene, link_of(scene)) == 303

    return Case(AREA, "launch-code-twice", attack, control)


CASES: tuple[Case, ...] = (
    *(http(name, attack, PROJECTS) for name, attack in STRANGERS.items()),
    *(http(name, attack, Ask("GET", SESSION, "read-only"), 403) for name, attack in READERS.items()),
    *(http(name, attack, _call(), 403, 404) for name, attack in AGENTS.items()),
    *(http(name, attack, Ask("GET", SESSION, "plugin"), 403, 404) for name, attack in PLUGINS.items()),
    *RAW,
    _request_id(),
    _launch_code(),
)
