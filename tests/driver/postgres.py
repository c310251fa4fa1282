"""A real PostgreSQL server for the tests: made, started and thrown away by one fixture.

It listens on a Unix socket only, in a folder of its own. The server refuses to run as root: then
it runs as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psycopg


@dataclass(frozen=True)
class PostgresServer:
    folder: Path
    port: int
    binaries: Path
    account: pwd.struct_passwd | None

    def url(self, database: str) -> str:
        return f"postgresql://kaged@/{database}?host={self.folder}&port={self.port}"

    def empty_database(self) -> str:
        """Return the URL of the one database of the tests, with nothing in it and nobody on it.

        Emptied, not made anew: that would take forty times as long."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = 'postgres' AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return self.url("postgres")

    def run(self, *command: str) -> None:
        who = (
            {}
            if self.account is None
            else {
                "user": self.account.pw_uid,
                "group": self.account.pw_gid,
                "extra_groups": [],
            }
        )
        done = subprocess.run(
            [self.binaries / command[0], *command[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
            **who,  # type: ignore[call-overload]
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")

    def start(self) -> None:
        self.run("pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "100", "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", "data", "-m", mode, "-w", "-t", "100", "stop")


def find_binaries() -> Path | None:
    """Return the folder of the server's programs; Debian keeps them off the PATH."""
    on_path = shutil.which("postgres")
    places = [Path(on_path).parent] if on_path else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    needed = ("postgres", "initdb", "pg_ctl")
    return next((p for p in places if all((p / name).exists() for name in needed)), None)


def make_server(binaries: Path) -> PostgresServer:
    """Make a cluster in a new folder and start it."""
    # Not under pytest's folder: the path of a socket may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="kaged-pg-", dir="/tmp"))
    account = _unprivileged() if os.geteuid() == 0 else None
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = PostgresServer(folder, random.randint(20_000, 60_000), binaries, account)
    try:
        server.run("initdb", "-D", "data", "-U", "kaged", "-A", "trust", "-E", "UTF8", "--no-sync")
        settings = {
            "listen_addresses": "''",
            "unix_socket_directories": f"'{folder}'",
            "port": str(server.port),
            "shared_buffers": "'16MB'",
            "max_connections": "40",
            # Nothing here outlives the test run.
            "fsync": "off",
        }
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        server.start()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return server


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("no unprivileged user to run PostgreSQL as")
