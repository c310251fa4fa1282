"""The tables of docs/providers.md are true: versions, types, what is sent and what is read."""

from __future__ import annotations

import importlib
import re
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.harness.providers.vendors import test_requests
from tests.harness.providers.vendors.examples import members, tag
from tests.harness.providers.vendors.talks import held

pytestmark = pytest.mark.requirement("providers.vendor_types")

ROOT = Path(__file__).parents[4]
TALKS = {
    "openai": test_requests.OPENAI,
    "openai-responses": test_requests.RESPONSES,
    "anthropic": test_requests.ANTHROPIC,
    "google": test_requests.GOOGLE,
}


def table(*header: str) -> list[list[str]]:
    """Return the rows of the table of the page that begins with these columns."""
    lines = (ROOT / "docs/providers.md").read_text().splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith(f"| {' | '.join(header)} |"))
    rows = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def known() -> dict[tuple[str, str], list[str]]:
    """Return what the installed packages know of each part of a stream."""
    from anthropic.types import ContentBlock, RawContentBlockDelta, RawMessageStreamEvent
    from google.genai.types import Part
    from openai.types.chat.chat_completion_chunk import ChoiceDelta
    from openai.types.responses import ResponseOutputItem, ResponseStreamEvent

    def tags(union: Any) -> list[str]:
        return [tag(one) for one in members(union)]

    return {
        ("openai", "fields of a delta"): list(ChoiceDelta.model_fields),
        ("openai-responses", "events"): tags(ResponseStreamEvent),
        ("openai-responses", "output items"): tags(ResponseOutputItem),
        ("anthropic", "events"): tags(RawMessageStreamEvent),
        ("anthropic", "content blocks"): tags(ContentBlock),
        ("anthropic", "deltas"): tags(RawContentBlockDelta),
        ("google", "fields of a part"): [field.alias or name for name, field in Part.model_fields.items()],
    }


def test_the_versions_are_those_that_are_pinned_and_the_types_exist() -> None:
    rows = table("Driver", "Package")
    assert [quoted(row[0])[0] for row in rows] == list(TALKS)
    pinned = (ROOT / "requirements.lock").read_text()
    for _, package, *types in rows:
        name, number = quoted(package)[0], package.rpartition(" ")[2]
        assert number == version(name)
        assert f"\n{name}=={number} " in f"\n{pinned}"
        for kind in types:
            module, _, one = quoted(kind)[0].rpartition(".")
            assert hasattr(importlib.import_module(module), one)


async def test_what_is_said_to_be_sent_is_sent() -> None:
    rows = table("Part of a conversation")
    for column, talks in enumerate(TALKS.values(), 1):
        requests = [request for talk in talks for request in await held(talk)]
        sent = b"".join(request.body for request in requests).decode()
        for row in rows:
            said = [word for word in quoted(row[column]) if word != "body"]
            assert said or row[column].startswith("none"), row
            assert [word for word in said if f'"{word}"' not in sent] == [], row


def test_each_member_of_a_stream_stands_in_one_column() -> None:
    rows = {(quoted(row[0])[0], row[1]): row[2:] for row in table("Driver", "Part of a stream")}
    parts = known()
    assert rows.keys() == parts.keys()
    for part, names in parts.items():
        cells = [quoted(cell) for cell in rows[part]]
        patterns = [pattern for cell in cells for pattern in cell]
        unused = [one for one in patterns if not any(fnmatchcase(name, one) for name in names)]
        assert unused == [], part
        for name in names:
            exact = [cell for cell in cells if name in cell]
            matching = exact or [cell for cell in cells if any(fnmatchcase(name, one) for one in cell)]
            assert len(matching) == 1, (part, name)
