"""A program that traces with Langfuse's own SDK, as its documentation says.

Run as a program: the first argument is the server, stdin has `trace` (the arguments of
`propagate_attributes`) and `observations` (those of `start_as_current_observation`), each in the one before.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from langfuse import Langfuse, propagate_attributes


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    client = Langfuse(public_key="pk-lf-public", secret_key="sk-lf-very-secret", base_url=sys.argv[1])
    with ExitStack() as open_ones:
        open_ones.enter_context(propagate_attributes(**asked["trace"]))
        for observation in asked["observations"]:
            if moment := observation.get("completion_start_time"):
                observation["completion_start_time"] = datetime.fromisoformat(moment)
            open_ones.enter_context(client.start_as_current_observation(**observation))
    client.shutdown()


if __name__ == "__main__":
    main()
