"""What each real server must answer about its fixture project, written down by hand.

Places are `path:line:name`: the column is that of the name in the line of the file, counted in
characters by Python. `name#2` is the second on the line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

ACTIONS = (
    *("diagnostics", "definition", "references", "symbols", "rename", "rename_file", "code_actions"),
    *("hover", "type_definition", "implementation", "status", "reload", "capabilities", "request"),
    *("check_changes", "call_hierarchy", "type_hierarchy"),
)
_WITHOUT_CALLS = frozenset({"bash", "yaml", "json", "css", "html"})
_WITH_TYPES = frozenset({"clangd"})
METHODS = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "rename": "textDocument/rename",
    "code_actions": "textDocument/codeAction",
    "type_definition": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
}
Problem = tuple[str, int, int, str, str | None, str]
"""Path, line, column, severity, code, and words of the message."""
Edit = tuple[str, str, str]
"""Where, what is replaced, and by what; the place's name is where the edit begins."""


@dataclass(frozen=True, kw_only=True)
class Real:
    """One server. `use` is a use of a symbol on the line with emoji and combining characters, `uses` all
    places of the symbol in order, `declared` those of them that are no uses. What is None the server
    does not offer; `lacks` names those actions."""

    server: str
    language: str
    below: str = "."
    lacks: frozenset[str] = frozenset()
    encoding: str = "utf-16"
    use: str
    definition: str | None = None
    uses: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    windows: tuple[str, str]
    """In the file with tabs and CRLF: a use, and its definition; where there is none, what is hovered
    over and the text that its range covers."""
    type_definition: tuple[str, str] | None = None
    implementation: tuple[str, tuple[str, ...]] | None = None
    hover: tuple[str, str, str | None]
    """Where, words of the answer, and the text that its range covers."""
    outline: tuple[str, tuple[tuple[str, str, str], ...]]
    """A file, and its symbols: name, kind, place."""
    search: tuple[str, str] | None = None
    renamed: tuple[str, str]
    """Old and new name of the symbol at `use`."""
    renamed_in: tuple[str, ...] = ()
    moved: tuple[str, str]
    corrected: Mapping[str, str] = field(default_factory=dict)
    action: tuple[str, str, str | None, tuple[Edit, ...]] | None = None
    """Where, title, the command, and the edits."""
    added: Mapping[str, str] = field(default_factory=dict)
    """Files that exist while code actions are asked for."""
    problems: tuple[Problem, ...]
    highlights: tuple[str, ...] = ()
    folds: tuple[tuple[int, int], ...] = ()
    """First and last line from 0, some of those that the server folds."""

    def offers(self, action: str) -> bool:
        """Tell whether the server can do an action."""
        if action == "call_hierarchy":
            return self.server not in _WITHOUT_CALLS
        if action == "type_hierarchy":
            return self.server in _WITH_TYPES
        return action not in self.lacks


