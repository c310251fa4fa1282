"""Where the programs are that come with this installation.

Owns: `installed`, and the environment that they need. Never: starting them.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
ENVIRONMENT = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8"}
"""No home: a user's own configuration must not change what a search finds."""


def installed(name: str) -> str:
    """Return the path of a program beside this Python; its bare name when it is not there, to be
    looked for on the PATH."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        program = folder / name
        if os.access(program, os.X_OK):
            return str(program)
    return name
