"""The command line: a thin client of the daemon, and the way to start it.

Owns: arguments, terminal output, exit codes (0 done, 1 failed, 2 wrong use). Never: what the daemon
does. Each command is imported when it is called, so that `kaged --help` stays quick.
"""

from app.cli.root import main

__all__ = ["main"]