PYRIGHT = Real(
    server="pyright",
    language="python",
    below="freight",
    lacks=frozenset({"implementation"}),
    use="freight/report.py:9:total_cost",
    definition="freight/carrier.py:33:total_cost",
    uses=(
        "freight/carrier.py:33:total_cost",
        "freight/invoice.py:3:total_cost",
        "freight/invoice.py:8:total_cost",
        "freight/report.py:3:total_cost",
        "freight/report.py:9:total_cost",
        "freight/windows.py:3:total_cost",
        "freight/windows.py:9:total_cost",
    ),
    declared=("freight/carrier.py:33:total_cost",),
    windows=("freight/windows.py:9:ship", "freight/windows.py:8:ship"),
    type_definition=("freight/windows.py:9:ship", "freight/carrier.py:26:Ship"),
    hover=("freight/report.py:9:total_cost", "Return what all weights cost together.", "total_cost"),
    outline=(
        "freight/windows.py",
        (
            ("Desk", "class", "freight/windows.py:6:Desk"),
            ("quote", "method", "freight/windows.py:7:quote"),
            ("ship", "variable", "freight/windows.py:8:ship"),
        ),
    ),
    search=("total_cost", "freight/carrier.py:33:total_cost"),
    renamed=("total_cost", "cost_of_all"),
    renamed_in=(
        "freight/carrier.py", "freight/invoice.py", "freight/report.py", "freight/windows.py",
    ),
    moved=("freight/windows.py", "freight/tabs.py"),
    problems=(("freight/wrong.py", 5, 23, "error", "reportArgumentType", "Literal['far']"),),
    highlights=("freight/report.py:5:train", "freight/report.py:9:train"),
)  # fmt: skip
BASEDPYRIGHT = replace(
    PYRIGHT,
    server="basedpyright",
    lacks=frozenset(),
    implementation=(
        "freight/carrier.py:13:cost",
        ("freight/carrier.py:13:cost", "freight/carrier.py:21:cost", "freight/carrier.py:29:cost"),
    ),
    moved=("freight/carrier.py", "freight/haulier.py"),
    corrected={"freight.carrier": "freight.haulier"},
    added={"freight/fix.py": 'label = "🚂"; print(total_cost)\n'},
    action=(
        "freight/fix.py:1:total_cost",
        "from freight.carrier import total_cost",
        None,
        (
            ("freight/fix.py:1:total_cost", "total_cost", "total_cost"),
            ("freight/fix.py:1:label", "", "from freight.carrier import total_cost\n\n\n"),
        ),
    ),
)
SCRIPT = Real(
    server="typescript-language-server",
    language="typescript",
    below="src",
    use="src/report.ts:6:totalCost",
    definition="src/carrier.ts:24:totalCost",
    uses=(
        "src/carrier.ts:24:totalCost",
        "src/invoice.ts:1:totalCost",
        "src/invoice.ts:5:totalCost",
        "src/report.ts:1:totalCost",
        "src/report.ts:6:totalCost",
        "src/windows.ts:1:totalCost",
        "src/windows.ts:5:totalCost",
    ),
    declared=("src/carrier.ts:24:totalCost",),
    windows=("src/windows.ts:5:ship", "src/windows.ts:4:ship"),
    type_definition=("src/windows.ts:5:ship", "src/carrier.ts:15:Ship"),
    implementation=("src/carrier.ts:4:cost", ("src/carrier.ts:10:cost", "src/carrier.ts:18:cost")),
    hover=("src/report.ts:6:totalCost", "What all weights cost together.", "totalCost"),
    outline=(
        "src/windows.ts",
        (
            ("quote", "function", "src/windows.ts:3:quote"),
            ("ship", "constant", "src/windows.ts:4:ship"),
        ),
    ),
    search=("totalCost", "src/carrier.ts:24:totalCost"),
    renamed=("totalCost", "costOfAll"),
    renamed_in=("src/carrier.ts", "src/invoice.ts", "src/report.ts", "src/windows.ts"),
    moved=("src/carrier.ts", "src/haulier.ts"),
    corrected={"./carrier.js": "./haulier.js"},
    added={"src/fix.ts": 'import { Ship } from "./carrier.js";\n\n'
           'export const label = "🚂"; export const sum = totalCost(new Ship("x"), []);\n'},
    action=(
        "src/fix.ts:3:totalCost",
        'Update import from "./carrier.js"',
        "_typescript.applyCodeActionCommand",
        (("src/fix.ts:1: }", "", ", totalCost"),),
    ),
    problems=(("src/wrong.ts", 3, 31, "error", "ts(2345)", "not assignable to parameter of type 'number'"),),
    highlights=("src/report.ts:3:train", "src/report.ts:6:train"),
)  # fmt: skip
SCRIPT_7 = replace(
    SCRIPT,
    server="typescript-7",
    encoding="utf-8",
    # An import declares a name too, for this server.
    declared=tuple(one for one in SCRIPT.uses if ":1:" in one or "carrier" in one),
    outline=(
        "src/windows.ts",
        (
            ("Ship", "variable", "src/windows.ts:1:Ship"),
            ("totalCost", "variable", "src/windows.ts:1:totalCost"),
            ("quote", "function", "src/windows.ts:3:quote"),
            ("ship", "variable", "src/windows.ts:4:ship"),
        ),
    ),
    action=("src/fix.ts:3:totalCost", 'Update import from "./carrier.js"', None, SCRIPT.action[3])
    if SCRIPT.action
    else None,
)
GO = Real(
    server="gopls",
    language="go",
    use="report/report.go:12:TotalCost",
    definition="carrier/carrier.go:21:TotalCost",
    uses=(
        "carrier/carrier.go:21:TotalCost",
        "invoice/invoice.go:8:TotalCost",
        "report/report.go:12:TotalCost",
        "windows/windows.go:8:TotalCost",
    ),
    declared=("carrier/carrier.go:21:TotalCost",),
    windows=("windows/windows.go:8:ship", "windows/windows.go:7:ship"),
    type_definition=("windows/windows.go:8:ship", "carrier/carrier.go:16:Ship"),
    implementation=(
        "carrier/carrier.go:7:Cost", ("carrier/carrier.go:13:Cost", "carrier/carrier.go:18:Cost"),
    ),
    hover=("report/report.go:12:TotalCost", "TotalCost is what all weights cost together.", "TotalCost"),
    outline=("windows/windows.go", (("Quote", "function", "windows/windows.go:6:Quote"),)),
    search=("TotalCost", "carrier/carrier.go:21:TotalCost"),
    renamed=("TotalCost", "CostOfAll"),
    renamed_in=(
        "carrier/carrier.go", "invoice/invoice.go", "report/report.go", "windows/windows.go",
    ),
    moved=("windows/windows.go", "windows/tabs.go"),
    added={"fix/fix.go": 'package fix\n\nimport "example.com/freight/carrier"\n\n'
           'var s, t = "🚂", carrier.Train{}\n'},
    action=(
        "fix/fix.go:5:Train",
        "Fill example.com/freight/carrier.Train",
        None,
        (("fix/fix.go:5:carrier", "carrier.Train{}", "carrier.Train{\n\tDistance: 0,\n}"),),
    ),
    problems=(("wrong/wrong.go", 6, 36, "error", "IncompatibleAssign", "as int value"),),
    highlights=("report/report.go:11:train", "report/report.go:12:train"),
)  # fmt: skip
RUST = Real(
    server="rust-analyzer",
    language="rust",
    below="src",
    encoding="utf-32",
    use="src/report.rs:7:total_cost",
    definition="src/carrier.rs:30:total_cost",
    uses=(
        "src/carrier.rs:30:total_cost",
        "src/invoice.rs:3:total_cost",
        "src/invoice.rs:9:total_cost",
        "src/report.rs:3:total_cost",
        "src/report.rs:7:total_cost",
        "src/windows.rs:3:total_cost",
        "src/windows.rs:7:total_cost",
    ),
    declared=("src/carrier.rs:30:total_cost",),
    windows=("src/windows.rs:7:ship", "src/windows.rs:6:ship"),
    type_definition=("src/windows.rs:7:ship", "src/carrier.rs:19:Ship"),
    implementation=("src/carrier.rs:6:cost", ("src/carrier.rs:14:cost", "src/carrier.rs:24:cost")),
    hover=("src/report.rs:7:total_cost", "What all weights cost together.", "total_cost"),
    outline=(
        "src/windows.rs",
        (("quote", "function", "src/windows.rs:5:quote"), ("ship", "variable", "src/windows.rs:6:ship")),
    ),
    search=("total_cost", "src/carrier.rs:30:total_cost"),
    renamed=("total_cost", "cost_of_all"),
    renamed_in=("src/carrier.rs", "src/invoice.rs", "src/report.rs", "src/windows.rs"),
    moved=("src/carrier.rs", "src/haulier.rs"),
    corrected={"crate::carrier": "crate::haulier", "mod carrier;": "mod haulier;"},
    action=(
        "src/report.rs:6:train",
        "Insert explicit type `Train`",
        None,
        (("src/report.rs:6: =", "", ": Train"),),
    ),
    problems=(("src/wrong.rs", 6, 22, "error", "E0308", "expected `u32`, found `&str`"),),
    highlights=("src/report.rs:6:train", "src/report.rs:7:train"),
)
CLANGD = Real(
    server="clangd",
    language="cpp",
    use="src/report.cpp:7:total_cost",
    definition="src/carrier.cpp:7:total_cost",
    uses=(
        "include/carrier.hpp:26:total_cost",
        "src/carrier.cpp:7:total_cost",
        "src/invoice.cpp:5:total_cost",
        "src/report.cpp:7:total_cost",
        "src/windows.cpp:5:total_cost",
    ),
    declared=("include/carrier.hpp:26:total_cost", "src/carrier.cpp:7:total_cost"),
    windows=("src/windows.cpp:5:ship", "src/windows.cpp:4:ship"),
    type_definition=("src/windows.cpp:5:ship", "include/carrier.hpp:20:Ship"),
    implementation=(
        "include/carrier.hpp:8:cost", ("include/carrier.hpp:14:cost", "include/carrier.hpp:22:cost"),
    ),
    hover=("src/report.cpp:7:total_cost", "What two weights cost together.", "total_cost"),
    outline=("src/windows.cpp", (("quote", "function", "src/windows.cpp:3:quote"),)),
    search=("total_cost", "src/carrier.cpp:7:total_cost"),
    renamed=("total_cost", "cost_of_all"),
    renamed_in=(
        "include/carrier.hpp", "src/carrier.cpp", "src/invoice.cpp", "src/report.cpp", "src/windows.cpp",
    ),
    moved=("src/windows.cpp", "src/tabs.cpp"),
    added={"src/fix.cpp": 'int two(int x) {\n    const char *s = "🚂"; if (x = 2) return *s;\n'
           '    return x;\n}\n'},
    action=(
        "src/fix.cpp:2:x",
        "use '==' to turn this assignment into an equality comparison",
        None,
        (("src/fix.cpp:2:= 2", "=", "=="),),
    ),
    problems=(
        ("src/wrong.cpp", 4, 10, "error", "ovl_no_viable_function_in_init", "No matching constructor"),
    ),
    highlights=("src/report.cpp:6:train", "src/report.cpp:7:train"),
)  # fmt: skip
_RETURNS = tuple(
    ("windows.sh", line, column, "error", "SC1017", "Literal carriage return")
    for line, column in ((1, 19), (2, 19), (3, 0), (4, 9), (5, 15), (6, 1), (7, 5))
)
BASH = Real(
    server="bash",
    language="bash",
    lacks=frozenset({"type_definition", "implementation"}),
    use="report.sh:4:total_cost",
    definition="carrier.sh:5:total_cost",
    uses=(
        "carrier.sh:5:total_cost",
        "invoice.sh:4:total_cost",
        "report.sh:4:total_cost",
        "windows.sh:5:total_cost",
    ),
    declared=("carrier.sh:5:total_cost",),
    windows=("windows.sh:7:quote", "windows.sh:4:quote"),
    hover=("report.sh:4:total_cost", "Prints what all weights cost together.", None),
    outline=("windows.sh", (("quote", "function", "windows.sh:4:quote"),)),
    search=("total_cost", "carrier.sh:5:total_cost"),
    renamed=("total_cost", "cost_of_all"),
    renamed_in=("carrier.sh", "invoice.sh", "report.sh", "windows.sh"),
    moved=("windows.sh", "tabs.sh"),
    action=(
        "wrong.sh:2:if",
        "Disable ShellCheck rule SC1046 for the entire file",
        None,
        (("wrong.sh:2:if", "", "# shellcheck disable=SC1046\n"),),
    ),
    problems=(
        *_RETURNS,
        ("wrong.sh", 2, 0, "error", "SC1046", "Couldn't find 'fi'"),
        ("wrong.sh", 2, 0, "error", "SC1073", "Couldn't parse this if"),
        ("wrong.sh", 4, 0, "error", "SC1047", "Expected 'fi'"),
        ("wrong.sh", 4, 0, "error", "SC1072", "Expected 'fi'"),
    ),
    highlights=("invoice.sh:4:due", "invoice.sh:5:due"),
)
YAML = Real(
    server="yaml",
    language="yaml",
    lacks=frozenset({"references", "type_definition", "implementation"}),
    use="freight.yaml:6:train",
    definition="freight.yaml:4:name",
    windows=("windows.yaml:4:distance", "distance"),
    hover=("freight.yaml:7:distance", "How far it goes, in kilometres", "distance"),
    outline=(
        "windows.yaml",
        (
            ("carriers", "array", "windows.yaml:2:carriers"),
            ("0", "module", "windows.yaml:3:name"),
            ("name", "string", "windows.yaml:3:name"),
            ("distance", "number", "windows.yaml:4:distance"),
        ),
    ),
    renamed=("train", "railway"),
    renamed_in=("freight.yaml",),
    moved=("windows.yaml", "tabs.yaml"),
    added={"fix.yaml": '"🚂 é́": &unused 1\n'},
    action=("fix.yaml:1:unused", "Delete unused anchor: &unused", None, (("fix.yaml:1:&", "&unused ", ""),)),
    problems=(("wrong.yaml", 4, 14, "error", "0", 'Incorrect type. Expected "integer"'),),
    folds=((1, 6),),
)
JSON = Real(
    server="json",
    language="json",
    lacks=frozenset({"definition", "references", "rename", "type_definition", "implementation"}),
    use="freight.json:4:distance",
    windows=("windows.json:3:distance", '"distance"'),
    hover=("freight.json:4:distance", "How far it goes, in kilometres", '"distance"'),
    outline=(
        "windows.json",
        (
            ("$schema", "string", 'windows.json:2:"$schema"'),
            ("carriers", "array", 'windows.json:3:"carriers"'),
            ("0", "module", "windows.json:3:{"),
            ("name", "string", 'windows.json:3:"name"'),
            ("distance", "number", 'windows.json:3:"distance"'),
        ),
    ),
    renamed=("distance", "way"),
    moved=("windows.json", "tabs.json"),
    action=("freight.json:4:distance", "Sort JSON", "json.sort", ()),
    problems=(("wrong.json", 3, 46, "warning", None, 'Incorrect type. Expected "integer"'),),
    folds=((0, 5), (2, 4)),
)
CSS = Real(
    server="css",
    language="css",
    lacks=frozenset({"type_definition", "implementation"}),
    use="theme.scss:4:$accent",
    definition="theme.scss:1:$accent",
    uses=("theme.scss:1:$accent", "theme.scss:4:$accent", "theme.scss:5:$accent"),
    declared=("theme.scss:1:$accent",),
    windows=("windows.css:2:color", "color: #10c030"),
    hover=("freight.css:6:color", "Sets the color of an element's text", "color: var(--accent)"),
    outline=("windows.css", ((".ship", "class", "windows.css:1:.ship"),)),
    renamed=("$accent", "$colour"),
    renamed_in=("theme.scss",),
    moved=("windows.css", "tabs.css"),
    action=("wrong.css:2:colour", "Rename to 'color'", "_css.applyCodeAction", ()),
    problems=(
        ("wrong.css", 2, 2, "warning", "unknownProperties", "Unknown property: 'colour'"),
        ("wrong.css", 3, 10, "error", "css-propertyvalueexpected", "property value expected"),
    ),
    highlights=("theme.scss:1:$accent", "theme.scss:4:$accent", "theme.scss:5:$accent"),
    folds=((2, 4),),
)
HTML = Real(
    server="html",
    language="html",
    lacks=frozenset({"code_actions", "type_definition", "implementation"}),
    use="index.html:13:totalCost",
    definition="index.html:10:totalCost",
    uses=("index.html:10:totalCost", "index.html:13:totalCost"),
    declared=("index.html:10:totalCost",),
    windows=("windows.html:4:id", "id"),
    hover=("index.html:17:em#1", "stress emphasis", "em"),
    outline=(
        "windows.html",
        (
            ("html", "field", "windows.html:2:html"),
            ("body", "field", "windows.html:3:body"),
            ("p#quote", "field", "windows.html:4:<p"),
        ),
    ),
    renamed=("totalCost", "costOfAll"),
    renamed_in=("index.html",),
    moved=("windows.html", "tabs.html"),
    problems=(
        ("wrong.html", 5, 22, "error", "css-propertyvalueexpected", "property value expected"),
        ("wrong.html", 8, 20, "error", None, "Expression expected"),
    ),
    highlights=("index.html:10:totalCost", "index.html:13:totalCost"),
    folds=((5, 6), (9, 11)),
)
ALL: Mapping[str, Real] = {
    one.server: one
    for one in (*(PYRIGHT, BASEDPYRIGHT, SCRIPT, SCRIPT_7, GO, RUST, CLANGD, BASH, YAML, JSON, CSS, HTML),)
}


def parts(place: str) -> tuple[str, int, str]:
    """Take a place apart: path, line, name."""
    path, line, name = place.split(":", 2)
    return path, int(line), name


def asked(place: str) -> dict[str, Any]:
    """Return a place as a call gives it, by name."""
    path, line, name = parts(place)
    return {"path": path, "line": line, "symbol": name}
