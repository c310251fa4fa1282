"""Breakpoints on the real debugpy: bound or not, conditions, counts, logs, edits of the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.bridges.dap.adapter_behaviour import AdapterBehaviour, BreakpointDialect
from app.bridges.dap.breakpoint import Breakpoint, Terms, as_sent, lacking
from app.bridges.dap.breakpoint_lines import anchor_at, find
from app.errors import ToolError
from tests.bridges.dap.debugging import open_place
from tests.bridges.dap.test_stops import refused, where
from tests.driver.debug_adapters import PATIENT

LOOP = """total = 0
for number in range(10):
    total += number
    doubled = 2 * total
print(total)
"""
FUNCTION = """def area(width, height):
    product = width * height
    return product


print(area(2, 3))
"""


def function(name: str, *, condition: str | None = None) -> Breakpoint:
    return Breakpoint(kind="function", function=name, terms=Terms(condition=condition))


def instruction(reference: str) -> Breakpoint:
    return Breakpoint(kind="instruction", reference=reference)


def data(data_id: str) -> Breakpoint:
    return Breakpoint(kind="data", data_id=data_id)


@pytest.mark.requirement("debugger.breakpoints.shown")
async def test_a_breakpoint_says_where_it_is_bound(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("two.py", "# a comment\n\nfirst = 1\nsecond = 2\n")
        breakpoints = place.debugging.breakpoints(place.owner)
        session, _ = await place.launch(program, runtime="python")
        one = await breakpoints.set_line(program, 4)
        assert (one.verified, one.actual_line, one.message) == (True, 4, None)
        with pytest.raises(ToolError, match="after the end of two"):
            await breakpoints.set_line(program, 5)
        assert [known.id for known in await breakpoints.listed()] == [one.id]
        stop = await session.resume(seconds=60)
        assert stop.breakpoint_ids == (one.id,)
        assert await session.disconnect() is True
        for known in await breakpoints.listed():
            assert not known.verified and known.actual_line is None and known.message is not None
            assert "no program" in known.message


@pytest.mark.requirement("debugger.breakpoints.shown")
async def test_a_condition_decides(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        breakpoints = place.debugging.breakpoints(place.owner)
        await breakpoints.set_line(program, 3, Terms(condition="number == 6"))
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        told = await session.request("evaluate", "evaluate", evaluating("number", stop.frame))
        assert told["result"] == "6"
        assert (await session.resume(seconds=60)).status == "exited"


@pytest.mark.requirement("debugger.breakpoints.shown")
async def test_a_condition_that_is_wrong_is_reported(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        await place.debugging.breakpoints(place.owner).set_line(program, 3, Terms(condition="nonsense("))
        _, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        said = stop.output + "".join(
            known.message or "" for known in await place.debugging.breakpoints(place.owner).listed()
        )
        assert "nonsense(" in said, stop


@pytest.mark.requirement("debugger.capabilities.hits")
async def test_a_hit_count_stops_from_that_hit_on(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        await place.debugging.breakpoints(place.owner).set_line(program, 3, Terms(hit_count=9))
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        seen = []
        while stop.status == "stopped":
            told = await session.request("evaluate", "evaluate", evaluating("number", stop.frame))
            seen.append(told["result"])
            stop = await session.resume(seconds=60)
        assert seen == ["8", "9"]


async def test_a_log_message_is_written_and_does_not_stop(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        await place.debugging.breakpoints(place.owner).set_line(
            program, 4, Terms(condition="number > 7", log_message="total is {total}")
        )
        _, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert stop.status == "exited"
        assert "total is 36" in stop.output and "total is 45" in stop.output
        assert "total is 28" not in stop.output


@pytest.mark.requirement("debugger.capabilities.gate")
async def test_what_the_adapter_cannot_do_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("function.py", FUNCTION)
        breakpoints = place.debugging.breakpoints(place.owner)
        session, _ = await place.launch(program, runtime="python")
        for asking, capability in (
            (breakpoints.set(instruction("0x1000")), "supportsInstructionBreakpoints"),
            (breakpoints.set(data("width")), "supportsDataBreakpoints"),
        ):
            assert capability not in session.capabilities
            problem = await refused(asking)
            assert problem.code == "action_not_supported"
            assert problem.detail["adapter"] == "debugpy" and problem.detail["capability"] == capability
        assert await breakpoints.listed() == ()
        assert (await session.resume(seconds=60)).status == "exited"


async def test_a_function_is_a_place_too(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("function.py", FUNCTION)
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set(function("area"))
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert where(stop)[0] == "area" and stop.breakpoint_ids in ((one.id,), ())
        again = await breakpoints.set(function("area", condition="width == 2"))
        assert again.id == one.id
        await breakpoints.remove(function("area"))
        assert (await session.resume(seconds=60)).status == "exited"


async def test_setting_again_replaces_and_removing_removes(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set_line(program, 3, Terms(condition="number == 2"))
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        again = await breakpoints.set_line(program, 3, Terms(condition="number == 5"))
        assert (again.id, again.verified, len(await breakpoints.listed())) == (one.id, True, 1)
        stop = await session.resume(seconds=60)
        told = await session.request("evaluate", "evaluate", evaluating("number", stop.frame))
        assert told["result"] == "5"
        problem = await refused(breakpoints.remove_line(program, 4))
        assert problem.code == "breakpoint_not_found" and "line 3" in problem.message
        assert (await breakpoints.remove_line(program, 3)).id == one.id
        assert await breakpoints.listed() == ()
        assert (await session.resume(seconds=60)).status == "exited"


async def test_instructions_and_data_need_a_program(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        breakpoints = place.debugging.breakpoints(place.owner)
        for asking in (breakpoints.set(instruction("0x10")), breakpoints.set(data("1"))):
            assert (await refused(asking)).code == "dap_session_ended"
        for asking in (breakpoints.remove(data("1")), breakpoints.remove(function("f"))):
            assert (await refused(asking)).code == "breakpoint_not_found"


async def test_there_are_only_so_many(tmp_path: Path) -> None:
    async with open_place(tmp_path, limits=replace(PATIENT, breakpoints=2)) as place:
        program = place.put("loop.py", LOOP)
        breakpoints = place.debugging.breakpoints(place.owner)
        for line in (1, 2, 2):
            await breakpoints.set_line(program, line)
        assert (await refused(breakpoints.set_line(program, 3))).code == "too_many_breakpoints"


@pytest.mark.requirement("debugger.breakpoints.edits")
async def test_breakpoints_follow_edits_between_runs(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set_line(program, 4)
        place.put(
            "loop.py",
            '"""A loop."""\n\nimport sys\n' + LOOP.replace("    total +=", "    # sum\n    total +="),
        )
        (listed,) = await breakpoints.listed()
        assert (listed.id, listed.line) == (one.id, 8)
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert where(stop)[1] == 8 and stop.breakpoint_ids == (one.id,)
        assert (await breakpoints.remove_line(program, 8)).id == one.id
        assert (await session.resume(seconds=60)).status == "exited"


@pytest.mark.requirement("debugger.breakpoints.edits")
@pytest.mark.parametrize("blank", ["\f", "s = '\u2028\x85\x1c'", "\v"])
async def test_lines_are_counted_as_debuggers_count_them(tmp_path: Path, blank: str) -> None:
    """A form feed begins a page and no line."""
    before = f"first\n{blank}\nthird\nfourth\nfifth\n"
    async with open_place(tmp_path) as place:
        breakpoints = place.debugging.breakpoints(place.owner)
        await breakpoints.set_line(place.put("pages.py", before), 4)
        place.put("pages.py", before.replace("third\n", "third\nnew\n"))
        (listed,) = await breakpoints.listed()
        assert listed.line == 5


@pytest.mark.requirement("debugger.breakpoints.edits")
async def test_edits_of_a_file_that_is_loaded_later_are_followed_while_the_program_stands(
    tmp_path: Path,
) -> None:
    async with open_place(tmp_path) as place:
        module = place.put("module.py", "first = 1\nwanted = 2\n")
        program = place.put("main.py", "before = 1\nimport module\nprint(module.wanted)\n")
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set_line(module, 2)
        session, _ = await place.launch(program, runtime="python")
        place.put("module.py", "zero = 0\nhalf = 0.5\nfirst = 1\nwanted = 2\n")
        stop = await session.resume(seconds=60)
        assert (where(stop)[1], stop.breakpoint_ids) == (4, (one.id,))


@pytest.mark.requirement("debugger.breakpoints.edits")
async def test_a_program_stops_where_the_content_that_it_runs_has_the_line(tmp_path: Path) -> None:
    async with open_place(tmp_path) as place:
        program = place.put("loop.py", LOOP)
        breakpoints = place.debugging.breakpoints(place.owner)
        one = await breakpoints.set_line(program, 5)
        session, _ = await place.launch(program, runtime="python")
        place.put("loop.py", "import sys\n\n" + LOOP)
        (listed,) = await breakpoints.listed()
        assert (listed.line, listed.actual_line) == (7, 5) and "before the file was edited" in (
            listed.message or ""
        )
        stop = await session.resume(seconds=60)
        assert (where(stop)[1], stop.breakpoint_ids) == (5, (one.id,))
        assert (await session.resume(seconds=60)).status == "exited"
        session, stop = await place.launch(program, runtime="python", stop_on_entry=False)
        assert (where(stop)[1], stop.breakpoint_ids) == (7, (one.id,))


@pytest.mark.requirement("debugger.breakpoints.edits")
@pytest.mark.parametrize(
    ("before", "after", "line", "expected"),
    [
        ("a\nb\nc\n", "x\na\nb\nc\n", 2, 3),
        ("a\nb\nc\n", "b\nc\n", 2, 1),
        ("a\n    b\nc\n", "a\n  if x:\n        b\nc\n", 2, 3),
        ("f\nreturn\ng\nreturn\n", "f\nnew\nreturn\ng\nreturn\n", 4, 5),
        ("f\nreturn\ng\nreturn\n", "g\nreturn\nf\nreturn\n", 2, 4),
        ("a\nb\nc\nd\n", "a\nchanged\nc\nd\n", 2, 2),
        ("a\nb\nc\nd\n", "new\na\nchanged\nc\nd\n", 2, 3),
        ("a\nb\nc\nd\n", "all\nis\nother\n", 2, None),
        ("a\n\nb\n\nc\n", "a\nx\n\nb\n\nc\n", 4, 5),
        ("same\nsame\nsame\n", "same\nsame\nsame\n", 2, 2),
        ("only\n", "", 1, None),
    ],
)
def test_a_line_is_found_again_by_its_text(before: str, after: str, line: int, expected: int | None) -> None:
    anchor = anchor_at([one.strip() for one in before.splitlines()], line)
    assert anchor is not None
    assert find(anchor, [one.strip() for one in after.splitlines()]) == expected


@pytest.mark.requirement("debugger.capabilities.breakpoints")
def test_hit_counts_and_logs_are_in_the_dialect_of_the_adapter_or_not_at_all() -> None:
    usual = frozenset({"setBreakpoints", "supportsHitConditionalBreakpoints", "supportsLogPoints"})
    counts_from = AdapterBehaviour(
        name="a", adapter_id="a", breakpoints=BreakpointDialect(hit_count=">= {count}")
    )
    ignores = AdapterBehaviour(name="b", adapter_id="b", breakpoints=BreakpointDialect(hit_count="{before}"))
    cannot = AdapterBehaviour(
        name="c", adapter_id="c", breakpoints=BreakpointDialect(hit_count=None, log_points=False)
    )
    third = Breakpoint(id=1, kind="line", path=Path("/a"), line=3, terms=Terms(hit_count=3), sent_line=3)
    first = Breakpoint(id=2, kind="line", path=Path("/a"), line=3, terms=Terms(hit_count=1), sent_line=3)
    logs = Breakpoint(id=3, kind="line", path=Path("/a"), line=3, terms=Terms(log_message="x"), sent_line=3)
    assert as_sent(third, counts_from) == {"line": 3, "hitCondition": ">= 3"}
    assert as_sent(third, ignores) == {"line": 3, "hitCondition": "2"}
    assert as_sent(first, ignores) == {"line": 3} and lacking(first, usual, cannot) is None
    assert lacking(third, usual, counts_from) is None
    assert lacking(third, usual, cannot) == "supportsHitConditionalBreakpoints"
    assert lacking(third, frozenset({"setBreakpoints"}), ignores) == "supportsHitConditionalBreakpoints"
    assert lacking(logs, usual, ignores) is None
    assert lacking(logs, usual, cannot) == "supportsLogPoints"


def evaluating(expression: str, frame: dict[str, object] | None) -> dict[str, object]:
    assert frame is not None
    return {"expression": expression, "frameId": frame["id"], "context": "watch"}
