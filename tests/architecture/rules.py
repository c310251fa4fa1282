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
MAX_FIELDS = 15
MAX_CONSTRUCTOR = 8
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
    "app/tools/project/recipe.py": "to say that the runner of a task is not there",
}
"""Where a name is looked up on a path, and why that starts nothing which lies in a project. Programs of the
daemon are found by `app.programs`."""
_LATE_IMPORTS = ("app/cli/", "app/main.py", "app/daemon/trace_destinations.py", "app/bridges/mcp/")
"""These import what they name in a type only when they need it: a command starts fast, and a daemon that uses
no MCP server does not load the library."""
_STATE_COLUMNS = frozenset({"state", "status"})
_STORES = frozenset({"update", "sqlmodel_update", "model_copy", "decide", "close", "move"})
_NOTES_WITHOUT_MOVES = frozenset({"app/harness/checkpoints/worktree_notes.py"})
"""What becomes of a note of files is written once; there is no way from one word to another."""
_LARGE_OBJECTS = frozenset({("app/tools/contract/definition.py", "ToolDefinition")})
"""The description of a tool, which the interface publishes as it is. None is added."""
_OPEN_KEYWORDS = (
    "app/storage/",  # columns of a row
    "app/bridges/",
    "app/connections.py",
    "app/observability/",
    "app/plugins/sdk.py",
    "app/cli/connected.py",
    "app/workspace/paths.py",
    "app/api/kaged_route.py",
)
"""What stores keywords, or passes them on to an interface that is not ours. All other code names them."""
_BARE_IGNORE = re.compile(r"#\s*(type:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]))")

Rule = Callable[[SourceFile], Iterator[str]]


_ROUTE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) /|/api/v1/.*\s|\s/api/v1/")
_ABOUT_ROUTES = ("app/api/schemas/", "app/api/openapi_document.py", "app/api/chat/", "app/cli/")
"""What describes the interface to those who write clients of it, and what calls it."""


