"""Variables of a command line whose values are known: given with the call, or set in the line itself.

Owns: the text of a command with such values in the place of their names. Never: what a shell would really
make of it; where a variable is set does not count, so this shows what a command may mean besides its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.observability import names_secret

MAX_VALUE = 4_096
MAX_PLACES = 100
_USE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SET = re.compile(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=(?:\"([^\"$`\\]*)\"|'([^']*)'|([^\s;&|()<>$`'\"\\]+))")


def filled_in(command: str, environment: Iterable[tuple[str, str]]) -> str:
    """Return the command with the variables of `environment` (name, value), and those that it sets to plain
    values, written out. Values of variables that are called secrets are not."""
    known = {name: text for name, *texts in _SET.findall(command) if (text := "".join(texts))}
    known |= {name: value[:MAX_VALUE] for name, value in environment if not names_secret(name)}

    def value(use: re.Match[str]) -> str:
        return known.get(use[1] or use[2], use[0])[:MAX_VALUE]

    return _USE.sub(value, command, count=MAX_PLACES) if known else command
