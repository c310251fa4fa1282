"""There is one way to a project's files: who opens files otherwise is named here, and what for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

APP = Path(__file__).resolve().parents[2] / "app"
LOOKED_AT = ("tools", "harness", "bridges", "api")
READERS = {"read_text", "read_bytes", "write_text", "write_bytes", "read_beginning"}
MODES = {"r", "rb", "w", "wb", "a", "ab", "xb"}
OWN = "the daemon's own files"
INSTALLED = "files of installed programs, of which only the beginning is read"
PROCESSES = "what the kernel says of processes"
RULES = "rules of what is ignored, plain files only; what they leave out is all that is told of them"
OTHERWISE = {
    "api/web/sign_in.py": OWN,
    "bridges/dap/breakpoint_lines.py": "lines of sources that the workspace has judged; they are not told",
    "bridges/dap/start_arguments.py": "the beginning of a program that the workspace has judged",
    "bridges/guardian.py": PROCESSES,
    "bridges/guardian_process.py": PROCESSES,
    "bridges/installation_places.py": INSTALLED,
    "bridges/lsp/installations.py": INSTALLED,
    "bridges/pipes.py": OWN,
    "bridges/plugins/package.py": "manifests of packages that the operator has installed",
    "bridges/proc.py": PROCESSES,
    "harness/checkpoints/git_objects.py": OWN,
    "harness/debug_terminals.py": "the folder of a debugged program, in whose cage it is looked up again",
    "harness/dsl/starter.py": OWN,
    "harness/dsl/watcher.py": "digests of project files, by which a change is noticed",
    "harness/providers/transcript.py": "transcripts that the operator has chosen",
    "harness/uploads/content.py": OWN,
    "harness/uploads/placement.py": OWN,
    "tools/ast_grep/snapshot.py": OWN,
    "tools/code/loose_files.py": "whether a configuration of a language tells of its sources",
    "tools/debug/own_processes.py": PROCESSES,
    "tools/description.py": OWN,
    "tools/output.py": OWN,
    "tools/project_cage.py": "where git keeps a repository, for its cage",
    "tools/search/folder_rules.py": RULES,
    "tools/search/ignore_rules.py": RULES,
    "tools/search/kept_lists.py": "the root itself, for the program that lists it",
    "tools/search/python_engine.py": "the folder that it was started in",
}
"""What else opens files by their names. A path that a caller, a model, a server or an archive has said is
not among it: that goes by the workspace."""


def _opens(node: ast.Call) -> bool:
    """Tell whether a call opens a file by its name. What has a descriptor to begin with does not."""
    called, first = node.func, node.args[0] if node.args else None
    if any(one.arg == "dir_fd" for one in node.keywords):
        return False
    if isinstance(called, ast.Name):
        return called.id == "read_beginning" or (called.id == "open" and not isinstance(first, ast.Call))
    if not isinstance(called, ast.Attribute):
        return False
    if isinstance(called.value, ast.Name):
        if called.value.id == "os":
            return called.attr == "open"
        if called.value.id == "ast_matches":
            return False  # reads by the workspace
    by_path = called.attr == "open" and isinstance(first, ast.Constant) and first.value in MODES
    return by_path or called.attr in READERS


@pytest.mark.requirement("R8.paths.one")
def test_nobody_else_opens_files_of_a_project():
    found = {
        str(file.relative_to(APP))
        for part in LOOKED_AT
        for file in (APP / part).rglob("*.py")
        if "sandbox" not in file.parts
        and any(_opens(one) for one in ast.walk(ast.parse(file.read_text())) if isinstance(one, ast.Call))
    }
    assert found - OTHERWISE.keys() == set(), "open it by app.workspace, or say here what it is"
    assert OTHERWISE.keys() - found == set(), "nothing is opened there any more"
