"""The engines behind the searches: the same results, and the choice among them."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.programs import on_path, packaged
from app.tools.search.dialect import BadPattern, translate
from app.tools.search.engine import PythonEngine, Ripgrep, choose_engine
from tests.tools.conftest import Ports
from tests.tools.searching import ENGINES, engine_called, search_desk

_name = st.sampled_from(["a", "b", "c.py", "d.ts", "build", ".env", "e f", "ü.py", "a.log"])
_folder = st.lists(st.sampled_from(["a", "lib", "build", ".cfg", "x y"]), max_size=2).map(tuple)
_line = st.text("abx1 .(\tTéß_-", max_size=8)
_text = st.lists(_line, max_size=5).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines).encode())
)
_content = st.one_of(
    _text,
    _text,
    _text.map(lambda text: b"\xef\xbb\xbf" + text),
    _text.map(lambda text: text.decode().encode("utf-16")),
    st.sampled_from([b"", b"\n", b"\n\n", b"a\0b\n", b"T\xff\n", b"a"]),
)
_rule = st.sampled_from(
    [
        *("a", "/a", "build/", "*.py", "!c.py", "lib/**", "/lib/*", "!/lib/a", "**/x y", "# x", "", "*.log"),
        *("e f", ".env", "[ab]", "a/b", "/*", "!/lib", "!*/", "ü.py", "*", "!.cfg/", "lib/a/"),
    ]
)
_rules = st.lists(_rule, max_size=4).map(lambda rules: "\n".join(rules).encode())
_tree = st.dictionaries(st.tuples(_folder, _name), _content, min_size=1, max_size=10)
_pattern = st.sampled_from(
    [
        *("a", "T", "^a", "x$", "a|b", "[ab]+x", r"\bx\b", r"\d", r"\w+", ".", "^$", "a.*b", r"\(", "(?i)t"),
        *("é|ß", r"\s", "[^a]", "x?", "(?:ab){1,2}", r"[[:alpha:]]1", "(?P<n>a)x", r"\x{e9}", r"\S$"),
        *("^.{3}$", r"\t"),
    ]
)
_include = st.sampled_from([None, None, "*.py", "!*.py", "lib/**", "{a,b}", "*/a", "[!a]*"])


@dataclass(frozen=True)
class Case:
    files: dict[tuple[tuple[str, ...], str], bytes]
    rules: dict[tuple[str, ...], bytes]
    repositories: list[tuple[str, ...]]
    pattern: str
    include: str | None
    mode: str
    ignore_case: bool
    context: int
    path: str


_case = st.builds(
    Case,
    files=_tree,
    rules=st.dictionaries(_folder, _rules, max_size=3),
    repositories=st.lists(_folder, max_size=2),
    pattern=_pattern,
    include=_include,
    mode=st.sampled_from(["content", "content", "files_with_matches", "count"]),
    ignore_case=st.booleans(),
    context=st.integers(0, 2),
    path=st.sampled_from([".", ".", "lib", "lib/a", "a", "build"]),
)


def lay(case, root):
    for (folder, name), content in case.files.items():
        place = root.joinpath(*folder)
        if not any(parent.is_file() for parent in (place, *place.parents)):
            place.mkdir(parents=True, exist_ok=True)
            if not (place / name).is_dir():
                (place / name).write_bytes(content)
    for folder, rules in case.rules.items():
        if root.joinpath(*folder).is_dir():
            root.joinpath(*folder, ".gitignore").write_bytes(rules)
    for folder in case.repositories:
        if root.joinpath(*folder).is_dir():
            root.joinpath(*folder, ".git").mkdir(exist_ok=True)
    for path in root.rglob("*"):
        os.utime(path, (1, 1))


async def asked(desk, case, engine):
    async with search_desk(desk, engine) as search:
        found = await search.call(
            "search.grep",
            pattern=case.pattern,
            path=case.path,
            output_mode=case.mode,
            ignore_case=case.ignore_case,
            context=case.context,
            **({} if case.include is None else {"include": case.include}),
        )
        listed = await search.call("search.glob", pattern=(case.include or "**").lstrip("!"), path=case.path)
        return [one.data if one.type == "output" else one.code for one in (found, listed)]


@pytest.mark.requirement("R3.grep.engines")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
@given(case=_case)
def test_all_engines_give_the_same_results(desk, case):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        root.mkdir()
        lay(case, root)
        here = replace(desk, context=replace(desk.context, project_root=root, ports=Ports()))
        engines = {name: engine_called(name, Path(folder, "bin")) for name in ENGINES}
        answers = {name: asyncio.run(asked(here, case, engine)) for name, engine in engines.items()}
    assert answers["python"] == answers["packaged"]
    assert answers["system"] == answers["packaged"]


@pytest.mark.requirement("R3.grep.engines")
def test_the_packaged_ripgrep_comes_first_then_the_systems_then_python(tmp_path, monkeypatch):
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    chosen = choose_engine(environment)
    assert isinstance(chosen, Ripgrep)
    assert chosen.program == packaged("rg")
    assert packaged("rg") == Path(sys.executable).parent / "rg"
    monkeypatch.setattr("app.programs.packaged", lambda name: None)
    chosen = choose_engine(environment)
    assert isinstance(chosen, Ripgrep)
    assert chosen.program == tmp_path / "rg"
    assert isinstance(choose_engine({"PATH": str(tmp_path / "empty")}), PythonEngine)


@pytest.mark.requirement("R3.grep.engines")
def test_an_rg_in_a_relative_folder_of_path_is_never_run(tmp_path, monkeypatch):
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert on_path("rg", {"PATH": ".:"}) is None


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"(?<year>\d{4})", r"(?P<year>\d{4})"),
        (r"a\z", r"a\Z"),
        (r"[[:digit:]x]", "[0-9x]"),
        (r"\x{41}", "A"),
        (r"[]a]", r"[\]a]"),
        (r"(?i)a(?i:b)", r"(?i)a(?i:b)"),
    ],
)
def test_what_ripgrep_writes_otherwise_is_translated(pattern, written):
    assert translate(pattern) == written


@pytest.mark.parametrize(
    "pattern", ["(?=a)", "(?<=a)", r"\1", "(?P=a)", "(?>a)", r"\p{L}", "[a&&b]", "{", "a(?i)b", r"\q", "a++"]
)
def test_what_only_one_dialect_has_is_refused_with_a_reason(pattern):
    with pytest.raises(BadPattern, match=r"\w+ \w+"):
        translate(pattern)
