"""`docs/configuration.md` lists every setting that an operator can make, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from app.config.section import Section
from app.config.settings import COMPUTED_KEYS, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
TABLES_OF_NAMES = ("models", "providers", "prices", "mcp")
"""Sections whose keys the operator chooses."""


def test_the_page_of_the_configuration_has_every_setting_and_no_other() -> None:
    known = set()
    for section, field in Settings.model_fields.items():
        if section not in COMPUTED_KEYS and section not in TABLES_OF_NAMES:
            assert isinstance(field.annotation, type)
            assert issubclass(field.annotation, Section)
            known |= {f"{section}.{key}" for key in field.annotation.model_fields}
    first_cells = " ".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))
    described = set(re.findall(r"`([a-z_]+\.[a-z_]+)", first_cells)) - {"mcp."}
    assert described == known
    assert [name for name in TABLES_OF_NAMES if f"[{name}" not in PAGE] == []
