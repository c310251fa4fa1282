"""Loads the text a model reads about a tool from the `.md` file beside the tool's code."""

from __future__ import annotations

from importlib import resources


def load_description(package: str, name: str) -> str:
    """Return the text of `name` in `package` (`app.tools.file`, `read.md`), stripped."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8").strip()
