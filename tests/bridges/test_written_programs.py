"""Programs that a caged agent may write run only in a cage that reads no more than that agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.bridges.installed.written_programs import CagedAgent, Started, check_written
from app.cages.file_grants import FileGrants
from app.cages.readable import ALL, Readable
from app.errors import ToolError

pytestmark = pytest.mark.requirement("security.server_views")


def agent(root: Path, *fs: tuple[str, str]) -> CagedAgent:
    grants = FileGrants.of([{"mode": mode, "path": path} for mode, path in fs], root)
    return CagedAgent("primary.subagents.worker", grants)


def reading(root: Path, *fs: tuple[str, str]) -> Readable:
    return Readable.of(agent(root, *fs).grants)


def program(path: Path, text: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def project(base: Path) -> Path:
    """Make a project with programs of all kinds, and one outside of it."""
    root = base / "project"
    program(root / "tools" / "server")
    program(root / "tools" / "script.py", "#!/usr/bin/python3\n")
    program(root / ".venv" / "bin" / "python")
    (root / ".venv" / "pyvenv.cfg").touch()
    program(root / "node_modules" / "server" / "bin.js", "#!/usr/bin/env node\n")
    program(root / "start", f"#!{root}/.venv/bin/python\n")
    (root / "link").symlink_to("tools/server")
    (base / "outward").symlink_to(root / "tools" / "server")
    (root / "src").mkdir()
    program(base / "elsewhere" / "server")
    return root


COMMANDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "program": (("{root}/tools/server",), "tools"),
    "by-a-link": (("{root}/link",), "tools"),
    "by-a-link-from-outside": (("{base}/outward",), "tools"),
    "script": (("/usr/bin/python3", "tools/script.py"), "tools"),
    "beside-the-script": (("/usr/bin/python3", "tools/script.py"), "tools/json.py"),
    "named-by-an-option": (("/usr/bin/node", "--require=./tools/script.py"), "tools"),
    "in-a-line-for-a-shell": (("/bin/sh", "-c", "exec ./tools/server --stdio"), "tools"),
    "virtual-environment": (("{root}/.venv/bin/python",), ".venv/lib"),
    "interpreter-of-a-script": (("{root}/start",), ".venv"),
    "package": (("/usr/bin/node", "node_modules/server/bin.js"), "node_modules/other"),
    "runner": (("/usr/bin/npx", "server"), "node_modules"),
    "module-of-the-folder": (("/usr/bin/python3", "-m", "server"), "."),
}


@pytest.mark.parametrize(("command", "written"), COMMANDS.values(), ids=COMMANDS)
def test_a_program_that_an_agent_may_write_runs_within_its_sight_only(
    command: tuple[str, ...], written: str, tmp_path: Path
) -> None:
    root = project(tmp_path)
    words = [word.format(root=root, base=tmp_path) for word in command]
    started = Started(words, root, root)
    writer = agent(root, ("ro", "src"), ("rw", written))
    for reads in (None, ALL, reading(root, ("ro", "src"), ("ro", "docs"))):
        if written == "." and reads is not None:
            continue  # it reads all
        with pytest.raises(ToolError) as refused:
            check_written(started, [writer], reads)
        assert refused.value.code == "program_writable_in_cage"
        assert "primary.subagents.worker" in refused.value.message
    assert check_written(started, [writer], reading(root, ("ro", "src"))) is True
    assert check_written(started, [agent(root, ("ro", "."), ("rw", "src"))], None) is False


def settings(root: Path) -> dict[str, Any]:
    return {"python": {"pythonPath": "${workspaceFolder}/.venv/bin/python"}}


def test_programs_in_the_settings_and_the_environment_count_too(tmp_path: Path) -> None:
    root = project(tmp_path)
    writer = agent(root, ("rw", ".venv"), ("rw", "tools"))
    outside = (str(tmp_path / "elsewhere" / "server"),)
    assert check_written(Started(outside, root, root), [writer], None) is False
    for told in (
        {"settings": settings(root)},
        {"env": {"PYTHONPATH": "tools"}},
        {"env": {"X": "-r ./tools/script.py"}},
    ):
        with pytest.raises(ToolError):
            check_written(Started(outside, root, root, **told), [writer], None)


def test_one_reads_no_more_than_another_by_what_counts_and_not_by_how_it_is_written(tmp_path: Path) -> None:
    src = reading(tmp_path, ("rw", "src"))
    assert src == reading(tmp_path, ("ro", "src"), ("ro", "src/deep")) and not src.is_all
    assert reading(tmp_path, ("rw", "."), ("ro", "src")).is_all
    hidden = reading(tmp_path, ("ro", "."), ("deny", "src/secret"))
    assert ALL.covers(hidden) and not hidden.covers(ALL) and not hidden.covers(src)
    assert hidden.covers(reading(tmp_path, ("ro", "src"), ("deny", "src/secret")))
    assert Readable.of(FileGrants.of([{"mode": "ro", "path": "."}], tmp_path), [("src", "secret")]) == hidden
