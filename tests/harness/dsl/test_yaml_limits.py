"""What the file itself may be: UTF-8, YAML 1.2 without tags, one document, within limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.harness.dsl.compiler import compile_project
from tests.driver.project_files import MINIMAL, Catalog, codes, compiled, found, write_project


def test_invalid_utf8_is_reported_at_the_byte(tmp_path: Path) -> None:
    result = compiled(tmp_path, b"version: 1\nproject: caf\xe9\n")
    assert found(result) == [("invalid_utf8", 2, 13, "")]
    assert "0xe9" in result.diagnostics[0].message


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    assert compiled(tmp_path, b"\xef\xbb\xbf" + MINIMAL.encode()).project is not None


def test_a_syntax_error_is_one_diagnostic_at_its_place(tmp_path: Path) -> None:
    assert found(compiled(tmp_path, "version: 1\nproject: [a\nprimary: x\n")) == [("yaml_syntax", 3, 8, "")]


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("", "project_empty", 1, 1),
        ("# nothing but a comment\n", "project_empty", 1, 1),
        ("- a\n", "wrong_type", 1, 1),
        ("a: 1\n---\nb: 2\n", "yaml_documents", 2, 1),
        ("a: " + "[" * 101, "yaml_depth", 1, 103),
        ("a: &x [*x]\n", "yaml_alias", 1, 8),
        ("a: *nowhere\n", "yaml_alias", 1, 4),
        ("%YAML 1.1\n---\na: yes\n", "yaml_version", 2, 1),
        ("version: \x01\n", "yaml_syntax", 1, 10),
        ('a: "\\UFFFFFFFF"\n', "yaml_syntax", 1, 1),
    ],
)
def test_a_document_that_breaks_a_rule_is_refused(
    tmp_path: Path, text: str, code: str, line: int, column: int
) -> None:
    assert [entry[:3] for entry in found(compiled(tmp_path, text))] == [(code, line, column)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("description: !!python/object/apply:os.system [id]\n", "yaml_tag"),
        ("description: !custom text\n", "yaml_tag"),
        ("1: number as a key\n", "yaml_key"),
        ("? [a, b]\n: a list as a key\n", "yaml_key"),
        ("description: one\ndescription: two\n", "duplicate_key"),
        ("tasks: {a: {command: x}, a: {command: y}}\n", "duplicate_key"),
        ("<<: {description: merged}\n", "unknown_key"),
        ("limits: {tokens: 99999999999999999999}\n", "yaml_number"),
        ("limits: {cost_usd: .inf}\n", "yaml_number"),
        ("limits: {cost_usd: 1e999}\n", "yaml_number"),
        ('description: "\\ud800"\n', "yaml_character"),
    ],
)
def test_a_forbidden_construct_is_an_error_and_the_rest_is_still_checked(
    tmp_path: Path, line: str, code: str
) -> None:
    result = compiled(tmp_path, MINIMAL + line + "nonsense: 1\n")
    assert code in codes(result)
    assert "unknown_key" in codes(result)


def test_a_billion_laughs_is_refused_before_it_grows(tmp_path: Path) -> None:
    rows = ["a0: &a0 [" + ", ".join(["lol"] * 10) + "]"]
    rows += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 10)]
    assert codes(compiled(tmp_path, "\n".join(rows))) == ["yaml_too_many_nodes"]


def test_an_alias_stands_for_a_whole_value(tmp_path: Path) -> None:
    text = MINIMAL + (
        "  subagents:\n"
        "    one: {model: m, system_prompt: prompts/primary.md, description: d, plugins: {p: {package: x}},"
        " cage: &c {fs: [{mode: ro, path: src}]}}\n"
        "    two: {model: m, system_prompt: prompts/primary.md, description: d, plugins: {p: {package: x}},"
        " cage: *c}\n"
    )
    project = compiled(tmp_path, text).require()
    assert project.root.children["one"].cage == project.root.children["two"].cage != "disabled"


def test_more_than_one_mebibyte_is_refused(tmp_path: Path) -> None:
    assert codes(compiled(tmp_path, MINIMAL + "#" * (1024 * 1024))) == ["file_too_large"]


def test_yaml_1_2_reads_words_as_words(tmp_path: Path) -> None:
    text = MINIMAL + "tasks: {a: {command: x, env: {A: yes, B: off, C: 12:30:45, D: 2024-01-01}}}\n"
    task = compiled(tmp_path, text).require().tasks["a"]
    assert task.env == {"A": "yes", "B": "off", "C": "12:30:45", "D": "2024-01-01"}


def test_a_project_file_that_is_a_pipe_or_leads_outside_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(MINIMAL)
    root = tmp_path / "project"
    write_project(root, MINIMAL)
    file = root / ".kaged" / "project.yaml"
    file.unlink()
    file.symlink_to(outside)
    assert codes(compile_project(root, catalog=Catalog())) == ["path_outside_project"]
    file.unlink()
    os.mkfifo(file)
    assert codes(compile_project(root, catalog=Catalog())) == ["file_unreadable"]
