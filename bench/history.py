"""Measure the cost of the conversation in a turn: the tenth turn compared with the thousandth.

A turn here is the loop's work on the conversation around one model call: the answer and its result are
added, old output is checked for pruning, the request is estimated, its messages are encoded. The two take
turns, so that a change of the machine's speed affects both alike.
"""

from __future__ import annotations

import statistics
import time

from app.harness.compaction.prune import ToolOutputPruner
from app.harness.conversation.estimate import ConversationEstimate
from app.harness.conversation.history import History
from app.harness.dsl.spec import PruneSpec
from app.messages import SystemBlock, TextBlock, ToolCallBlock, ToolResult
from bench.figures import report, spread
from tests.driver.conversations import row

EARLY, LATE = 10, 1_000
PAIRS = 200
GOAL = 1.3


class Conversation:
    """One that grows by turns, and what each turn took."""

    def __init__(self) -> None:
        self.history = History()
        self.estimate = ConversationEstimate()
        self.pruner = ToolOutputPruner(self.history, PruneSpec())
        self.turns = 0
        self.history.add_user(row("operator", "Go on until it is done.", 1))

    def turn(self) -> float:
        """Take one turn; return the microseconds that it took, without the joining of the body."""
        number, history = self.turns, self.history
        self.turns += 1
        call = ToolCallBlock(id=f"c{number}", name="file.read", arguments={"path": f"f{number}.py"})
        result = ToolResult(tool_call_id=call.id, name=call.name, content="def f(x): return x\n" * 40)
        started = time.perf_counter()
        history.add_assistant(f"a{number}", (TextBlock(text="Reading."), call), complete=False)
        history.add_results([f"r{number}"], (result,))
        self.pruner.prune()
        self.estimate.request(history.tokens(), SYSTEM, ())
        messages, cache = history.shown_to(images=True)
        cache.encode("bench", messages, lambda message: message.model_dump_json().encode())
        return (time.perf_counter() - started) * 1e6


SYSTEM = (SystemBlock(name="agent", text="You are an agent."),)


def main() -> None:
    late = Conversation()
    while late.turns < LATE:
        late.turn()
    firsts, thousandths = [], []
    for _ in range(PAIRS):
        early = Conversation()
        while early.turns < EARLY:
            early.turn()
        firsts.append(early.turn())
        thousandths.append(late.turn())
    print(f"turn {EARLY}: {spread(firsts, 'us')}")
    print(f"turn {LATE} and more: {spread(thousandths, 'us')}")
    ratio = statistics.median(thousandths) / statistics.median(firsts)
    report(f"turn {LATE:,} over turn {EARLY}", ratio, "", at_most=GOAL)
