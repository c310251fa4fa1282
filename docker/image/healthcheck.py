"""The container's health: 0 when `/healthz` answers with 200, else 1 and the reason.

The address is the one that the daemon has written into the lock of its data folder: its port and its path may
be set in the configuration. Only small modules are imported, because this is started every half minute.
"""

import json
import os
import socket
import sys

SECONDS = 4
LOCK = os.path.join(os.environ.get("KAGED_DAEMON__DATA_DIR", "/data/daemon"), "daemon.lock")


def problem() -> str | None:
    try:
        with open(LOCK, encoding="utf-8") as file:
            url = json.load(file)["url"]
    except (OSError, ValueError, KeyError) as absent:
        return f"no daemon is known in {LOCK}: {absent}"
    if not url:
        return "the daemon is starting"
    address, _, path = url.partition("://")[2].partition("/")
    host, _, port = address.rpartition(":")
    path = f"/{path}".rstrip("/") + "/healthz"
    request = f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
            connection.sendall(request.encode())
            status = connection.makefile("rb").readline(200).split()
    except (OSError, ValueError) as failed:
        return f"{url} does not answer: {failed}"
    return None if status[1:2] == [b"200"] else f"{path} answers {status[1:2]}"


found = problem()
if found is not None:
    sys.exit(found)
