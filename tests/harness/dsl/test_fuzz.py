"""Whatever a project file contains, compiling it gives diagnostics and never raises."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO

from app.harness.dsl.compiler import check_text, compile_project
from app.harness.dsl.synthesized import synthesize
from tests.driver.project_files import MINIMAL, Catalog, write_project
from tests.harness.dsl.test_diagnostics import TEN_MISTAKES
from tests.harness.dsl.test_sections import FILES, FULL

SEEDS = [MINIMAL, TEN_MISTAKES, FULL]
MARKS = ["*a", "&a ", "!x ", "|", ">", "- ", ": ", "? ", *"{}[]\t\n\0\"'%@`\\\u2028\ufeff-#"]
WORDS = ["null", "~", "1e9", ".nan", "<<: ", "---\n", "...\n", "path: .", "0x"]
JUNK = st.sampled_from([*MARKS, *WORDS])
quick = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield write_project(Path(folder), MINIMAL, FILES)


def check(root: Path, data: bytes) -> None:
    (root / ".kaged/project.yaml").write_bytes(data)
    result = compile_project(root, catalog=Catalog(), known_models={"smart"})
    assert (result.project is None) == bool(result.errors)
    assert list(result.diagnostics) == sorted(
        result.diagnostics, key=lambda d: (d.file, d.line, d.column, d.severity, d.code, d.message)
    )
    orjson.dumps([diagnostic.model_dump() for diagnostic in result.diagnostics])
    assert result.format().endswith(("warning", "warnings"))
    if result.project is not None:
        orjson.dumps(synthesize(result.project))
    check_text(data, catalog=Catalog())


@quick
@given(data=st.binary(max_size=400))
def test_any_bytes_give_diagnostics(root: Path, data: bytes) -> None:
    check(root, data)


@quick
@given(text=st.text(max_size=400))
def test_any_text_gives_diagnostics(root: Path, text: str) -> None:
    check(root, text.encode("utf-8", "surrogatepass"))


@quick
@given(data=st.data(), seed=st.sampled_from(SEEDS))
def test_a_mutated_project_file_gives_diagnostics(root: Path, data: st.DataObject, seed: str) -> None:
    text = seed
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 12))
        text = text[:start] + data.draw(JUNK) + text[start + length :]
    check(root, text.encode())


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.just("x.md"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(quick, max_examples=100)
@given(data=st.data())
def test_a_wrong_value_anywhere_gives_diagnostics(root: Path, data: st.DataObject) -> None:
    yaml = YAML(typ="safe", pure=True)
    document = yaml.load(FULL)
    for _ in range(data.draw(st.integers(1, 3))):
        holder = document
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            below = holder[key]
            if isinstance(below, dict | list) and below and data.draw(st.booleans()):
                holder = below
                continue
            holder[key] = data.draw(VALUES)
            break
    out = StringIO()
    yaml.dump(document, out)
    check(root, out.getvalue().encode("utf-8", "surrogatepass"))
