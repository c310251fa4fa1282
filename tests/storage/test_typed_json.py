"""The JSON column: what goes in comes out."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from app.storage.storage import Storage
from app.storage.text import storable
from app.storage.typed_json import Json
from tests.driver import rows

dialect = sqlite.dialect()
texts = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def there_and_back(value: Any) -> Any:
    column = Json()
    return column.process_result_value(column.process_bind_param(value, dialect), dialect)


@given(values)
def test_every_json_value_comes_back_equal(value: Any) -> None:
    assert there_and_back(value) == value


@given(st.text(st.characters()))
def test_any_text_at_all_can_be_stored(text: str) -> None:
    """Also with lone surrogates, which become the replacement character; NUL stays."""
    back = there_and_back({"text": text, text: 1})
    assert back["text"] == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert "\0" not in storable(text)
    storable(text).encode()


@pytest.mark.parametrize(
    ("value", "back"),
    [
        ({"big": 2**64}, {"big": float(2**64)}),
        ({"big": -(2**63) - 1}, {"big": float(-(2**63) - 1)}),
        ({"huge": 10**400}, {"huge": str(10**400)}),
        ([math.nan, math.inf], [None, None]),
        ({2: "a", None: "b", True: "c"}, {"2": "a", "null": "b", "true": "c"}),
        ({"pair": (1, "\ud800")}, {"pair": [1, "\N{REPLACEMENT CHARACTER}"]}),
    ],
)
def test_what_json_cannot_hold_is_stored_as_the_nearest_thing(value: Any, back: Any) -> None:
    assert there_and_back(value) == back


async def test_null_and_nested_values_survive_both_databases(storage: Storage) -> None:
    await storage.write(rows.family)
    details = {"z": None, "a": [{"nul": "\0", "emoji": "😀"}], "n": 1e300, "keys": {"b": 1, "a": 2}}
    await storage.write(lambda unit: unit.messages.add(rows.message(1, details=details)))
    await storage.write(lambda unit: unit.runs.add(rows.run(1, error=None)))
    message = await storage.read(lambda unit: unit.messages.get("msg_00001"))
    run = await storage.read(lambda unit: unit.runs.get("run_00001"))
    assert message is not None
    assert run is not None
    assert message.details == details
    assert list(message.details) == ["z", "a", "n", "keys"]
    assert run.error is None
