"""There is one way to a project's files: who opens files otherwise is named here, and what for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

APP = Path(__file__).resolve().parents[2] / "app"
LOOKED_AT = ("tools", "harness", "bridges", "daemon", "api")
READERS = {"read_text", "read_bytes", "write_text", "write_bytes", "read_beginning"}
MODES = {"r", "rb", "w", "wb", "a", "ab", "xb"}
OWN = "the daemon's own files"
INSTALLED = "files of installed programs, of which only the beginning is read"
PROCESSES = "what the kernel says of processes"
OTHERWISE = {
    "api/built_page.py": OWN,
    "bridges/processes/birthmark.py": PROCESSES,
    "bridges/dap/breakpoint_lines.py": "lines of sources that the workspace has judged; they are not told",
    "bridges/dap/start_arguments.py": "the beginning of a program that the workspace has judged",
    "bridges/processes/guardian.py": PROCESSES,
    "bridges/processes/guardian_process.py": PROCESSES,
    "bridges/installed/installation_places.py": INSTALLED,
    "bridges/dap/rust_formatters.py": INSTALLED,
    "bridges/lsp/installations.py": INSTALLED,
    "bridges/lsp/units.py": "manifests that a watch of the tree has named; of their text nothing is told",
    "bridges/mcp/added_servers.py": OWN,
    "bridges/dap/prompt_debugpy.py": "the null device, for what debugpy prints",
    "bridges/mcp/sign_ins.py": OWN,
    "bridges/network/resolving.py": "the hosts file of the machine",
    "bridges/processes/pipes.py": OWN,
    "bridges/plugins/package.py": "manifests of packages that the operator has installed",
    "bridges/processes/proc.py": PROCESSES,
    "bridges/processes/tcp_peers.py": PROCESSES,
    "bridges/processes/waiting.py": PROCESSES,
    "bridges/installed/written_programs.py": "the first line of a declared program; it is not told",
    "harness/changes/line_diffs.py": OWN,
    "harness/checkpoints/git_objects.py": "files of attributes, in which words are looked for and not told",
    "harness/checkpoints/plain_objects.py": OWN,
    "harness/checkpoints/stored_objects.py": OWN,
    "daemon/debug_terminals.py": "the folder of a debugged program, in whose cage it is looked up again",
    "harness/conversation/gated_lines.py": "lines that are withheld; they are compared and not told",
    "harness/dsl/starter.py": OWN,
    "harness/dsl/watcher.py": "digests of project files, by which a change is noticed",
    "harness/git/index_change.py": "the index of a repository and its lock, by git's own rules",
    "harness/git/ref_change.py": OWN,
    "harness/hooks/commands/claude_settings.py": "settings that the operator imports; they run nothing",
    "harness/projects/machine_folders.py": "folders of the machine, which an operator looks through; no file",
    "harness/providers/drivers/replay/transcript.py": "transcripts that the operator has chosen",
    "harness/workspaces/small_files.py": "rules of a repository and records of installed packages, no links",
    "harness/uploads/content.py": OWN,
    "harness/workspaces/branches.py": "packs of objects that git has written",
    "harness/workspaces/clone.py": "small files of repositories, whose text goes into another one",
    "harness/workspaces/copying.py": "a whole folder, opened once and then walked without following links",
    "harness/workspaces/creation.py": OWN,
    "harness/workspaces/furnishing.py": "the root itself; what a pattern names goes by the workspace",
    "harness/workspaces/walking.py": "a whole folder, opened once and then walked without following links",
    "harness/workspaces/git_folder.py": OWN,
    "harness/workspaces/snapshots.py": "files that git has written into the daemon's own folder",
    "harness/uploads/placement.py": OWN,
    "tools/ast_grep/snapshot.py": OWN,
    "tools/code/loose_files.py": "whether a configuration of a language tells of its sources",
    "tools/contract/definition.py": OWN,
    "tools/debug/hang.py": PROCESSES,
    "tools/debug/thread_stacks.py": OWN,
    "tools/debug/why.py": "a program of this package, by its own path",
    "tools/dispatch/model_view.py": OWN,
    "tools/contract/output.py": OWN,
    "tools/search/kept_lists.py": "the root itself, for the program that lists it",
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


@pytest.mark.requirement("cages.paths.one")
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
