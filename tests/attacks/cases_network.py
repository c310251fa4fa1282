"""Commands that try to reach somebody: listeners of this machine, its services, and the daemon."""

from __future__ import annotations

from tests.attacks.case import Case, refused
from tests.attacks.commands import control, output, python, run, shell
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene, TierName

AREA = "network"
NAMESPACES: tuple[TierName, ...] = ("full", "none")

CONNECT = python(
    """
    import socket, sys
    family, kind, address = socket.AF_INET, socket.SOCK_STREAM, ("<host>", <port>)
    try:
        <change>
        s = socket.socket(family, kind)
        s.settimeout(3)
        s.connect(address)
        s.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
        print("reached", s.recv(300) if kind == socket.SOCK_STREAM else "not reached: nobody answers")
    except Exception as problem:
        print("not reached:", problem)
    """
)
INSIDE = python(
    """
    import socket
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.send(b"inside")
    print(server.accept()[0].recv(10))
    """
)
"""Two processes of one cage may talk over its own loopback."""


def _connect(
    name: str,
    where: str,
    change: str = "pass",
    *,
    agent: str = "runner",
    tiers: tuple[TierName, ...] = NAMESPACES,
) -> Case:
    """A connection to a listener, or to whatever `change` says."""

    def attack(scene: Scene) -> None:
        envelope = run(scene, agent, _filled(scene, CONNECT.replace("<change>", change), where))
        if scene.kind.tier != "none":
            assert "not reached" in output(envelope), envelope

    def allowed(scene: Scene) -> None:
        if scene.kind.tier == "landlock":
            control(scene, agent, "cat a.txt", NEIGHBOUR)
        else:
            control(scene, agent, INSIDE, "inside")

    return Case(AREA, name, attack, allowed, tiers)


def _filled(scene: Scene, code: str, where: str) -> str:
    listeners = scene.listeners
    host, port = {
        "loopback": listeners.tcp,
        "outward": listeners.tcp_outward,
        "udp": listeners.udp,
        "daemon": ("127.0.0.1", int(scene.url.rpartition(":")[2])),
    }[where]
    names = {"host": host, "port": port, "path": listeners.path, "abstract": listeners.abstract}
    for word, value in names.items():
        code = code.replace(f"<{word}>", str(value))
    return code


UNIX = 'family, address = socket.AF_UNIX, "<path>"'
ABSTRACT = 'family, address = socket.AF_UNIX, "\\0<abstract>"'
EVERYWHERE: tuple[TierName, ...] = ("full", "landlock", "none")


def _through_the_proxy(name: str, code: str) -> Case:
    """What an agent with an allow-list asks of its proxy."""
    script = python(
        """
        import os, socket
        from urllib.parse import urlsplit
        proxy = urlsplit(os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"))
        def ask(line, host="x"):
            s = socket.create_connection((proxy.hostname, proxy.port), 5)
            s.settimeout(5)
            s.sendall(line)
            try:
                return s.recv(200)
            except OSError as problem:
                return repr(problem).encode()
        def connect(target):
            return ask(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode("latin-1"))
        print("there is a proxy")
        <code>
        """
    )

    def attack(scene: Scene) -> None:
        envelope = run(scene, "netter", _filled(scene, script.replace("<code>", code), "loopback"))
        if scene.kind.tier == "full":
            said = output(envelope)
            assert "there is a proxy" in said, envelope
            assert " 200" not in said, envelope
            assert "granted" not in said, envelope
        elif scene.kind.tier == "landlock":
            refused(envelope, ("cage_unavailable",))

    def allowed(scene: Scene) -> None:
        if scene.kind.tier == "full":
            control(scene, "netter", script.replace("<code>", "pass"), "there is a proxy")
        else:
            control(scene, "runner", "cat a.txt", NEIGHBOUR)

    return Case(AREA, name, attack, allowed)


CONNECTS = {
    "proxy-to-loopback": "<host>:<port>",
    "proxy-to-loopback-by-name": "localhost:<port>",
    "proxy-to-a-number": "2130706433:<port>",
    "proxy-to-an-octal-number": "0177.0.0.1:<port>",
    "proxy-to-a-mapped-address": "[::ffff:127.0.0.1]:<port>",
    "proxy-to-zero": "0.0.0.0:<port>",
    "proxy-to-another-host": "other.example:443",
    "proxy-to-another-port": "allowed.example:22",
    "proxy-to-the-apex": "wide.example:443",
    "proxy-to-a-lookalike": "allowed.example.evil.example:443",
    "proxy-with-nul": "allowed.example\\0.evil.example:443",
    "proxy-with-a-user": "allowed.example:443@127.0.0.1:<port>",
}

CASES: tuple[Case, ...] = (
    _connect("to-loopback", "loopback", tiers=EVERYWHERE),
    _connect("to-the-machines-address", "outward", tiers=EVERYWHERE),
    _connect("to-the-daemon", "daemon", tiers=EVERYWHERE),
    _connect("by-udp", "udp", "kind = socket.SOCK_DGRAM"),
    _connect("to-a-unix-socket", "loopback", UNIX, tiers=EVERYWHERE),
    _connect("to-an-abstract-socket", "loopback", ABSTRACT, tiers=EVERYWHERE),
    _connect("to-a-unix-socket-with-leave", "loopback", UNIX, agent="talker"),
    _connect("to-an-abstract-socket-with-leave", "loopback", ABSTRACT, agent="talker"),
    _connect("by-ipv6", "loopback", 'family, address = socket.AF_INET6, ("::ffff:<host>", <port>)'),
    _connect("by-a-raw-socket", "loopback", "kind = socket.SOCK_RAW"),
    _connect("by-packets", "loopback", 'family, address = socket.AF_PACKET, ("eth0", 0)'),
    _connect("by-vsock", "loopback", "family, address = 40, (2, <port>)", tiers=EVERYWHERE),
    _connect("around-the-proxy", "loopback", agent="netter"),
    *(_through_the_proxy(name, f'print(connect("{to}"))') for name, to in CONNECTS.items()),
    _through_the_proxy(
        "proxy-smuggles-a-second-request",
        'print(ask(b"CONNECT other.example:443 HTTP/1.1\\r\\nHost: allowed.example:443\\r\\n'
        'Content-Length: 99\\r\\n\\r\\nCONNECT <host>:<port> HTTP/1.1\\r\\n\\r\\n"))',
    ),
    _through_the_proxy(
        "proxy-by-plain-http",
        'print(ask(b"GET http://<host>:<port>/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n"))',
    ),
    _through_the_proxy(
        "proxy-by-socks",
        'print("granted" if ask(b"\\x05\\x01\\x00\\x05\\x01\\x00\\x01\\x7f\\x00\\x00\\x01" '
        '+ (<port>).to_bytes(2, "big"))[2:4] == b"\\x05\\x00" else "refused")',
    ),
    shell(
        AREA,
        "listen-for-others",
        python(
            """
            import socket
            try:
                socket.create_server(("0.0.0.0", 0))
                print("listening in an own network")
            except OSError as problem:
                print("refused", problem)
            """
        ),
    ),
)
