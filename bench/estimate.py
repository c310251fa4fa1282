"""Measure the estimate of a request: each token is counted once.

The text is this project's own source, in messages of the size of tool results.
"""

from __future__ import annotations

import time
from pathlib import Path

from app.harness.conversation.entry import Entry
from app.harness.conversation.estimate import ConversationEstimate, estimate_text
from app.harness.conversation.history import History
from app.messages import SystemBlock, TextBlock, ToolSpec, UserMessage
from bench.figures import report

MESSAGES = 2_000
SIZE = 4_000
GOAL_US = 1.0
ASKED = 10_000


def _texts() -> list[str]:
    source = "".join(path.read_text() for path in sorted(Path("app").rglob("*.py")))
    pieces = [source[start : start + SIZE] for start in range(0, len(source) - SIZE, SIZE)]
    return [pieces[number % len(pieces)] for number in range(MESSAGES)]


def main() -> None:
    texts, history, estimate = _texts(), History(), ConversationEstimate()
    messages = [UserMessage(blocks=(TextBlock(text=text),)) for text in texts]
    system = (SystemBlock(name="agent", text="You are an agent. " * 100),)
    tools = tuple(
        ToolSpec(name=f"tool{n}", wire_name=f"tool{n}", description="Does it. " * 20, parameters={"n": n})
        for n in range(30)
    )
    started = time.perf_counter()
    for number, message in enumerate(messages):
        history._append(Entry(message, (str(number),), "operator"))
        estimate.request(history.tokens(), system, tools)
    grown = time.perf_counter() - started
    tokens = history.tokens()
    started = time.perf_counter()
    counted = sum(estimate_text(text) for text in texts)
    plain = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(ASKED):
        estimate.request(history.tokens(), system, tools)
    again = (time.perf_counter() - started) / ASKED
    print(f"{tokens} tokens in {MESSAGES} messages; counting alone {plain / counted * 1e6:.3f} us a token")
    report("estimate while it grows, for each token", grown / tokens * 1e6, "us", at_most=GOAL_US)
    report("estimate again, for the whole conversation", again * 1e6, "us")
    report("estimate again, for each token", again / tokens * 1e6, "us", at_most=GOAL_US)
