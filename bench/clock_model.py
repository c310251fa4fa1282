"""A model whose every word is the time at which it was written; runs as a separate process.

`python -m bench.clock_model DELTAS GAP_SECONDS` prints its port and answers each request with that many
text deltas of the chat-completions protocol. The text is `time.monotonic_ns()`, which all processes of a
machine share, so that a reader can compute the latency of each word.
"""

from __future__ import annotations

import asyncio
import sys
import time

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":300}}\n\ndata: [DONE]\n\n'
)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _answer(writer: asyncio.StreamWriter, deltas: int, gap: float) -> None:
    writer.write(HEAD)
    for number in range(deltas):
        if gap:
            await asyncio.sleep(gap)
        elif number % 20 == 0:
            await writer.drain()
        said = b'data: {"choices":[{"index":0,"delta":{"content":"%d "}}]}\n\n' % time.monotonic_ns()
        writer.write(_chunk(said))
    writer.write(_chunk(LAST) + b"0\r\n\r\n")
    await writer.drain()


async def _serve(deltas: int, gap: float) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                await _answer(writer, deltas, gap)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
