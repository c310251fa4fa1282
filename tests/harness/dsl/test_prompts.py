"""Prompt files: where they may be, what they must hold, and their reload."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.harness.dsl.prompt_files import PromptProblem
from app.harness.projects.prompts.store import PromptStore
from tests.driver.project_files import MINIMAL, codes, compiled, found

AT = ("primary.system_prompt", 5, 18)


def with_prompt(path: str) -> str:
    return MINIMAL.replace("prompts/primary.md", path)


@pytest.mark.parametrize(
    "path", ["prompts/p.md", "./prompts/p.md", "project:/prompts/p.md", "a/../prompts/p.md"]
)
def test_a_prompt_path_is_relative_to_the_project(tmp_path: Path, path: str) -> None:
    result = compiled(tmp_path, with_prompt(path), {"prompts/p.md": "Hello.\n"})
    assert result.require().root.system_prompt_file == str(tmp_path / "prompts/p.md")


def test_a_config_path_lies_in_the_kaged_folder_and_prefers_its_local_sibling(tmp_path: Path) -> None:
    project = compiled(tmp_path, with_prompt("config:/p.md"), {".kaged/p.md": "Hello.\n"}).require()
    assert project.root.system_prompt_file == str(tmp_path / ".kaged/p.md")
    assert str(tmp_path / ".kaged/p.local.md") in project.prompt_files
    local = compiled(tmp_path, with_prompt("config:/p.md"), {".kaged/p.local.md": "Mine.\n"}).require()
    assert local.root.system_prompt_file == str(tmp_path / ".kaged/p.local.md")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("prompts/none.md", "prompt_missing"),
        ("prompts", "prompt_unreadable"),
        ("prompts/empty.md", "prompt_empty"),
        ("prompts/latin.md", "prompt_not_utf8"),
        ("prompts/huge.md", "prompt_too_large"),
        ("prompts/pipe", "prompt_unreadable"),
        ("prompts/link.md", "path_outside_project"),
        ("../outside.md", "path_outside_project"),
        ("/etc/hostname", "path_outside_project"),
        ("~/x.md", "path_outside_project"),
        ("https://example.org/x.md", "path_invalid"),
        ('"prompts/a\\0b.md"', "path_nul"),
        ("x" * 300, "path_invalid"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_an_error(tmp_path: Path, path: str, code: str) -> None:
    (tmp_path / "outside.md").write_text("Outside.\n")
    root = tmp_path / "project"
    (root / "prompts").mkdir(parents=True)
    os.mkfifo(root / "prompts/pipe")
    (root / "prompts/link.md").symlink_to(tmp_path / "outside.md")
    files: dict[str, str | bytes] = {
        "prompts/empty.md": " \n\t\n",
        "prompts/latin.md": b"caf\xe9",
        "prompts/huge.md": b"x" * (1024 * 1024 + 1),
    }
    result = compiled(root, with_prompt(path), files)
    assert result.project is None
    assert [(entry[0], entry[3], *entry[1:3]) for entry in found(result)] == [(code, *AT)]


def test_a_large_prompt_is_a_warning(tmp_path: Path) -> None:
    result = compiled(tmp_path, MINIMAL, {"prompts/primary.md": "x" * (64 * 1024 + 1)})
    assert codes(result) == ["prompt_large"]
    assert result.project is not None


async def test_the_store_reads_every_prompt_and_reports_which_changed(tmp_path: Path) -> None:
    agent = "model: m, system_prompt: prompts/a.md, description: d, cage: disabled"
    text = MINIMAL + f"  subagents:\n    a: {{{agent}}}\n"
    store = await PromptStore.open(compiled(tmp_path, text, {"prompts/a.md": "One.\n"}).require())
    assert store.get("primary.subagents.a").text == "One.\n"
    before = store.get("primary.subagents.a").digest
    (tmp_path / "prompts/a.md").write_text("Two.\n")
    reload = await store.reload()
    assert [prompt.agent_path for prompt in reload.changed] == ["primary.subagents.a"]
    assert store.get("primary.subagents.a").text == "Two.\n"
    assert store.get("primary.subagents.a").digest != before
    assert (await store.reload()).changed == ()


@pytest.mark.parametrize("spoil", ["missing", "empty", "outside"])
async def test_the_store_keeps_the_last_good_prompt(tmp_path: Path, spoil: str) -> None:
    root = tmp_path / "project"
    store = await PromptStore.open(compiled(root, MINIMAL).require())
    prompt = root / "prompts/primary.md"
    prompt.unlink()
    if spoil == "empty":
        prompt.write_text("")
    elif spoil == "outside":
        (tmp_path / "secret").write_text("secret")
        prompt.symlink_to(tmp_path / "secret")
    reload = await store.reload(["primary"])
    assert [failure.agent_path for failure in reload.failed] == ["primary"]
    assert store.get("primary").text == "You help.\n"


async def test_a_local_prompt_is_taken_when_it_appears_and_left_when_it_goes(tmp_path: Path) -> None:
    project = compiled(tmp_path, with_prompt("config:/p.md"), {".kaged/p.md": "Ours.\n"}).require()
    store = await PromptStore.open(project)
    local = tmp_path / ".kaged/p.local.md"
    local.write_text("Mine.\n")
    await store.reload()
    assert (store.get("primary").text, store.get("primary").file) == ("Mine.\n", str(local))
    local.unlink()
    await store.reload()
    assert store.get("primary").text == "Ours.\n"


async def test_a_store_without_a_prompt_does_not_open(tmp_path: Path) -> None:
    project = compiled(tmp_path, MINIMAL).require()
    (tmp_path / "prompts/primary.md").unlink()
    with pytest.raises(PromptProblem, match="primary: there is no such file"):
        await PromptStore.open(project)
