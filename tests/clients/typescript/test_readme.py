"""The README of the TypeScript client: each example is typed, and the first one is executed as it stands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.clients.typescript.conftest import SOURCE, compile_with
from tests.driver.demo_daemon import Demo

LIMIT_SECONDS = 120

pytestmark = pytest.mark.requirement("client.typescript")

README = SOURCE / "README.md"


def examples() -> list[str]:
    """Return the TypeScript examples of the README."""
    return [part.partition("\n```")[0] for part in README.read_text().split("```ts\n")[1:]]


async def execute(demo: Demo, node: list[str], program: Path) -> str:
    """Run an example against the demo's daemon, with no other package than the built one."""
    assert demo.daemon is not None
    text = program.read_text().replace("http://127.0.0.1:7777", demo.daemon.url)
    text = text.replace(".kaged-data/daemon", str(demo.data_dir)).replace(".kaged-data/demo", str(demo.root))
    program.write_text(text)
    process = await asyncio.create_subprocess_exec(
        *node,
        str(program),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=demo.root,
    )
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_the_first_task_in_ten_lines_repairs_the_demo(
    tmp_path: Path, built: Path, node: list[str]
) -> None:
    first = examples()[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    (built / "first").mkdir()
    # No type is written in it, so it is JavaScript too.
    program = built / "first" / "first.mjs"
    program.write_text(first)
    demo = Demo(tmp_path)
    await demo.start()
    try:
        said = await execute(demo, node, program)
        assert said.startswith("succeeded ")
        assert "pieces" in said
        assert (await demo.tests())[0] == 0
    finally:
        await demo.stop()


def test_the_examples_of_its_readme_are_typed(built: Path) -> None:
    folder = built / "readme"
    folder.mkdir()
    for number, example in enumerate(examples()):
        (folder / f"example{number}.ts").write_text(example)
    options = {"rootDir": "readme", "noEmit": True, "types": ["node"]}
    settings = {"extends": "./tsconfig.json", "compilerOptions": options, "include": ["readme"]}
    (built / "readme.json").write_text(json.dumps(settings))
    assert len(examples()) == 4
    compile_with(built, "readme.json")
