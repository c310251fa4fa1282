"""Answers of trace and why stay short, whatever a program has in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tools.debug.results import DebugResult, ExceptionShown, Local, ProjectFrame
from app.tools.debug.small_answer import fitting, size_of
from app.tools.debug.trace_table import Traced, table
from app.tools.debug.why import MAX_BYTES
from tests.driver.debug_desk import debug_desk

WIDE = (
    "class Wide:\n    def __init__(self, i):\n        for n in range(60):\n"
    "            setattr(self, f'{\"é\" * 40}_{n}', '€' * 400)\n"
    "    def __repr__(self):\n        return '語' * 5_000\n\n\n"
    "def deep(n, wide):\n    ünïcödé = ['ß' * 900] * 90\n"
    "    return deep(n - 1, wide) if n else ünïcödé[0] + n\n\n\n"
    "for i in range(150):\n    wide, text, many = Wide(i), '🙂' * 3_000 + str(i), [i] * 9_000\n"
    "    print('🙂' * 300, i)\ndeep(6, wide)\n"
)
TEXT = st.text(st.sampled_from('ab"\\\n語🙂'), max_size=30)


@pytest.mark.requirement("debugger.trace", "debugger.why")
async def test_long_values_wide_objects_and_many_hits(tmp_path: Path) -> None:
    async with debug_desk(tmp_path) as desk:
        path = desk.put("wide.py", WIDE).name
        expressions = ["wide", "text", "many", "wide.__dict__", "i", *(f"text * {n}" for n in range(2, 12))]
        at = [{"path": path, "line": 16, "expressions": expressions}]
        for max_hits in (1, 13, 100):
            found = await desk.debug("trace", command="python wide.py", at=at, max_hits=max_hits)
            [line] = found["trace"]
            assert line["hits"] == found["hits"] == max_hits
            assert size_of(DebugResult.model_validate(found)) <= 2_000
            assert line.get("rows") or line["columns"]
        at = [
            {"path": path, "line": line, "expressions": [f"'{'x' * 500}' and {n}" for n in range(20)]}
            for line in (2, 3, 4, 10, 11, 15, 16, 17)
        ]
        found = await desk.debug("trace", command="python wide.py", at=at, max_hits=20)
        assert size_of(DebugResult.model_validate(found)) <= 2_000 and found["hits"] == 20
        found = await desk.debug("why", command="python wide.py")
        assert size_of(DebugResult.model_validate(found)) <= MAX_BYTES
        assert found["exception"]["type"] == "TypeError" and found["project_frames"][0]["locals"]


@pytest.mark.requirement("debugger.trace")
@given(
    lines=st.integers(1, 20), hits=st.integers(0, 40), expressions=st.integers(1, 20),
    text=TEXT, times=st.sampled_from([1, 10, 600]),
)  # fmt: skip
def test_a_table_of_any_size_is_short(lines: int, hits: int, expressions: int, text: str, times: int) -> None:
    traced = [Traced(f"./{text * times}"[:4_096], number) for number in range(lines)]
    for one in traced:
        for hit in range(hits):
            one.take({f"{text * times}{n}": f"{hit}{text * min(times, 10)}" for n in range(expressions)})
    found = table(traced, text * times, DebugResult(outcome="max_hits", hits=lines * hits))
    assert size_of(found) <= 2_000
    assert found.trace and all(one.hits == hits for one in found.trace)


def test_lines_that_were_reached_come_first_where_not_all_fit() -> None:
    traced = [Traced("./app.py", number) for number in range(20)]
    for hit in range(40):
        traced[-1].take({f"{'long' * 30} {n}": f"{hit}" for n in range(20)})
    for one in traced[:-1]:
        one.path = "./" + "deep/" * 60
    found = table(traced, "", DebugResult(outcome="exited"))
    assert size_of(found) <= 2_000 and found.trace and found.note
    first = found.trace[0]
    assert (first.line, first.hits) == (19, 40) and first.columns and first.expressions_left_out
    assert (first.columns[0].first, first.columns[0].last) == ("0", "39")


def test_expressions_that_begin_alike_keep_their_values_apart() -> None:
    one = Traced("./app.py", 1)
    one.take({f"{'x' * 900} + {n}": f"{n}" for n in range(20)})
    found = table([one], "", DebugResult())
    assert found.trace and found.trace[0].rows
    assert sorted(found.trace[0].rows[0].values.values()) == sorted(str(n) for n in range(20))


@pytest.mark.requirement("debugger.why")
@given(text=TEXT, times=st.sampled_from([1, 20, 600]), frames=st.integers(0, 5), names=st.integers(0, 20))
def test_why_of_any_size_is_short(text: str, times: int, frames: int, names: int) -> None:
    long = text * times
    row = ProjectFrame(
        function=long[:300],
        path=long[:4_096],
        line=1,
        source=long[:300],
        locals=[Local(name=f"{n}{long}", value=long[:200]) for n in range(names)],
    )
    result = DebugResult(
        outcome="failed",
        runtime="python",
        adapter="debugpy",
        exit_code=1,
        output=long[-2_000:],
        exception=ExceptionShown(type=long[:200], message=long[:2_000]),
        project_frames=[row] * frames,
    )
    assert size_of(fitting(result, MAX_BYTES)) <= MAX_BYTES
