"""Outlines of files that no language server answers for, by syntax tree."""

from __future__ import annotations

import pytest

from app.bridges.lsp.manager import Declarations, Declared
from tests.tools.code.conftest import code_desk, of_agent

pytestmark = pytest.mark.requirement("language_servers.tool.syntax_symbols")
MODULE_TS = """export const MOST = 3, pick = (n: number) => { const inner = 1; return inner; };
const { taken } = pick;
let drop = async function () {};
class Yard { gate = () => { const no = 1; }; }
"""
DEPOT_C = """#define HOIST(x) (x)
struct crane { int load; };
enum yard { OPEN };
typedef struct { int y; } box_t;
static int lift(struct crane *c, int (*by)(int)) { return 0; }
char *name_of(struct crane c) { return 0; }
"""
DEPOT_CPP = """namespace depot {
struct Later;
class Crane {
 public:
  int &lift() { return load; }
  int load;
};
using Load = int;
}
int depot::Crane::drop() { return 0; }
"""
FILES = {
    "depot.rb": (
        "module Depot\n  class Crane\n    def lift; end\n    def self.all; end\n  end\nend\n",
        [
            ("Depot", "module", 1, None),
            ("Crane", "class", 2, "Depot"),
            ("lift", "method", 3, "Crane"),
            ("all", "method", 4, "Crane"),
        ],
    ),
    "depot.scala": (
        "class Crane {\n  def lift() = 1\n}\nobject Yard\n",
        [("Crane", "class", 1, None), ("lift", "function", 2, "Crane"), ("Yard", "class", 4, None)],
    ),
    "depot.sol": (
        "contract Crane {\n  function lift() public {}\n}\n",
        [("Crane", "class", 1, None), ("lift", "function", 2, "Crane")],
    ),
    "depot.lua": (
        "local function lift() end\nfunction Yard.open() end\n",
        [("lift", "function", 1, None), ("Yard.open", "function", 2, None)],
    ),
    "depot.php": (
        "<?php\nclass Crane {\n  function lift() {}\n}\n",
        [("Crane", "class", 2, None), ("lift", "method", 3, "Crane")],
    ),
    "Depot.java": (
        "/* \U0001f642 */ class Crane {\n  void lift() {}\n}\n",
        [("Crane", "class", 1, None), ("lift", "method", 2, "Crane")],
    ),
    "depot.cs": (
        "namespace Depot { class Crane {\n  int Load { get; }\n} }\n",
        [("Depot", "namespace", 1, None), ("Crane", "class", 1, "Depot"), ("Load", "property", 2, "Crane")],
    ),
    "depot.swift": (
        "struct Crane {\n  func lift() {}\n}\n",
        [("Crane", "class", 1, None), ("lift", "function", 2, "Crane")],
    ),
    "depot.py": (
        "class Crane:\n    def lift(self): ...\n",
        [("Crane", "class", 1, None), ("lift", "function", 2, "Crane")],
    ),
    "depot.ts": (
        "export class Crane {\n  lift() {}\n}\ninterface Yard {}\n",
        [("Crane", "class", 1, None), ("lift", "method", 2, "Crane"), ("Yard", "interface", 4, None)],
    ),
    "depot.go": (
        "package depot\n\ntype Crane struct{}\n\nfunc (c Crane) Lift() {}\n",
        [("Crane", "type", 3, None), ("Lift", "method", 5, None)],
    ),
    "depot.rs": (
        "struct Crane;\nimpl Crane {\n    fn lift() {}\n}\n",
        [("Crane", "struct", 1, None), ("lift", "function", 3, None)],
    ),
    "module.ts": (
        MODULE_TS,
        [
            ("MOST", "constant", 1, None),
            ("pick", "function", 1, None),
            ("drop", "function", 3, None),
            ("Yard", "class", 4, None),
        ],
    ),
    "module.py": (
        "MOST: int = 3\nlower = 4\ndef lift():\n    INNER = 5\nclass Crane:\n    OWN = 6\n",
        [("MOST", "constant", 1, None), ("lift", "function", 3, None), ("Crane", "class", 5, None)],
    ),
    "depot.c": (
        DEPOT_C,
        [
            ("HOIST", "function", 1, None),
            ("crane", "struct", 2, None),
            ("yard", "enum", 3, None),
            ("box_t", "type", 4, None),
            ("lift", "function", 5, None),
            ("name_of", "function", 6, None),
        ],
    ),
    "depot.cpp": (
        DEPOT_CPP,
        [
            ("depot", "namespace", 1, None),
            ("Crane", "class", 3, "depot"),
            ("lift", "function", 5, "Crane"),
            ("Load", "type", 8, "depot"),
            ("depot::Crane::drop", "function", 10, None),
        ],
    ),
    "depot.sh": ("lift() { :; }\n", [("lift", "function", 1, None)]),
}
ABSENT = tuple(
    Declared(language=name, command=("/nonexistent/server",))
    for name in (
        "ruby",
        "lua",
        "php",
        "java",
        "csharp",
        "swift",
        "python",
        "typescript",
        "go",
        "rust",
        "bash",
        "c",
        "cpp",
    )
)


@pytest.mark.parametrize("path", FILES)
async def test_what_a_file_declares_without_a_server(tmp_path, path):
    text, expected = FILES[path]
    async with code_desk(tmp_path, declarations=Declarations(project=ABSENT)) as desk:
        desk.put(path, text)
        found = await desk.lsp("symbols", path=path)
        rows = [(one["name"], one["kind"], one["line"], one.get("container")) for one in found["symbols"]]
        assert rows == expected and "By syntax tree only" in found["note"]
        for one in found["symbols"]:
            assert text.splitlines()[one["line"] - 1][one["character"] :].startswith(one["name"])
        name = expected[-1][0]
        assert [one["name"] for one in (await desk.lsp("symbols", path=path, query=name))["symbols"]] == [
            name
        ]


async def test_the_place_of_a_symbol_is_that_of_its_name(tmp_path):
    async with code_desk(tmp_path, declarations=Declarations(project=ABSENT)) as desk:
        desk.put("A.java", "class A {\n  @Deprecated\n  void e() {}\n}\n")
        desk.put("d.py", "def d(): ...\n")
        for path, place in (("A.java", (3, 7)), ("d.py", (1, 4))):
            found = (await desk.lsp("symbols", path=path))["symbols"][-1]
            assert (found["line"], found["character"]) == place


async def test_what_no_syntax_is_known_for_says_that_there_is_no_server(tmp_path):
    async with code_desk(tmp_path) as desk:
        desk.put_all({"a.unknown": "x", "b.scala": "class A\n"})
        assert (await desk.refused("symbols", path="a.unknown")).code == "language_not_supported"
        assert (
            await desk.refused("hover", path="b.scala", line=1, symbol="A")
        ).code == "language_not_supported"
        agent = of_agent(desk, ("ro", "src"))
        assert (await agent.call("code.lsp", action="symbols", path="b.scala")).type == "error"
