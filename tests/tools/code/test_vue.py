"""Vue by its real server: of release 2, which works alone, and of release 3 with TypeScript's beside it."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk
from tests.tools.code.test_svelte_and_php import errors, lines

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.requirement("language_servers.real.vue"),
]
FILES = {
    "package.json": '{"name": "yard"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022", '
    '"lib": ["es2022", "dom"], "moduleResolution": "bundler", "types": []}, "include": ["src/**/*"], '
    '"vueCompilerOptions": {"lib": "./vue.d.ts"}}\n',
    "src/crane.ts": "/** Lifts a load. */\nexport function lift(load: number): number {\n  return load;\n}\n",
    "src/Yard.vue": '<script lang="ts">\nimport { lift } from "./crane";\n\n'
    "const lifted: number = lift(1);\n"
    "export default { data() { return { lifted, lift }; } };\n"
    "</script>\n\n<template>\n  <p>{{ lifted }}</p>\n</template>\n\n<style>\np { color: red; }\n</style>\n",
    "src/Wrong.vue": '<script lang="ts">\nimport { lift } from "./crane";\n\n'
    'export const wrong: number = "x";\nexport const raised = lift(2);\n</script>\n',
}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=("vue", "vue-3"))
async def vue(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CodeDesk]:
    declared = Declared(language="vue", command=server_command(request.param))
    base = tmp_path_factory.mktemp("vue")
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all(FILES)
        await desk.lsp("references", path="src/Yard.vue", line=4, symbol="lifted")  # waits for a first load
        yield desk


@pytest.mark.parametrize("times", range(2))
async def test_errors_are_for_the_present_content(vue: CodeDesk, times: int) -> None:
    asked = {"path": "src/Wrong.vue", "severity": "error"}
    vue.put("src/Wrong.vue", FILES["src/Wrong.vue"])
    assert [line for line, _ in errors(await vue.lsp("diagnostics", **asked))] == [4]
    vue.put("src/Wrong.vue", FILES["src/Wrong.vue"].replace('"x"', str(times)))
    assert errors(await vue.lsp("diagnostics", **asked)) == []


async def test_errors_follow_the_modules_that_are_imported(vue: CodeDesk) -> None:
    asked = {"path": "src/Yard.vue", "severity": "error"}
    vue.put("src/crane.ts", FILES["src/crane.ts"].replace("load: number)", "load: string)"))
    assert 4 in [line for line, _ in errors(await vue.lsp("diagnostics", **asked))]
    vue.put("src/crane.ts", FILES["src/crane.ts"])
    assert 4 not in [line for line, _ in errors(await vue.lsp("diagnostics", **asked))]


async def test_definitions_lead_to_modules(vue: CodeDesk) -> None:
    found = await vue.lsp("definition", path="src/Yard.vue", line=4, symbol="lift")
    assert lines(found["definitions"]) == [("./src/crane.ts", 2)]


async def test_references_are_found_in_the_script(vue: CodeDesk) -> None:
    found = await vue.lsp("references", path="src/Yard.vue", line=4, symbol="lifted")
    assert ("./src/Yard.vue", 5) in lines(found["references"])
    every = await vue.lsp(
        "references", path="src/Yard.vue", line=4, symbol="lifted", include_declaration=True
    )
    assert {4, 5} <= {line for _, line in lines(every["references"])}


async def test_references_are_found_in_other_components(vue: CodeDesk) -> None:
    found = await vue.lsp("references", path="src/Yard.vue", line=4, symbol="lift")
    assert {"./src/Yard.vue", "./src/Wrong.vue"} <= {path for path, _ in lines(found["references"])}


async def test_hover_has_type_and_documentation(vue: CodeDesk) -> None:
    found = await vue.lsp("hover", path="src/Yard.vue", line=4, symbol="lift")
    assert "lift(load: number): number" in found["content"] and found["documentation"] == "Lifts a load."


async def test_outlines_have_script_template_and_style(vue: CodeDesk) -> None:
    names = [one["name"] for one in (await vue.lsp("symbols", path="src/Yard.vue"))["symbols"]]
    assert {"template", "style", "lifted"} <= {name.partition(" ")[0] for name in names}


async def test_names_are_renamed(vue: CodeDesk) -> None:
    before = vue.text("src/Wrong.vue")
    vue.put("src/Wrong.vue", FILES["src/Wrong.vue"])
    await vue.lsp("rename", path="src/Wrong.vue", line=5, symbol="raised", new_name="heaved")
    assert vue.text("src/Wrong.vue") == FILES["src/Wrong.vue"].replace("raised", "heaved")
    vue.put("src/Wrong.vue", before)


async def test_a_new_component_is_known_at_once(vue: CodeDesk) -> None:
    vue.put("src/New.vue", FILES["src/Wrong.vue"].replace('"x"', "true"))
    found = await vue.lsp("diagnostics", path="src/New.vue", severity="error")
    assert [line for line, _ in errors(found)] == [4]


async def test_a_killed_server_is_restarted(vue: CodeDesk) -> None:
    await vue.lsp("hover", path="src/Yard.vue", line=4, symbol="lift")
    [server] = (await vue.lsp("status", path="src/Yard.vue"))["servers"]
    os.kill(server["pid"], signal.SIGKILL)
    found = await vue.lsp("hover", path="src/Yard.vue", line=4, symbol="lift")
    assert "number" in found["content"]
