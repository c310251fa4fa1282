"""`docs/configuration.md` lists every setting that an operator can make, and no other; examples are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.config import load_settings
from app.config.section import Section
from app.config.settings import COMPUTED_KEYS, Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "configuration.md").read_text("utf-8")
EXAMPLES = {
    f"{page.name}-{number}": text
    for page in sorted(DOCS.glob("*.md"))
    for number, text in enumerate(
        re.findall(r"^```toml\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    )
}
"""The settings that pages show, by page and number."""
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


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_settings_is_loaded(name: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(EXAMPLES[name])
    environ = {"HOME": str(tmp_path)} | dict.fromkeys(re.findall(r"\$\{(\w+)\}", EXAMPLES[name]), "a-value")
    assert load_settings(config_file=file, environ=environ)
