"""What Vue's server of release 3 and TypeScript's know together: templates, styles, and each other's end."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from app.bridges.lsp.manager import Declarations, Declared
from tests.bridges.conftest import alive, until
from tests.driver.language_servers import VUE_3, server_command
from tests.tools.code.conftest import CodeDesk, code_desk
from tests.tools.code.test_svelte_and_php import errors, lines

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.requirement("language_servers.real.vue"),
]
FILES = {
    "package.json": '{"name": "yard"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022", '
    '"lib": ["es2022", "dom"], "moduleResolution": "bundler", "types": [], "skipLibCheck": true}, '
    '"include": ["src/**/*"]}\n',
    "src/crane.ts": "/** Lifts a load. */\nexport function lift(load: number): number {\n  return load;\n}\n",
    "src/Crate.vue": '<script setup lang="ts">\ndefineProps<{ weight: number }>();\n</script>\n\n'
    "<template>\n  <p>{{ weight }}</p>\n</template>\n",
    "src/Yard.vue": '<script setup lang="ts">\nimport { lift } from "./crane";\n'
    'import Crate from "./Crate.vue";\n\nconst lifted = lift(1);\n</script>\n\n'
    '<template>\n  <p>{{ lifted }} {{ lift(2) }}</p>\n  <Crate :weight="lifted" />\n</template>\n\n'
    "<style>\np { color: red; }\n</style>\n",
}
YARD = FILES["src/Yard.vue"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vue(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodeDesk]:
    declared = Declared(language="vue", command=server_command("vue-3"))
    base = tmp_path_factory.mktemp("vue")
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all(FILES)
        (desk.root / "node_modules").symlink_to(VUE_3)
        await desk.lsp("references", path="src/Yard.vue", line=5, symbol="lifted")  # waits for a first load
        yield desk


def pids(desk: CodeDesk) -> tuple[int, ...]:
    """Return the processes of the pair."""
    [server] = desk.languages.project("prj_1", desk.root).running()
    run = server.lifecycle.run
    assert run is not None
    return run.connection.pids


async def wrong_in(desk: CodeDesk, old: str, new: str) -> list[tuple[int, str]]:
    """Return the errors of the yard with a change, which is taken back."""
    assert old in YARD
    desk.put("src/Yard.vue", YARD.replace(old, new))
    found = errors(await desk.lsp("diagnostics", path="src/Yard.vue", severity="error"))
    desk.put("src/Yard.vue", YARD)
    assert errors(await desk.lsp("diagnostics", path="src/Yard.vue", severity="error")) == []
    return found


async def test_a_type_error_of_a_template_is_found(vue: CodeDesk) -> None:
    assert await wrong_in(vue, "lift(2)", "lift('a')") == [(9, "ts(2345)")]


async def test_a_wrong_property_of_a_component_is_found(vue: CodeDesk) -> None:
    assert await wrong_in(vue, ':weight="lifted"', 'weight="far"') == [(10, "ts(2322)")]


async def test_a_name_that_the_script_lacks_is_found(vue: CodeDesk) -> None:
    assert [line for line, _ in await wrong_in(vue, "{{ lifted }}", "{{ missing }}")] == [9]


async def test_a_tag_that_is_not_closed_is_found(vue: CodeDesk) -> None:
    assert 9 in [line for line, _ in await wrong_in(vue, "lift(2) }}</p>", "lift(2) }}")]


async def test_an_error_of_a_style_is_found(vue: CodeDesk) -> None:
    assert [line for line, _ in await wrong_in(vue, "color: red;", "color: ;")] == [14]


async def test_references_are_found_in_templates(vue: CodeDesk) -> None:
    found = await vue.lsp("references", path="src/Yard.vue", line=5, symbol="lifted")
    assert {("./src/Yard.vue", 9), ("./src/Yard.vue", 10)} <= set(lines(found["references"]))


async def test_definitions_are_found_from_templates(vue: CodeDesk) -> None:
    found = await vue.lsp("definition", path="src/Yard.vue", line=9, symbol="lift")
    assert lines(found["definitions"]) == [("./src/crane.ts", 2)]
    component = await vue.lsp("definition", path="src/Yard.vue", line=10, symbol="Crate")
    assert "./src/Crate.vue" in [path for path, _ in lines(component["definitions"])]


async def test_names_are_renamed_in_templates(vue: CodeDesk) -> None:
    await vue.lsp("rename", path="src/Yard.vue", line=5, symbol="lifted", new_name="raised")
    assert vue.text("src/Yard.vue") == YARD.replace("lifted", "raised")
    vue.put("src/Yard.vue", YARD)


async def test_names_of_modules_are_renamed_in_components(vue: CodeDesk) -> None:
    await vue.lsp("rename", path="src/Yard.vue", line=5, symbol="lift", new_name="heave")
    assert vue.text("src/crane.ts") == FILES["src/crane.ts"].replace("lift(", "heave(")
    renamed = YARD.replace("{ lift }", "{ heave }").replace("lift(", "heave(")
    assert vue.text("src/Yard.vue") == renamed
    assert errors(await vue.lsp("diagnostics", path="src/Yard.vue", severity="error")) == []
    vue.put("src/crane.ts", FILES["src/crane.ts"])
    vue.put("src/Yard.vue", YARD)


async def test_a_component_that_was_not_opened_is_among_the_references(vue: CodeDesk) -> None:
    vue.put("src/New.vue", YARD)
    found = await vue.lsp("references", path="src/Yard.vue", line=5, symbol="lift")
    assert "./src/New.vue" in [path for path, _ in lines(found["references"])]
    (vue.root / "src/New.vue").unlink()
    found = await vue.lsp("references", path="src/Yard.vue", line=5, symbol="lift")
    assert "./src/New.vue" not in [path for path, _ in lines(found["references"])]


async def test_hover_tells_of_styles_too(vue: CodeDesk) -> None:
    found = await vue.lsp("hover", path="src/Yard.vue", line=14, symbol="color")
    assert "color" in found["content"]


@pytest.mark.parametrize("killed", [0, 1])
async def test_both_start_again_when_one_is_killed(vue: CodeDesk, killed: int) -> None:
    both = ("hover", {"line": 5, "symbol": "lift"}), ("symbols", {})
    for action, at in both:
        await vue.lsp(action, path="src/Yard.vue", **at)
    before = pids(vue)
    assert len(before) == 2
    os.kill(before[killed], signal.SIGKILL)
    for action, at in reversed(both):
        assert await vue.lsp(action, path="src/Yard.vue", **at)
    await until(lambda: not any(alive(pid) for pid in before))
    assert len(set(pids(vue)) - set(before)) == 2


async def test_reload_ends_both(vue: CodeDesk) -> None:
    await vue.lsp("hover", path="src/Yard.vue", line=5, symbol="lift")
    before = pids(vue)
    await vue.lsp("reload", path="src/Yard.vue")
    assert not any(Path(f"/proc/{pid}").exists() for pid in before)
