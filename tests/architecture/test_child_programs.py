"""Programs that tests hand to a fresh interpreter as text import modules that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.source_tree import ROOT, SourceFile, sources

_FROM = re.compile(r"^\s*from (app(?:\.\w+)*) import ", re.MULTILINE)
_IMPORT = re.compile(r"^\s*import (app\b[\w., ]*)", re.MULTILINE)
_ABOUT_TEXTS = "tests/architecture/"


def modules_in_texts(source: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield `(line, module)` for what the texts of several lines in a file import of the daemon."""
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            yield from ((node.lineno, name) for name in _FROM.findall(node.value))
            for names in _IMPORT.findall(node.value):
                yield from ((node.lineno, one.split()[0]) for one in names.split(",") if one.strip())


def is_there(module: str) -> bool:
    place = ROOT.joinpath(*module.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def test_texts_of_programs_import_modules_that_are_there() -> None:
    found = [
        (source.path, line, module)
        for folder in ("tests", "bench")
        for source in sources(folder)
        if not source.path.startswith(_ABOUT_TEXTS)
        for line, module in modules_in_texts(source)
    ]
    assert len(found) > 20
    assert [one for one in found if not is_there(one[2])] == []


def test_an_import_of_what_is_not_there_is_seen() -> None:
    text = '"""\nimport app.api, app.gone\nfrom app.gone.too import one\nimport application\n"""\n'
    found = [module for _, module in modules_in_texts(SourceFile("tests/a.py", text))]
    assert found == ["app.gone.too", "app.api", "app.gone"]
    assert [module for module in found if not is_there(module)] == ["app.gone.too", "app.gone"]