def no_routes_in_sentences(source: SourceFile) -> Iterator[str]:
    """Messages are read by people on a page and in a terminal: a route stands in `details.route`."""
    if source.path.startswith(_ABOUT_ROUTES):
        return
    told = {
        id(node.value)
        for node in source.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    pieces = {id(piece) for node in source.nodes if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in source.nodes:
        text = node.value if isinstance(node, ast.Constant) and id(node) not in told else None
        if not isinstance(text, str) or not _ROUTE.search(text):
            continue
        if id(node) in pieces or not re.fullmatch(r"[A-Z]+ /api/v1/\S+", text):
            yield f"{source.path}:{node.lineno} names a route in a sentence: {text[:60]!r}"


def short_files(source: SourceFile) -> Iterator[str]:
    if len(source.lines) > MAX_FILE_LINES:
        yield f"{source.path} has {len(source.lines)} lines; split it below {MAX_FILE_LINES}"


def short_functions(source: SourceFile) -> Iterator[str]:
    for node in source.nodes:
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
    for node in source.nodes:
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
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and dotted(node).startswith(_SPAWNERS):
            yield f"{source.path}:{node.lineno} uses {dotted(node)}"


def programs_found_by_place(source: SourceFile) -> Iterator[str]:
    if source.path in _MERE_LOOKUPS:
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and dotted(node) == "shutil.which":
            yield f"{source.path}:{node.lineno} looks a program up; `app.programs` never finds a project's"
    for line, name in imported_names(source):
        if name == "shutil.which":
            yield f"{source.path}:{line} imports {name}"


def queries_only_in_storage(source: SourceFile) -> Iterator[str]:
    if source.path.startswith("app/storage/"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "select":
            yield f"{source.path}:{node.lineno} queries the database"
    for line, name in imported_names(source):
        # A row's type may be named anywhere; what builds and runs statements may not.
        if name.startswith(("sqlalchemy", "sqlmodel", "psycopg", "sqlite3")) and name != "sqlmodel.SQLModel":
            yield f"{source.path}:{line} imports {name}"


def commits_only_in_writer(source: SourceFile) -> Iterator[str]:
    if source.path in {"app/storage/unit_of_work.py", "app/storage/writer.py"}:
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit":
            yield f"{source.path}:{node.lineno} commits"


def states_only_by_the_table(source: SourceFile) -> Iterator[str]:
    """A new row begins in a state. After that, only a state that a table has returned is stored."""
    if source.path == "app/states.py" or source.path.startswith("app/storage/"):
        return
    for node in source.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr == "state":
                yield f"{source.path}:{node.lineno} assigns a state"
        if source.path in _NOTES_WITHOUT_MOVES:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STORES:
            given = [(one.arg, one.value) for one in node.keywords]
            given += [pair for one in node.args for pair in _entries(one)]
            given += [pair for one in node.keywords if one.arg == "update" for pair in _entries(one.value)]
            for name, value in given:
                if name in _STATE_COLUMNS and (_is_member(value) or isinstance(value, ast.Constant)):
                    yield f"{source.path}:{node.lineno} stores a state that no table has returned"
        elif isinstance(node, ast.Dict):
            for name, value in _entries(node):
                if name in _STATE_COLUMNS and _is_member(value):
                    yield f"{source.path}:{node.lineno} holds a state that no table has returned"


def _entries(node: ast.AST) -> Iterator[tuple[str | None, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
        if isinstance(key, ast.Constant):
            yield key.value, value


def _is_member(node: ast.AST) -> bool:
    """Tell whether this is `SomeState.MEMBER`, or its value."""
    return re.fullmatch(r"(?:\w+\.)*\w+State\.[A-Z_]+(?:\.value)?", dotted(node)) is not None


def small_objects(source: SourceFile) -> Iterator[str]:
    """A shape that is read or stored as it is may be as large as it is outside."""
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or (node.bases and not _is_plain(node)):
            continue
        fields = {
            one.target.id
            for one in node.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }
        fields |= {
            one.attr
            for one in ast.walk(node)
            if isinstance(one, ast.Attribute)
            and isinstance(one.ctx, ast.Store)
            and dotted(one.value) == "self"
        }
        if len(fields) > MAX_FIELDS and (source.path, node.name) not in _LARGE_OBJECTS:
            yield f"{source.path}:{node.lineno} {node.name} has {len(fields)} fields"


def _is_plain(node: ast.ClassDef) -> bool:
    return {dotted(base).rpartition(".")[2] for base in node.bases} <= {
        "Protocol",
        "Generic",
        "ABC",
        "",
        "Fold",
    }


def short_constructors(source: SourceFile) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs) - 1
            if count > MAX_CONSTRUCTOR:
                yield f"{source.path}:{node.lineno} is made of {count} parts"


def few_open_keywords(source: SourceFile) -> Iterator[str]:
    """What a function takes stands in its signature."""
    if source.path.startswith(_OPEN_KEYWORDS):
        return
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            open_end = node.args.kwarg
            if (
                open_end is not None
                and open_end.annotation is not None
                and dotted(open_end.annotation) == "Any"
            ):
                yield f"{source.path}:{node.lineno} {node.name} takes any keyword"


def no_http_exception(source: SourceFile) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Raise) and "HTTPException" in ast.dump(node):
            yield f"{source.path}:{node.lineno} raises HTTPException"


def no_print(source: SourceFile) -> Iterator[str]:
    if source.path.startswith("app/cli"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield f"{source.path}:{node.lineno} prints"


def explained_ignores(source: SourceFile) -> Iterator[str]:
    for number, line in enumerate(source.lines, 1):
        if _BARE_IGNORE.search(line):
            yield f"{source.path}:{number} ignores everything; name the code"


def types_are_imported_plainly(source: SourceFile) -> Iterator[str]:
    """An import for types alone hides a circle."""
    if source.path.startswith(_LATE_IMPORTS):
        return
    for node in source.nodes:
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            for one in node.body:
                if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("app."):
                    yield f"{source.path}:{one.lineno} imports {one.module} for its types alone"


def routes_import_the_services_alone(source: SourceFile) -> Iterator[str]:
    for line, name in imported_names(source):
        if source.path.startswith("app/api/") and name.startswith("app.daemon."):
            if not name.startswith("app.daemon.services."):
                yield f"{source.path}:{line} imports {name}; routes are given `app.daemon.services`"
        elif name.startswith("app.daemon.lifespan") and source.path not in (
            "app/main.py",
            "app/daemon/lifespan.py",
        ):
            yield f"{source.path}:{line} imports {name}, which is for `app.main` alone"


RULES: tuple[Rule, ...] = (
    no_routes_in_sentences,
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
    small_objects,
    short_constructors,
    few_open_keywords,
    no_http_exception,
    no_print,
    explained_ignores,
    types_are_imported_plainly,
    no_nested_quantifiers,
    routes_import_the_services_alone,
)
