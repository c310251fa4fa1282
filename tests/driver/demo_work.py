"""What the agent of the demo does in tests of several pages, as items of its transcript.

Owns: the words of those conversations. Never: what a page shows of them.
"""

from __future__ import annotations

_OVEN = "{ kind: bad_request, message: the oven is cold, status: 400 }"


def two_changes(says: str, answer: str = "All of it is done.", *calls: str) -> str:
    """Return a conversation in which the agent changes the receipt at two places, and makes more `calls`."""
    more = "".join(f"          - {{ tool_call: {call} }}\n" for call in calls)
    return f"""
  - says: {says}
    steps:
      - answer: [{{ tool_call: {{ name: file.read, arguments: {{ path: bakery/receipt.py }} }} }}]
      - answer:
          - tool_call:
              name: edit.text
              arguments: {{ path: bakery/receipt.py, old_string: WIDTH = 32, new_string: WIDTH = 48 }}
          - tool_call:
              name: edit.text
              arguments:
                {{ path: bakery/receipt.py, old_string: '"dozen discount"', new_string: '"discount"' }}
{more}      - answer: [text: "{answer}"]
"""


def fails(says: str) -> str:
    """Return a conversation in which the provider refuses, because the oven is cold."""
    return f"""
  - says: {says}
    steps:
      - answer: [error: {_OVEN}]
"""
