"""What the agent of the demo does in tests of several pages, as items of its transcript.

Owns: the words of those conversations, and the demo in a repository that they change. Never: what a page
shows of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.driver.demo_daemon import Demo
from tests.driver.git_desk import git

_WIDEN = """\
      - answer: [{ tool_call: { name: file.read, arguments: { path: bakery/receipt.py } } }]
      - answer:
          - tool_call:
              name: edit.text
              arguments: { path: bakery/receipt.py, old_string: WIDTH = 32, new_string: WIDTH = 48 }
"""
_OVEN = "{ kind: bad_request, message: the oven is cold, status: 400 }"


def two_changes(says: str, answer: str = "All of it is done.", *calls: str) -> str:
    """Return a conversation in which the agent changes the receipt at two places, and makes more `calls`."""
    more = "".join(f"          - {{ tool_call: {call} }}\n" for call in calls)
    return f"""
  - says: {says}
    steps:
{_WIDEN}          - tool_call:
              name: edit.text
              arguments:
                {{ path: bakery/receipt.py, old_string: '"dozen discount"', new_string: '"discount"' }}
{more}      - answer: [text: "{answer}"]
"""


def one_change(says: str, call: str) -> str:
    """Return a conversation in which the agent changes the receipt at one place, and then makes a `call`."""
    return f"""
  - says: {says}
    steps:
{_WIDEN}      - answer: [{{ tool_call: {call} }}]
      - answer: [text: "It is done."]
"""


def fails(says: str) -> str:
    """Return a conversation in which the provider refuses, because the oven is cold."""
    return f"""
  - says: {says}
    steps:
      - answer: [error: {_OVEN}]
"""


@asynccontextmanager
async def changing_demo(folder: Path, conversation: str) -> AsyncIterator[Demo]:
    """The demo in a repository whose first commit is tagged, with an agent that changes files."""
    demo = Demo(folder)
    demo.add_conversation(conversation)
    demo.make_repository()
    git(demo.root, "tag", "first")
    await demo.start()
    yield demo
    await demo.stop()


async def back_to_first_commit(demo: Demo) -> None:
    """Have the files of the first commit, with no agent at work that changes them after that."""
    await demo.come_to_rest()
    git(demo.root, "reset", "-q", "--hard", "first")
    git(demo.root, "clean", "-qfd")
