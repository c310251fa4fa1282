"""The rules of the house as functions: a source file in, sentences about what breaks them out."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from tests.architecture.quantifiers import no_nested_quantifiers
from tests.architecture.source_tree import SourceFile, dotted, imported_names

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
BANNED_NAMES = frozenset({"utils", "helpers", "common", "misc", "shared", "core", "base"})
_SPAWNERS = ("subprocess", "asyncio.create_subprocess", "os.fork", "os.posix_spawn", "os.system", "pty.fork")
_STARTERS = frozenset(
    {"app/bridges/processes/process.py"}
    | {f"app/bridges/sandbox/{name}_process.py" for name in ("holder", "canary")}
)
"""The daemon's children are started by the one, what is in a cage by the others."""
_ITS_OWN_ENVIRONMENT = "app/bridges/sandbox/landlock_process.py"
"""A program of its own, to which the daemon gives nothing in its environment but its mark."""
_MERE_LOOKUPS = {
    "app/bridges/installed/installation_places.py": "on the path that `programs.search_path` gives",
    "app/bridges/sandbox/one_cage.py": "in folders of the system only",
    "app/cli/install_advice.py": "to name a package manager in a sentence",
    "app/tools/project/recipe.py": "to say that the runner of a task is not there",
}
"""Where a name is looked up on a path, and why that starts nothing which lies in a project. Programs of the
daemon are found by `app.programs`."""
_LATE_IMPORTS = ("app/cli/", "app/main.py", "app/daemon/trace_destinations.py")
"""These import what they name in a type only when they need it: a command starts fast."""
_BARE_IGNORE = re.compile(r"#\s*(type:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]))")

Rule = Callable[[SourceFile], Iterator[str]]


def short_files(source: SourceFile) -> Iterator[str]:
    if len(source.lines) > MAX_FILE_LINES:
        yield f"{source.path} has {len(source.lines)} lines; split it below {MAX_FILE_LINES}"


def short_functions(source: SourceFile) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{source.path}:{node.lineno} {node.name} has {length} lines"


def telling_names(source: SourceFile) -> Iterator[str]:
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if part in BANNED_NAMES:
            yield f"{source.path}: name what it is about, not {part!r}"


def module_docstrings(source: SourceFile) -> Iterator[str]:
    if source.tree.body and not ast.get_docstring(source.tree):
        yield f"{source.path} does not say what it owns"


def environment_only_in_config(source: SourceFile) -> Iterator[str]:
    if source.path.startswith("app/config") or source.path == _ITS_OWN_ENVIRONMENT:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and dotted(node) in {"os.environ", "os.getenv", "os.environb"}:
            yield f"{source.path}:{node.lineno} reads the environment"
    for line, name in imported_names(source):
        if name in {"os.environ", "os.getenv"}:
            yield f"{source.path}:{line} reads the environment"


def children_only_in_process(source: SourceFile) -> Iterator[str]:
    if source.path in _STARTERS:
        return
    for line, name in imported_names(source):
        if name.startswith(_SPAWNERS):
            yield f"{source.path}:{line} imports {name}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and dotted(node).startswith(_SPAWNERS):
            yield f"{source.path}:{node.lineno} uses {dotted(node)}"


def programs_found_by_place(source: SourceFile) -> Iterator[str]:
    if source.path in _MERE_LOOKUPS:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and dotted(node) == "shutil.which":
            yield f"{source.path}:{node.lineno} looks a program up; `app.programs` never finds a project's"
    for line, name in imported_names(source):
        if name == "shutil.which":
            yield f"{source.path}:{line} imports {name}"


def queries_only_in_storage(source: SourceFile) -> Iterator[str]:
    if source.path.startswith("app/storage/"):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "select":
            yield f"{source.path}:{node.lineno} queries the database"
    for line, name in imported_names(source):
        # A row's type may be named anywhere; what builds and runs statements may not.
        if name.startswith(("sqlalchemy", "sqlmodel", "psycopg", "sqlite3")) and name != "sqlmodel.SQLModel":
            yield f"{source.path}:{line} imports {name}"


def commits_only_in_writer(source: SourceFile) -> Iterator[str]:
    if source.path in {"app/storage/unit_of_work.py", "app/storage/writer.py"}:
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit":
            yield f"{source.path}:{node.lineno} commits"


def states_only_by_the_table(source: SourceFile) -> Iterator[str]:
    if source.path == "app/states.py":
        return
    for node in ast.walk(source.tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr == "state":
                yield f"{source.path}:{node.lineno} assigns a state"


def no_http_exception(source: SourceFile) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Raise) and "HTTPException" in ast.dump(node):
            yield f"{source.path}:{node.lineno} raises HTTPException"


def no_print(source: SourceFile) -> Iterator[str]:
    if source.path.startswith("app/cli"):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield f"{source.path}:{node.lineno} prints"


def explained_ignores(source: SourceFile) -> Iterator[str]:
    for number, line in enumerate(source.lines, 1):
        if _BARE_IGNORE.search(line):
            yield f"{source.path}:{number} ignores everything; name the code"


def front_doors_of_bridges(source: SourceFile) -> Iterator[str]:
    """From outside a bridge only its `manager` is imported; bridges do not know each other."""
    for line, name in imported_names(source):
        parts = name.split(".")
        inside_a_bridge = parts[:2] == ["app", "bridges"] and parts[2:3] and parts[2] in _BRIDGES
        if not inside_a_bridge or source.path.startswith(f"app/bridges/{parts[2]}/"):
            continue
        if source.path.startswith("app/bridges/"):
            yield f"{source.path}:{line} imports another bridge, {name}"
        elif parts[3:4] != ["manager"]:
            yield f"{source.path}:{line} goes past the front door of {'.'.join(parts[:3])}"


def types_are_imported_plainly(source: SourceFile) -> Iterator[str]:
    """An import for types alone hides a circle."""
    if source.path.startswith(_LATE_IMPORTS):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            for one in node.body:
                if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("app."):
                    yield f"{source.path}:{one.lineno} imports {one.module} for its types alone"


_BRIDGES = frozenset({"lsp", "dap", "pty", "sandbox", "mcp", "plugins"})

RULES: tuple[Rule, ...] = (
    short_files,
    short_functions,
    telling_names,
    module_docstrings,
    environment_only_in_config,
    children_only_in_process,
    programs_found_by_place,
    queries_only_in_storage,
    commits_only_in_writer,
    states_only_by_the_table,
    no_http_exception,
    no_print,
    explained_ignores,
    front_doors_of_bridges,
    types_are_imported_plainly,
    no_nested_quantifiers,
)
