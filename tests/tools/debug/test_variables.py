"""What a stop and the action `variables` tell of values, on Python programs under the real debugpy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from app.tools.debug.values import Raw, name_within, step_into
from tests.driver.debug_adapters import copy_of, line_of
from tests.driver.debug_desk import DebugDesk, debug_desk

VALUES = """
class Node:
    KIND = "node"

    def __init__(self, name, inner=None):
        self.name = name
        self.inner = inner

    @property
    def costly(self):
        raise RuntimeError("asked")


class Plenty(list):
    pass


def look():
    many = list(range(2500))
    few = ["zero", "one", "two"]
    table = {"a.b": {"c": 1}, "a": {"b": 2}, 7: "seven", "quote'd": 3}
    wide = {number: str(number) for number in range(900)}
    deep = Node("top", Node("middle", Node("bottom", few)))
    loop = []
    loop.append(loop)
    long = "x" * 5000
    strange = "a\\x1b[31mred\\u202etrap"
    plenty = Plenty(range(300))
    plenty.owner = "somebody"
    return len(many)  # stop: look


def outer():
    captured, unused = [1, 2], 5

    def inner(argument):
        own = argument + len(captured)
        return own  # stop: inner

    return inner(3) + unused


look()
outer()
"""


def line(desk: DebugDesk, mark: str, path: str = "values.py") -> int:
    return line_of(desk.root / path, mark)


async def run_to(desk: DebugDesk, mark: str, path: str = "values.py") -> dict:
    await desk.debug("set_breakpoint", path=path, line=line(desk, mark, path))
    return await desk.debug("launch", runtime="python", script=path, stop_on_entry=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DebugDesk]:
    """Stands in `look`, with all its variables."""
    async with debug_desk(tmp_path_factory.mktemp("values")) as opened:
        opened.put("values.py", VALUES)
        assert (await run_to(opened, "look"))["status"] == "stopped"
        yield opened


async def rows(desk: DebugDesk, **params: object) -> dict[str, str]:
    found = await desk.debug("variables", **params)
    return {one["name"]: one["value"] for one in found["variables"]}


@pytest.mark.asyncio(loop_scope="module")
class TestOfOneStop:
    @pytest.mark.requirement("debugger.variables.expand")
    @pytest.mark.parametrize(
        ("path", "name", "value"),
        [
            ("deep.inner.inner.name", "deep.inner.inner.name", "'bottom'"),
            ("deep.inner.inner.inner[1]", "deep.inner.inner.inner[1]", "'one'"),
            ("few[2]", "few[2]", "'two'"),
            ("few.2", "few.2", "'two'"),
            ("table['a.b'].c", "table['a.b'].c", "1"),
            ('table["a.b"]["c"]', 'table["a.b"]["c"]', "1"),
            ("table.a.b.c", "table.a.b.c", "1"),
            ("table[a].b", "table[a].b", "2"),
            ("table[7]", "table[7]", "'seven'"),
            ("many[99]", "many[99]", "99"),
            ("many[100]", "many[100]", "100"),
            ("many[2499]", "many[2499]", "2499"),
            ("deep.KIND", "deep.KIND", "'node'"),
            ("plenty.owner", "plenty.owner", "'somebody'"),
            ("plenty[299]", "plenty[299]", "299"),
        ],
    )
    async def test_a_path_leads_to_a_value(self, desk: DebugDesk, path: str, name: str, value: str) -> None:
        assert await rows(desk, expand=path) == {name: value}

    @pytest.mark.requirement("debugger.variables.expand")
    async def test_what_is_in_a_value_has_its_path(self, desk: DebugDesk) -> None:
        assert await rows(desk, expand="few") == {"few[0]": "'zero'", "few[1]": "'one'", "few[2]": "'two'"}
        assert set(await rows(desk, expand="deep")) >= {"deep.name", "deep.inner"}
        table = await rows(desk, expand="table")
        assert table["table['a.b']"] == "{'c': 1}" and table["table[7]"] == "'seven'"
        assert not {name for name in table if "len" in name or "special" in name}

    @pytest.mark.requirement("debugger.variables.expand")
    @pytest.mark.parametrize(
        "path", ["nobody", "deep.inner.nome", "few[3]", "few[-1]", "many[2500]", "long.x"]
    )
    async def test_a_path_that_leads_nowhere_says_what_is_near(self, desk: DebugDesk, path: str) -> None:
        refused = await desk.refused("variables", expand=path)
        assert refused.code == "variable_not_found", refused
        if path == "deep.inner.nome":
            assert refused.detail["closest"] == ["name"]

    @pytest.mark.requirement("debugger.variables.paging")
    async def test_long_lists_are_paged(self, desk: DebugDesk) -> None:
        first = await desk.debug("variables", expand="many")
        assert [one["value"] for one in first["variables"]] == [str(number) for number in range(100)]
        assert (first["total"], first["truncated"]) == (2500, True)
        assert "start 100" in first["note"]
        for start, limit in ((95, 10), (1095, 1000), (2400, 300), (0, 1000)):
            page = await desk.debug("variables", expand="many", start=start, limit=limit)
            wanted = range(start, min(start + limit, 2500))
            assert [one["value"] for one in page["variables"]] == [str(number) for number in wanted]
            assert [one["name"] for one in page["variables"]] == [f"many[{number}]" for number in wanted]
            assert ("truncated" in page) == (start + limit < 2500)
        beyond = await desk.debug("variables", expand="many", start=2500)
        assert (beyond["variables"], beyond["total"]) == ([], 2500)
        mixed = await desk.debug("variables", expand="plenty", start=298)
        assert [one["value"] for one in mixed["variables"]] == ["298", "299", "'somebody'"]
        assert mixed["total"] == 301
        local = await desk.debug("variables", start=1, limit=2)
        assert len(local["variables"]) == 2 and local["total"] == 9

    @pytest.mark.requirement("debugger.variables.paging")
    async def test_what_the_debugger_leaves_out_is_reported(self, desk: DebugDesk) -> None:
        told = await desk.debug("variables", expand="wide", limit=1000)
        assert len(told["variables"]) == 500 and told["total"] == 900
        assert told["truncated"] is True and "evaluate" in told["note"]
        assert await desk.value("wide[899]") == "'899'"

    @pytest.mark.requirement("debugger.variables.filter")
    async def test_a_filter_is_a_part_of_the_name(self, desk: DebugDesk) -> None:
        assert set(await rows(desk, filter="EE")) == {"deep"}
        assert set(await rows(desk, filter="lo")) == {"loop", "long"}
        assert set(await rows(desk, expand="table", filter="quote")) == {'table["quote\'d"]'}
        assert await rows(desk, filter="nothing like this") == {}

    @pytest.mark.requirement("debugger.variables.bounds")
    async def test_levels_below_are_bounded(self, desk: DebugDesk) -> None:
        flat = await desk.debug("variables", filter="deep")
        assert "children" not in flat["variables"][0] and flat["variables"][0]["expandable"] is True
        three = (await desk.debug("variables", filter="deep", depth=3))["variables"][0]
        inner = {one["name"]: one for one in three["children"]}["inner"]
        innermost = {one["name"]: one for one in inner["children"]}["inner"]
        assert innermost["expandable"] is True and "children" not in innermost
        refused = await desk.refused("variables", depth=6)
        assert refused.code == "invalid_params" and "depth" in refused.detail["fields"]
        many = (await desk.debug("variables", filter="many", depth=2))["variables"][0]
        assert len(many["children"]) == 50 and many["more"] == 2450
        loop = await desk.answer("variables", filter="loop", depth=5)
        assert loop.model_text().count('"[0]"') == 4
        all_of_it = await desk.answer("variables", depth=5, scope="global")
        assert all_of_it.type == "output" and len(all_of_it.model_text()) < 200_000

    @pytest.mark.requirement("debugger.variables.bounds")
    async def test_values_are_bounded_and_safe_to_show(self, desk: DebugDesk) -> None:
        found = await rows(desk)
        assert len(found["long"]) < 1_100
        assert "\x1b" not in found["strange"] and "\u202e" not in found["strange"]
        assert len(await desk.value("long")) < 21_000

    @pytest.mark.requirement("debugger.variables.scopes")
    async def test_global_variables_are_a_scope_of_their_own(self, desk: DebugDesk) -> None:
        found = await rows(desk, scope="global")
        assert "many" not in found
        assert await rows(desk, scope="global", expand="Node.KIND") == {"Node.KIND": "'node'"}
        assert await rows(desk, scope="closure") == {}
        registers = await desk.debug("variables", scope="registers")
        assert registers["variables"] == [] and "Locals, Globals" in registers["note"]

    @pytest.mark.requirement("debugger.variables.watch")
    @pytest.mark.parametrize(
        "expression", ["many = 1", "few[0] = 'x'", "del few", "(few := 1)", "import os", "many += [1]"]
    )
    async def test_watch_refuses_what_certainly_changes_something(
        self, desk: DebugDesk, expression: str
    ) -> None:
        refused = await desk.refused("evaluate", expression=expression)
        assert refused.code == "side_effects_refused" and "repl" in refused.error_text
        assert await desk.value("few") == "['zero', 'one', 'two']"

    @pytest.mark.requirement("debugger.variables.watch")
    async def test_watch_warns_where_nobody_can_tell(self, desk: DebugDesk) -> None:
        told = await desk.debug("evaluate", expression="deep.name.upper()")
        assert told["result"] == "'TOP'" and "debugpy" in told["warning"]
        for expression in ("deep.name", "few[0] == 'x'", "not few", "table['a.b']['c'] >= 1"):
            assert "warning" not in await desk.debug("evaluate", expression=expression), expression
        changed = await desk.debug("evaluate", expression="deep.name = 'other'", context="repl")
        assert "warning" not in changed
        assert await rows(desk, expand="deep.name") == {"deep.name": "'other'"}
        await desk.debug("evaluate", expression="deep.name = 'top'", context="repl")

    @pytest.mark.requirement("debugger.variables.bounds")
    async def test_an_evaluated_value_shows_as_many_levels(self, desk: DebugDesk) -> None:
        told = await desk.debug("evaluate", expression="deep", depth=2)
        assert told["expandable"] is True
        assert {one["name"]: one["value"] for one in told["children"]}["name"] == "'top'"
        assert "children" not in await desk.debug("evaluate", expression="deep")


@pytest.mark.requirement("debugger.variables.scopes")
async def test_captured_variables_are_the_closure(tmp_path: Path) -> None:
    async with debug_desk(tmp_path) as desk:
        desk.put("values.py", VALUES)
        stopped = await run_to(desk, "inner")
        assert stopped["location"]["function"] == "inner"
        assert await rows(desk, scope="closure") == {"captured": "[1, 2]"}
        assert await rows(desk, scope="closure", expand="captured[1]") == {"captured[1]": "2"}
        assert {"argument", "own"} <= set(await rows(desk, scope="local"))
        assert await rows(desk, scope="closure", frame_id=1) == {}


@pytest.mark.requirement("debugger.stop.answer")
async def test_a_stop_shows_what_changed(tmp_path: Path) -> None:
    async with debug_desk(tmp_path, copy_of("python", tmp_path)) as desk:
        stopped = await run_to(desk, "loop", "orders.py")
        first = {one["name"]: one for one in stopped["changed"]}
        assert first["total"] == {"name": "total", "value": "0", "type": "int"}
        again = await desk.debug("continue")
        assert {one["name"]: (one["was"], one["value"]) for one in again["changed"]} == {
            "amount": ("10", "20"),
            "i": ("0", "1"),
            "price": ("10", "40"),
            "total": ("0", "10"),
        }
        await desk.debug("evaluate", expression="total = 1000", context="repl")
        over = await desk.debug("step_over")
        assert [one["name"] for one in over["changed"]] == ["total"]


@pytest.mark.requirement("debugger.stop.answer")
async def test_very_many_changes_are_cut_and_counted(tmp_path: Path) -> None:
    async with debug_desk(tmp_path) as desk:
        body = "".join(f"    name_{number} = {number}\n" for number in range(60))
        desk.put("values.py", f"def wide():\n{body}    return 1  # stop: end\n\n\nwide()\n")
        stopped = await run_to(desk, "end")
        assert len(stopped["changed"]) == 20 and "40 more variables changed" in stopped["note"]


def variable(name: str) -> Raw:
    return Raw(name, "v", "t", 0, None, None, None, lazy=False)


@pytest.mark.requirement("debugger.variables.expand")
@pytest.mark.parametrize(
    ("rest", "names", "found", "left"),
    [
        ("user.name", ["user"], "user", ".name"),
        (".a.b", ["a", "a.b"], "a.b", ""),
        ("[12]", ["012", "12x"], "012", ""),
        (".3.x", ["[3]"], "[3]", ".x"),
        ("['k'].x", ['"k"', "'q'"], '"k"', ".x"),
        (".name", ["@name"], "@name", ""),
        (".scores[0]", ["%scores"], "%scores", "[0]"),
        (".user", ["username", "use"], None, ""),
        ("[1]", ["a"], None, ""),
    ],
)
def test_names_are_found_as_adapters_write_them(
    rest: str, names: list[str], found: str | None, left: str
) -> None:
    step = step_into(rest, [variable(name) for name in names])
    assert (None if step is None else (step[0].name, step[1])) == (None if found is None else (found, left))


@pytest.mark.requirement("debugger.variables.expand")
@pytest.mark.parametrize(
    ("name", "whole"),
    [("name", "x.name"), ("007", "x[7]"), ("[7]", "x[7]"), ("'key'", "x['key']"), ('"key"', 'x["key"]')],
)
def test_names_are_written_as_expressions(name: str, whole: str) -> None:
    assert name_within("x", variable(name)) == whole
