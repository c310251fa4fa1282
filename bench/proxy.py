"""Compare a gigabyte from a cage through the proxy with the same gigabyte directly to the host, on the
loopback.

The host and the client are separate processes; the proxy runs in this one, as it does in the daemon. The
program allows the proxy to reach the loopback; no setting allows it.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import sys
import time
from contextlib import AsyncExitStack
from ipaddress import ip_address

from app.bridges.network.dialling import Dialler
from app.bridges.network.proxy import CageProxy
from app.cages.address_vetting import Address
from app.cages.network_rules import NetworkRules
from bench.figures import report

SIZE = 1_000_000_000
ROUNDS = 7
PIECE = 256 * 1024
NAME = "host.test"
LEAST_SHARE = 0.6


def swallow() -> None:
    """Be the host: say the port, then of every connection how many bytes came."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        buffer = bytearray(1024 * 1024)
        while True:
            client, _ = listener.accept()
            with client:
                count = 0
                while got := client.recv_into(buffer):
                    count += got
                client.sendall(b"%d\n" % count)


def send(size: int, port: int, tunnel_to: int | None) -> None:
    """Be the client: print the gigabytes a second."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        if tunnel_to is not None:
            connection.sendall(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (NAME.encode(), tunnel_to))
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += connection.recv(1)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(answer.decode())
        piece = memoryview(bytearray(PIECE))
        left, began = size, time.perf_counter()
        while left:
            left -= connection.send(piece[: min(left, PIECE)])
        connection.shutdown(socket.SHUT_WR)
        if int(connection.makefile().readline()) != size:
            raise RuntimeError("bytes were lost")
        print(size / (time.perf_counter() - began) / 1e9)


async def _resolve(_: str) -> list[Address]:
    return [ip_address("127.0.0.1")]


async def _child(*arguments: str) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "bench.proxy", *arguments]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def _rate(size: int, *arguments: str) -> float:
    process = await _child("send", str(size), *arguments)
    output, _ = await process.communicate()
    return float(output)


async def medians(size: int, rounds: int) -> tuple[float, float]:
    """Return gigabytes a second, straight and by the proxy; `size` in bytes."""
    async with AsyncExitStack() as stack:
        host = await _child("swallow")
        stack.push_async_callback(host.wait)
        stack.callback(host.terminate)
        assert host.stdout is not None
        port = (await host.stdout.readline()).decode().strip()
        proxy = CageProxy(
            socket.create_server(("127.0.0.1", 0)),
            NetworkRules.of([NAME]),
            dialler=Dialler(resolve=_resolve, vet=lambda _: None),
        )
        proxy.start()
        stack.push_async_callback(proxy.aclose)
        direct: list[float] = []
        through: list[float] = []
        for _ in range(rounds):  # by turns, so that both meet the machine at the same speed
            direct.append(await _rate(size, port))
            through.append(await _rate(size, str(proxy.port), port))
    return statistics.median(direct), statistics.median(through)


def main() -> None:
    straight, through = asyncio.run(medians(SIZE, ROUNDS))
    print(f"straight: median {straight:.2f} GB/s (n={ROUNDS})")
    print(f"by the proxy: median {through:.2f} GB/s (n={ROUNDS}), {through / straight:.0%} of it")
    report("throughput straight against by the proxy", straight / through, "times", at_most=1 / LEAST_SHARE)


if __name__ == "__main__":
    if sys.argv[1] == "swallow":
        swallow()
    else:
        send(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
