"""The type of a path on the command line.

Owns: that an empty path is refused. Never: whether there is a file, unless the option says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class GivenPath(click.Path):
    """A path of the caller's. An empty one, as an unset variable leaves it, would be the current folder."""

    def __init__(self, **checks: bool) -> None:
        super().__init__(path_type=Path, **checks)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty.", param, ctx)
        return super().convert(value, param, ctx)
