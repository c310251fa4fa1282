"""One test of a project, as its runner is asked for it.

Owns: reading `test`, which runner it is for, and the command line that rules judge. Never: looking at
files, or starting anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from app.tools.debug.wrong_parameter import wrong

Runner = Literal["pytest", "unittest", "node", "vitest", "jest", "go", "cargo"]
SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
_BY_ENDING: Mapping[str, Runner] = {
    ".py": "pytest",
    **dict.fromkeys(SCRIPTS, "node"),
    ".go": "go",
    ".rs": "cargo",
}
_RUNTIMES: Mapping[Runner, str] = {
    "pytest": "python",
    "unittest": "python",
    "node": "node",
    "vitest": "node",
    "jest": "node",
    "go": "go",
    "cargo": "rust",
}
_DOTTED = re.compile(r"[A-Za-z_]\w*+(?>(?:\.[A-Za-z_]\w*+)+)")
_EXAMPLE = (
    'give "tests/test_a.py::test_x", "pkg/a_test.go::TestX", "src/lib.rs::tests::name" or '
    '"test/a.test.js::name"'
)


@dataclass(frozen=True, slots=True)
class ProjectTest:
    """`path` is the file as the caller wrote it, None for a dotted name of unittest; `name` is the test in
    it, empty for all of the file."""

    runner: Runner
    path: str | None
    name: str

    @property
    def runtime(self) -> str:
        return _RUNTIMES[self.runner]

    @property
    def command_line(self) -> str:
        """How a shell would run it."""
        return shlex.join(_words(self))


def _words(test: ProjectTest) -> list[str]:
    path, name = test.path or "", test.name
    pattern = ("-t", name) if name else ()
    match test.runner:
        case "pytest":
            return ["python", "-m", "pytest", f"{path}::{name}" if name else path]
        case "unittest":
            return ["python", "-m", "unittest", dotted_name(test)]
        case "node":
            return ["node", "--test", *(("--test-name-pattern", name) if name else ()), path]
        case "vitest":
            return ["vitest", "run", path, *pattern]
        case "jest":
            return ["jest", path, *pattern]
        case "go":
            folder = (path.rpartition("/")[0] if path.endswith(".go") else path).removeprefix("./")
            return ["go", "test", *(("-run", f"^{name}$") if name else ()), f"./{folder}"]
        case "cargo":
            return ["cargo", "test", *((name, "--", "--exact") if name else ())]


def read_test(text: str, runner: Runner | None) -> ProjectTest:
    """Read `test`. Raises ToolError `invalid_params`."""
    path, _, name = text.strip().partition("::")
    if runner in (None, "unittest") and not name and _DOTTED.fullmatch(path) and not path.endswith(".py"):
        return ProjectTest("unittest", None, path)
    ending = next((one for one in _BY_ENDING if path.endswith(one)), "")
    found = runner or _BY_ENDING.get(ending)
    if found is None:
        raise wrong("test", f"names no test that is known here; {_EXAMPLE}, or say the runner")
    if not path or path.startswith("-"):
        raise wrong("test", f"names no file; {_EXAMPLE}")
    return ProjectTest(found, path, name)


def dotted_name(target: ProjectTest) -> str:
    """Return a test as unittest names it: `tests.test_a.Case.test_x`."""
    if target.path is None:
        return target.name
    module = target.path.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
    return ".".join(filter(None, (module, target.name.replace("::", "."))))
