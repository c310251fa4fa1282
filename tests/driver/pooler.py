"""A real PgBouncer before the PostgreSQL server of the tests, which shares connections between transactions.

Owns: its configuration, and its end. It refuses to run as root, as the server does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.postgres import PostgresServer


def find_pgbouncer() -> str | None:
    """Return where PgBouncer is, which Debian keeps from the `PATH` of ordinary users."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True)
class Pooler:
    url: str

    @classmethod
    @contextmanager
    def before(cls, server: PostgresServer) -> Iterator[Pooler]:
        program = find_pgbouncer()
        assert program is not None
        folder = Path(tempfile.mkdtemp(prefix="kaged-pool-", dir="/tmp"))
        settings = {
            "listen_addr": "",
            "unix_socket_dir": folder,
            "listen_port": server.port,
            "auth_type": "any",
            "pool_mode": "transaction",
            "ignore_startup_parameters": "extra_float_digits,options",
        }
        lines = [
            "[databases]",
            f"postgres = host={server.folder} port={server.port} user=kaged",
            "[pgbouncer]",
        ]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        config = folder / "pgbouncer.ini"
        config.write_text("\n".join(lines) + "\n")
        who = {}
        if server.account is not None:
            os.chown(folder, server.account.pw_uid, server.account.pw_gid)
            who = {"user": server.account.pw_uid, "group": server.account.pw_gid, "extra_groups": []}
        process = subprocess.Popen(
            [program, config],
            cwd=folder,
            stderr=subprocess.DEVNULL,
            **who,  # type: ignore[call-overload]
        )
        url = f"postgresql://kaged@/postgres?host={folder}&port={server.port}"
        try:
            _until_it_answers(url, process)
            yield cls(url)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _until_it_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + WAIT_SECONDS
    while True:
        assert process.poll() is None, "PgBouncer has ended"
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert time.monotonic() < ends
            time.sleep(0.05)
        else:
            return
