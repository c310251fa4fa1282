"""Svelte and PHP by their real servers."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk

pytestmark = pytest.mark.asyncio(loop_scope="module")
SVELTE = {
    "package.json": '{"name": "yard"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022", '
    '"moduleResolution": "bundler"}}\n',
    "src/crane.ts": "/** Lifts a load. */\nexport function lift(load: number): number {\n  return load;\n}\n",
    "src/Yard.svelte": '<script lang="ts">\n  import { lift } from "./crane";\n'
    "  export let load: number = 1;\n"
    "  const lifted = lift(load);\n</script>\n\n<p>{lifted} {lift(2)}</p>\n\n<style>\n  p { color: red; }\n"
    "</style>\n",
    "src/App.svelte": '<script lang="ts">\n  import Yard from "./Yard.svelte";\n'
    '  const wrong: number = "x";\n'
    "</script>\n\n<Yard load={1} />\n<p>{wrong}</p>\n",
}
PHP = {
    "composer.json": "{}\n",
    "src/Crane.php": "<?php\nnamespace Depot;\n\n/** Lifts loads. */\nclass Crane {\n"
    "    public function lift(int $load): int {\n        return $load;\n    }\n}\n",
    "src/Yard.php": "<?php\nnamespace Depot;\n\nclass Yard {\n    public function run(Crane $crane): int {\n"
    "        /* \U0001f642 */ return $crane->lift(1) + $crane->lift(2);\n    }\n}\n",
    "src/Wrong.php": "<?php\nnamespace Depot;\n\nfunction wrong(): int {\n    return missing(1);\n}\n",
}


async def opened(base: Any, language: str, files: dict[str, str]) -> AsyncIterator[CodeDesk]:
    declared = Declared(language=language, command=server_command(language))
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all(files)
        yield desk


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def svelte(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodeDesk]:
    async for desk in opened(tmp_path_factory.mktemp("svelte"), "svelte", SVELTE):
        yield desk


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def php(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodeDesk]:
    async for desk in opened(tmp_path_factory.mktemp("php"), "php", PHP):
        yield desk


def errors(data: Any) -> list[tuple[int, str]]:
    assert data["fresh"] is True
    return [(one["line"], one["code"]) for one in data["diagnostics"]]


def lines(places: Any) -> list[tuple[str, int]]:
    return [(one["path"], one["line"]) for one in places]


SVELTE_SHOWN = pytest.mark.requirement("language_servers.real.svelte")
PHP_SHOWN = pytest.mark.requirement("language_servers.real.php")


@SVELTE_SHOWN
@pytest.mark.parametrize("times", range(2))
async def test_svelte_errors_are_for_the_present_content(svelte: CodeDesk, times: int) -> None:
    asked = {"path": "src/App.svelte", "severity": "error"}
    svelte.put("src/App.svelte", SVELTE["src/App.svelte"])
    assert errors(await svelte.lsp("diagnostics", **asked)) == [(3, "ts(2322)")]
    svelte.put("src/App.svelte", SVELTE["src/App.svelte"].replace('"x"', str(times)))
    assert errors(await svelte.lsp("diagnostics", **asked)) == []


@SVELTE_SHOWN
async def test_svelte_errors_follow_the_modules_that_are_imported(svelte: CodeDesk) -> None:
    asked = {"path": "src/Yard.svelte", "severity": "error"}
    svelte.put("src/crane.ts", SVELTE["src/crane.ts"].replace("load: number)", "load: string)"))
    assert [line for line, _ in errors(await svelte.lsp("diagnostics", **asked))] == [4, 7]
    svelte.put("src/crane.ts", SVELTE["src/crane.ts"])
    assert errors(await svelte.lsp("diagnostics", **asked)) == []


@SVELTE_SHOWN
async def test_svelte_definitions_lead_to_modules_and_components(svelte: CodeDesk) -> None:
    found = await svelte.lsp("definition", path="src/Yard.svelte", line=4, symbol="lift")
    assert lines(found["definitions"]) == [("./src/crane.ts", 2)]
    component = await svelte.lsp("definition", path="src/App.svelte", line=6, symbol="Yard")
    assert component["definitions"][0]["path"] == "./src/Yard.svelte"


@SVELTE_SHOWN
async def test_svelte_references_are_in_script_and_markup(svelte: CodeDesk) -> None:
    asked = {"path": "src/Yard.svelte", "line": 4, "symbol": "lifted"}
    found = await svelte.lsp("references", **asked)
    assert lines(found["references"]) == [("./src/Yard.svelte", 7)]
    every = await svelte.lsp("references", **asked, include_declaration=True)
    assert [line for _, line in lines(every["references"])] == [4, 7]


@SVELTE_SHOWN
async def test_svelte_hover_has_type_and_documentation(svelte: CodeDesk) -> None:
    found = await svelte.lsp("hover", path="src/Yard.svelte", line=7, symbol="lift")
    assert "lift(load: number): number" in found["content"] and found["documentation"] == "Lifts a load."


@SVELTE_SHOWN
async def test_svelte_outlines_have_script_markup_and_style(svelte: CodeDesk) -> None:
    names = [one["name"] for one in (await svelte.lsp("symbols", path="src/Yard.svelte"))["symbols"]]
    assert {"script", "load", "lifted", "p", "style"} <= set(names)


@SVELTE_SHOWN
async def test_svelte_symbols_can_be_named_without_a_line(svelte: CodeDesk) -> None:
    found = await svelte.lsp("references", path="src/Yard.svelte", symbol="lifted")
    assert lines(found["references"]) == [("./src/Yard.svelte", 7)]


@SVELTE_SHOWN
async def test_svelte_names_are_renamed_in_script_and_markup(svelte: CodeDesk) -> None:
    before = svelte.text("src/Yard.svelte")
    await svelte.lsp("rename", path="src/Yard.svelte", line=4, symbol="lifted", new_name="raised")
    assert svelte.text("src/Yard.svelte") == before.replace("lifted", "raised")
    svelte.put("src/Yard.svelte", before)


@SVELTE_SHOWN
async def test_a_killed_svelte_server_is_restarted(svelte: CodeDesk) -> None:
    await svelte.lsp("hover", path="src/Yard.svelte", line=4, symbol="lift")
    [server] = (await svelte.lsp("status", path="src/App.svelte"))["servers"]
    os.kill(server["pid"], signal.SIGKILL)
    found = await svelte.lsp("hover", path="src/Yard.svelte", line=4, symbol="lift")
    assert "number" in found["content"]


@PHP_SHOWN
@pytest.mark.parametrize("times", range(2))
async def test_php_errors_are_for_the_present_content(php: CodeDesk, times: int) -> None:
    """The first answer is after the index is made: before it the server finds nothing wrong."""
    php.put("src/Wrong.php", PHP["src/Wrong.php"])
    assert errors(await php.lsp("diagnostics", path="src/Wrong.php")) == [(5, "P1010")]
    php.put("src/Wrong.php", PHP["src/Wrong.php"].replace("missing(1)", str(times)))
    assert errors(await php.lsp("diagnostics", path="src/Wrong.php")) == []


@PHP_SHOWN
async def test_php_definitions_are_found_behind_an_emoji(php: CodeDesk) -> None:
    found = await php.lsp("definition", path="src/Yard.php", line=6, symbol="lift#2")
    assert lines(found["definitions"]) == [("./src/Crane.php", 6)]


@PHP_SHOWN
async def test_php_references_are_in_all_files(php: CodeDesk) -> None:
    found = await php.lsp("references", path="src/Crane.php", line=6, symbol="lift")
    assert lines(found["references"]) == [("./src/Yard.php", 6)] * 2
    every = await php.lsp("references", path="src/Crane.php", symbol="Crane.lift", include_declaration=True)
    assert every["count"] == 3


@PHP_SHOWN
async def test_php_hover_has_the_signature(php: CodeDesk) -> None:
    found = await php.lsp("hover", path="src/Yard.php", line=6, symbol="lift#1")
    assert "lift" in found["content"] and "int $load" in found["documentation"]


@PHP_SHOWN
async def test_php_outlines_have_classes_and_methods(php: CodeDesk) -> None:
    found = (await php.lsp("symbols", path="src/Crane.php"))["symbols"]
    rows = [(one["name"], one["kind"], one.get("container")) for one in found]
    assert rows[:3] == [("Depot", "namespace", None), ("Crane", "class", None), ("lift", "method", "Crane")]


@PHP_SHOWN
async def test_php_names_are_found_in_the_project(php: CodeDesk) -> None:
    found = await php.lsp("symbols", path="src/Yard.php", scope="workspace", query="Crane")
    assert ("./src/Crane.php", "Crane") in {(one["path"], one["name"]) for one in found["symbols"]}


@PHP_SHOWN
async def test_what_the_php_server_does_not_offer_is_refused_by_name(php: CodeDesk) -> None:
    at = {"path": "src/Crane.php", "line": 6, "symbol": "lift"}
    for action, more in (("rename", {"new_name": "raise"}), ("implementation", {}), ("call_hierarchy", {})):
        refused = await php.refused(action, **at, **more)
        assert refused.code == "action_not_supported" and "intelephense" in refused.error_text
    assert php.text("src/Crane.php") == PHP["src/Crane.php"]


@PHP_SHOWN
async def test_new_php_files_are_known_at_once(php: CodeDesk) -> None:
    php.put(
        "src/Extra.php",
        "<?php\nnamespace Depot;\n\nfunction extra(Crane $c): int {\n    return $c->lift(3);\n}\n",
    )
    found = await php.lsp("references", path="src/Crane.php", line=6, symbol="lift")
    assert ("./src/Extra.php", 5) in lines(found["references"])
    (php.root / "src/Extra.php").unlink()


@PHP_SHOWN
async def test_a_killed_php_server_is_restarted(php: CodeDesk) -> None:
    await php.lsp("definition", path="src/Yard.php", line=6, symbol="lift#1")
    [server] = (await php.lsp("status", path="src/Crane.php"))["servers"]
    os.kill(server["pid"], signal.SIGKILL)
    found = await php.lsp("definition", path="src/Yard.php", line=6, symbol="lift#1")
    assert lines(found["definitions"]) == [("./src/Crane.php", 6)]
