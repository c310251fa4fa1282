"""Symbols by their path of names, and who calls whom and derives from what, by real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk, of_agent
from tests.tools.code.monorepos import TWO_GO_MODULES

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Case:
    """`method` is declared in `path` in the line `line`, also as `near` in another class there. `first` calls
    it in `called`, and `second` calls `first`."""

    language: str
    server: str
    path: str
    files: Mapping[str, str]
    method: str = "Crane.lift"
    line: int = 3
    names: tuple[str, str] = ("first", "second")
    base: str = "Base"
    derived: str = "Crane"


PYTHON_YARD = {
    "pyproject.toml": "",
    "yard.py": "class Base: ...\nclass Crane(Base):\n    def lift(self) -> int:\n        return 1\n\n\n"
    "class Truck:\n    def lift(self) -> int:\n        return 2\n",
    "use.py": "from yard import Crane\n\n\ndef first() -> int:\n    return Crane().lift()\n\n\n"
    "def second() -> int:\n    return first()\n",
}
CASES: Mapping[str, Case] = {
    "pyright": Case(
        "python",
        "pyright",
        "yard.py",
        PYTHON_YARD,
    ),
    "basedpyright": Case(
        "python",
        "basedpyright",
        "yard.py",
        PYTHON_YARD,
    ),
    "typescript-language-server": Case(
        "typescript",
        "typescript-language-server",
        "yard.ts",
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true}}',
            "yard.ts": "export class Base {}\nexport class Crane extends Base {\n"
            "  lift(): number {\n    return 1;\n  }\n}\n"
            "export class Truck {\n  lift(): number {\n    return 2;\n  }\n}\n",
            "use.ts": 'import { Crane } from "./yard";\n\n\nexport function first(): number {\n'
            "  return new Crane().lift();\n}\n\nexport function second(): number {\n  return first();\n}\n",
        },
    ),
    "gopls": Case(
        "go",
        "gopls",
        "yard.go",
        {
            "go.mod": "module yard\n\ngo 1.22\n",
            "yard.go": "package yard\n\nfunc (c *Crane) Lift() int { return 1 }\n\ntype Crane struct{}\n\n"
            "type Truck struct{}\n\nfunc (t Truck) Lift() int { return 2 }\n\n"
            "type Base interface{ Lift() int }\n",
            "use.go": "package yard\n\n\nfunc first() int {\n\treturn new(Crane).Lift()\n}\n\n"
            "func second() int { return first() }\n",
        },
        method="Crane.Lift",
    ),
    "clangd": Case(
        "cpp",
        "clangd",
        "yard.cpp",
        {
            "compile_flags.txt": "-std=c++17\n",
            "yard.cpp": "struct Base {};\nstruct Crane : Base {\n  int lift() { return 1; }\n};\n"
            "struct Truck {\n  int lift() { return 2; }\n};\n"
            "int first() {\n  return Crane().lift();\n}\nint second() { return first(); }\n",
        },
    ),
}


@dataclass
class Tried(CodeDesk):
    case: Case = field(kw_only=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=list(CASES))
async def desk(request: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Tried]:
    case = CASES[request.param]
    declared = Declared(language=case.language, command=server_command(case.server))
    base = tmp_path_factory.mktemp("hierarchies")
    async with code_desk(base, declarations=Declarations(project=(declared,))) as opened:
        opened.put_all(case.files)
        yield Tried(**{name: getattr(opened, name) for name in CodeDesk.__dataclass_fields__}, case=case)


@pytest.mark.requirement("language_servers.tool.name_path")
async def test_a_path_of_names_stands_for_a_position(desk: Tried) -> None:
    case = desk.case
    by_line = {"path": case.path, "line": case.line, "symbol": case.method.rpartition(".")[2]}
    by_name = {"path": case.path, "symbol": case.method}
    for action in (
        *("definition", "references", "hover", "type_definition", "implementation", "code_actions"),
        *("call_hierarchy", "type_hierarchy"),
    ):
        named, placed = [
            await desk.call("code.lsp", action=action, **position) for position in (by_name, by_line)
        ]
        assert (named.code, named.data) == (placed.code, placed.data), action
        assert named.code in {None, "action_not_supported", "lsp_request_failed"}, (action, named.error_text)
        assert action not in {"definition", "references", "hover"} or named.data
    last, before = case.method.rpartition(".")[2], desk.text(case.path)
    there = await desk.lsp("rename", **by_name, new_name="Hoist")
    assert "Hoist" in desk.text(case.path)
    back = {"path": case.path, "line": case.line, "symbol": "Hoist", "new_name": last}
    assert (await desk.lsp("rename", **back))["files_changed"] == there["files_changed"]
    assert desk.text(case.path) == before


@pytest.mark.requirement("language_servers.tool.name_path")
async def test_names_that_are_not_there_or_there_twice_are_listed(desk: Tried) -> None:
    case = desk.case
    name = case.method.rpartition(".")[2]
    twice = await desk.refused("hover", path=case.path, symbol=name)
    assert twice.code == "symbol_ambiguous" and f"{name}#2" in twice.error_text
    numbers = {one["symbol"].rpartition("#")[2]: one["line"] for one in twice.detail["places"]}
    second = await desk.lsp("definition", path=case.path, symbol=f"{name}#2")
    assert second["definitions"][0]["line"] == numbers["2"]
    absent = await desk.refused("hover", path=case.path, symbol=f"{case.method}s")
    assert absent.code == "symbol_not_found" and "Crane" in absent.error_text
    assert (await desk.refused("hover", path=case.path)).code == "invalid_params"
    assert (await desk.refused("hover", path=case.path, character=1)).code == "invalid_params"


@pytest.mark.requirement("language_servers.tool.call_hierarchy")
async def test_callers_of_callers_and_what_they_call(desk: Tried) -> None:
    case = desk.case
    at = {"path": case.path, "symbol": case.method}
    near = await desk.lsp("call_hierarchy", **at)
    [caller] = near["hierarchy"]
    assert (caller["name"].split("(")[0], caller["depth"], len(caller["calls"])) == ("first", 1, 1)
    far = (await desk.lsp("call_hierarchy", **at, depth=3))["hierarchy"]
    assert [(one["depth"], one["name"].split("(")[0]) for one in far] == [(1, "first"), (2, "second")]
    if case.server != "clangd":  # releases before 20 know no outgoing calls
        called = await desk.lsp(
            "call_hierarchy", path=caller["path"], symbol="second", direction="outgoing", depth=2
        )
        names = {(one["depth"], one["name"].split("(")[0]) for one in called["hierarchy"]}
        assert (1, "first") in names and any(
            depth == 2 and name.endswith(case.method.rpartition(".")[2]) for depth, name in names
        )
    wrong = await desk.refused("call_hierarchy", **at, direction="subtypes")
    assert wrong.code == "invalid_params" and "incoming or outgoing" in wrong.error_text


@pytest.mark.requirement("language_servers.tool.type_hierarchy")
async def test_types_below_and_above(desk: Tried) -> None:
    case = desk.case
    at = {"path": case.path, "symbol": case.base}
    if not (await desk.lsp("capabilities", path=case.path))["offers"]["type_hierarchy"]:
        assert case.server != "clangd"
        assert (await desk.refused("type_hierarchy", **at)).code == "action_not_supported"
        return
    below = await desk.lsp("type_hierarchy", **at)
    assert case.derived in {one["name"] for one in below["hierarchy"]}
    above = await desk.lsp("type_hierarchy", path=case.path, symbol=case.derived, direction="supertypes")
    assert case.base in {one["name"] for one in above["hierarchy"]}


@pytest.mark.requirement("language_servers.tool.call_hierarchy")
async def test_callers_in_the_module_beside_and_none_outside_the_cage(tmp_path) -> None:
    declared = Declared(language="go", command=server_command("gopls"))
    async with code_desk(tmp_path, declarations=Declarations(project=(declared,))) as desk:
        use = (
            'package truck\n\nimport "example.org/depot/scale"\n\nfunc Full() int { return scale.Weigh(2) }\n'
        )
        desk.put_all({**TWO_GO_MODULES.files, "truck/truck.go": use})
        found = await desk.lsp("call_hierarchy", path="scale/scale.go", symbol="Weigh")
        assert ("./truck/truck.go", "Full") in {(one["path"], one["name"]) for one in found["hierarchy"]}
        agent = of_agent(desk, ("ro", "scale"))
        refused = await agent.call("code.lsp", action="call_hierarchy", path="scale/scale.go", symbol="Weigh")
        assert "truck" not in str(refused.data) + str(refused.model_text())
