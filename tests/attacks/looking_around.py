"""What a program tries that wants to know where it is: copied beside each hostile server and plugin.

Owns: the looks at files, environments, listeners. Never: anything outside of the standard library.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

PLACES = json.loads(Path(__file__).with_name("places.json").read_text())
OUTSIDE = [f"file://{PLACES[name]}" for name in ("secret", "data", "home", "ungranted", "denied", "link")]


def looked_around() -> str:
    """Try everything that a program in the wrong place could do, and return what came of it."""
    found = [json.dumps(dict(os.environ))]
    files = [PLACES["secret"], PLACES["data"], PLACES["home"], "/proc/1/environ"]
    for path in [*files, f"/proc/{os.getppid()}/environ", f"/proc/{PLACES['daemon']}/environ"]:
        try:
            found.append(Path(path).read_text(errors="replace"))
        except OSError as problem:
            found.append(repr(problem))
    for path in (PLACES["made"], PLACES["hook"], PLACES["project_file"]):
        try:
            with open(path, "a") as file:
                file.write("x")
        except OSError as problem:
            found.append(repr(problem))
    for address in (*map(tuple, PLACES["tcp"]), PLACES["path"], "\0" + PLACES["abstract"]):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        try:
            with socket.socket(family) as client:
                client.settimeout(0.5)
                client.connect(address)
        except OSError as problem:
            found.append(repr(problem))
    return "\n".join(found)
