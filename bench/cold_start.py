"""Measure the time from process start to healthy and to ready, and the memory of an idle daemon."""

from __future__ import annotations

import http.client
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.figures import report, spread
from bench.processes import Process, daemon_command, free_port, write_config
from tests.driver.sessions import write_project

RUNS = 7


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _start(folder: Path, root: Path) -> tuple[float, float, float]:
    """Start once; return seconds to healthy, seconds to ready, resident MiB a second later."""
    port = free_port()
    command = daemon_command(folder / "data", folder / "config.toml", "--project", str(root))
    command[command.index("--port") + 1] = str(port)
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        while not _healthy(port):
            time.sleep(0.002)
        healthy = time.perf_counter() - started
        assert process.stdout is not None
        process.stdout.readline()
        ready = time.perf_counter() - started
        time.sleep(1.0)
        memory = Process("", process.pid).memory_mib()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    return healthy, ready, memory


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="kaged-bench-"))
    try:
        root = write_project(folder / "shop")
        write_config(folder / "config.toml", None)
        first = _start(folder, root)
        runs = [_start(folder, root) for _ in range(RUNS)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    healthy, ready, memory = (list(column) for column in zip(*runs, strict=True))
    print(f"first start, which makes the database: healthy {first[0]:.2f} s, ready {first[1]:.2f} s")
    print(f"to healthy: {spread(healthy, 's')}")
    print(f"to ready with a project: {spread(ready, 's')}")
    report("process start to healthy", statistics.median(healthy), "s", at_most=0.8, peers="2.3-7.9")
    report("process start to ready", statistics.median(ready), "s")
    report("idle memory", statistics.median(memory), "MiB", at_most=110, peers="262-340")
