"""The rules of the house hold in all of app/, and each rule can fail."""

from __future__ import annotations

import pytest

from tests.architecture import rules
from tests.architecture.source_tree import SourceFile, sources


@pytest.fixture(scope="module")
def broken() -> dict[rules.Rule, list[str]]:
    """What breaks each rule: every file is parsed once, for all of them."""
    found: dict[rules.Rule, list[str]] = {rule: [] for rule in rules.RULES}
    for source in sources("app"):
        for rule, sentences in found.items():
            sentences.extend(rule(source))
    return found


@pytest.mark.requirement("repository.rules")
@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_the_source_keeps_the_rule(rule: rules.Rule, broken: dict[rules.Rule, list[str]]) -> None:
    assert not broken[rule], "\n".join(broken[rule])


BREACHES: list[tuple[rules.Rule, str, str]] = [
    (rules.no_routes_in_sentences, "app/a.py", 'raise NotFound("List them with GET /api/v1/runs.")\n'),
    (rules.no_routes_in_sentences, "app/a.py", 'x = f"POST /api/v1/projects/{p}/load loads it"\n'),
    (rules.short_files, "app/a.py", "x = 1\n" * 401),
    (rules.short_functions, "app/a.py", "def f():\n" + "    x = 1\n" * 60),
    (rules.telling_names, "app/api/utils.py", ""),
    (rules.module_docstrings, "app/a.py", "x = 1\n"),
    (rules.environment_only_in_config, "app/a.py", "import os\nos.environ['A']\n"),
    (rules.environment_only_in_config, "app/a.py", "from os import environ\n"),
    (rules.children_only_in_process, "app/a.py", "import subprocess\n"),
    (rules.children_only_in_process, "app/a.py", "import asyncio\nasyncio.create_subprocess_exec('a')\n"),
    (rules.programs_found_by_place, "app/a.py", "import shutil\nshutil.which('git')\n"),
    (rules.programs_found_by_place, "app/a.py", "from shutil import which\n"),
    (rules.queries_only_in_storage, "app/api/a.py", "statement = select(Row)\n"),
    (rules.queries_only_in_storage, "app/api/a.py", "from sqlmodel import col\n"),
    (rules.commits_only_in_writer, "app/storage/engine.py", "connection.commit()\n"),
    (rules.states_only_by_the_table, "app/harness/a.py", "session.state = 'idle'\n"),
    (rules.states_only_by_the_table, "app/a.py", "uow.runs.update('a', state='failed')\n"),
    (rules.states_only_by_the_table, "app/a.py", "values = {'state': RunState.FAILED.value}\n"),
    (rules.states_only_by_the_table, "app/a.py", "row.model_copy(update={'state': 'failed'})\n"),
    (rules.small_objects, "app/a.py", "class A:\n" + "".join(f"    x{n}: int\n" for n in range(16))),
    (
        rules.small_objects,
        "app/a.py",
        "class A:\n    def f(self):\n" + "".join(f"        self.x{n} = 0\n" for n in range(16)),
    ),
    (
        rules.short_constructors,
        "app/a.py",
        "class A:\n    def __init__(self, a, b, c, d, e, f, *, g, h, i): ...\n",
    ),
    (rules.few_open_keywords, "app/harness/a.py", "def f(**values: Any) -> None: ...\n"),
    (rules.no_http_exception, "app/api/a.py", "raise HTTPException(404)\n"),
    (rules.no_print, "app/main.py", "print('x')\n"),
    (rules.explained_ignores, "app/a.py", "x = 1  # type: " + "ignore\n"),
    (rules.explained_ignores, "app/a.py", "x = 1  # no" + "qa\n"),
    (rules.types_are_imported_plainly, "app/a.py", "if TYPE_CHECKING:\n    from app.ids import new_id\n"),
    (rules.no_nested_quantifiers, "app/a.py", 'import re\nre.compile(r"(?:[a-z]+,?)*$")\n'),
    (rules.no_nested_quantifiers, "app/a.py", 'import re\nA = r"a+"\nre.compile(rf"(?:{A}|b)+")\n'),
    (rules.routes_import_the_services_alone, "app/api/a.py", "from app.daemon.machine import Machine\n"),
    (
        rules.routes_import_the_services_alone,
        "app/cli/a.py",
        "from app.daemon.lifespan import open_services\n",
    ),
]


@pytest.mark.parametrize(("rule", "path", "text"), BREACHES)
def test_a_breach_of_the_rule_is_found(rule: rules.Rule, path: str, text: str) -> None:
    assert list(rule(SourceFile(path, text)))


def test_every_rule_has_a_breach_that_it_finds() -> None:
    assert {rule for rule, _, _ in BREACHES} == set(rules.RULES)
