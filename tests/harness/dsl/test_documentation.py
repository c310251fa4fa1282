"""`docs/project-file.md` says what the code does: its examples compile, and every code is listed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from app.harness.dsl.compiler import check_text
from tests.driver.project_files import MINIMAL, Catalog

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs/project-file.md").read_text("utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
ON_SUBAGENT = ("cage:",)
ON_AGENT = ("tools:", "compaction:", "subagents:", "content_gates:")


def in_a_project(example: str) -> str:
    """Put an example where it belongs: the whole file, the top level, the root agent, or a subagent."""
    if example.startswith(ON_AGENT):
        plugin = "  plugins: {memory: {package: m}}\n"
        return MINIMAL + plugin + indented(example, 2)
    if example.startswith(ON_SUBAGENT):
        agent = "  subagents:\n    a:\n      model: m\n      description: d\n      system_prompt: x.md\n"
        return MINIMAL + agent + indented(example, 6)
    return example if "version:" in example else MINIMAL + example


def indented(text: str, width: int) -> str:
    return "".join(" " * width + line + "\n" for line in text.splitlines())


def codes_in(path: Path) -> set[str]:
    """The codes that a module gives to its diagnostics: first arguments, and codes that are returned."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("error", "warning", "invalid", "_Refused", "PathProblem", "PromptProblem"):
                values = node.args[:1]
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            values = node.value.elts[:1]
        found |= {
            str(v.value)
            for v in values
            if isinstance(v, ast.Constant) and re.fullmatch("[a-z_0-9]{5,}", str(v.value))
        }
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0][:30])
def test_every_example_has_no_errors(example: str) -> None:
    found = check_text(in_a_project(example).encode(), catalog=Catalog())
    wrong = [d for d in found if d.severity == "error" and d.code != "reference_unchecked"]
    assert [(d.message, d.path) for d in wrong] == []


def test_every_code_is_documented_and_no_other() -> None:
    used: set[str] = set().union(*(codes_in(path) for path in (REPOSITORY / "app/harness/dsl").glob("*.py")))
    table = PAGE.split("## Codes")[1]
    documented = set(
        re.findall(r"`([a-z_0-9]+)`", "".join(row.split("|")[1] for row in table.splitlines()[4:]))
    )
    assert used == documented
