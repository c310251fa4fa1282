"""The errors that an edit introduced, as real language servers find them."""

from __future__ import annotations

import pytest

from tests.driver.language_servers import server_path
from tests.tools.after_edit_desk import PATIENT, EditDesk, edit_desk
from tests.tools.code.projects import PYTHON, TYPESCRIPT


async def words_after(desk: EditDesk, path: str, old: str, new: str) -> str:
    """Edit, and return what is said of it."""
    answer = await desk.call("edit.text", path=path, old_string=old, new_string=new)
    assert answer.type == "output", answer.model_text()
    return answer.model_text()


async def opened(desk: EditDesk, *paths: str) -> None:
    for path in paths:
        await desk.ok("file.read", path=path)
        await desk.running(path)


@pytest.mark.requirement("language_servers.after_edit.real")
async def test_python(tmp_path):
    server_path("basedpyright")
    async with edit_desk(tmp_path, wait=PATIENT) as desk:
        desk.put_all(PYTHON)
        await opened(desk, "shop/prices.py", "shop/orders.py", "main.py")
        words = await words_after(desk, "main.py", "answer: str = bill()", "import os\nanswer: str = bill()")
        assert "finds no new errors in ./main.py" in words, "the error there was there before"
        words = await words_after(desk, "shop/orders.py", "total([1, 2])", 'total(["1"])')
        assert "1 new error after" in words and "./shop/orders.py:5:" in words
        assert "(reportArgumentType)" in words
        words = await words_after(desk, "shop/orders.py", 'total(["1"])', "total([1])")
        assert "finds no new errors" in words


@pytest.mark.requirement("language_servers.after_edit.others")
async def test_python_callers_in_other_open_files(tmp_path):
    server_path("basedpyright")
    async with edit_desk(tmp_path, wait=PATIENT) as desk:
        desk.put_all(PYTHON)
        await opened(desk, "shop/prices.py", "shop/orders.py")
        words = await words_after(desk, "shop/prices.py", "def total(", "def total_of(")
        assert "1 new error after" in words
        assert "./shop/orders.py:1:" in words and "total" in words.splitlines()[-1]


@pytest.mark.requirement("language_servers.after_edit.real")
async def test_typescript(tmp_path):
    server_path("typescript-language-server")
    async with edit_desk(tmp_path, wait=PATIENT) as desk:
        desk.put_all(TYPESCRIPT)
        await opened(desk, "src/main.ts", "src/auth.ts", "src/types.ts")
        words = await words_after(desk, "src/main.ts", "validate(user); validate(user);", "validate(user);")
        assert "finds no new errors in ./src/main.ts" in words, "the error there was there before"
        words = await words_after(desk, "src/auth.ts", 'user.name !== ""', "user.nome")
        assert "1 new error after" in words and "./src/auth.ts:8:14 " in words and "(ts(2339))" in words


@pytest.mark.requirement("language_servers.after_edit.others")
async def test_typescript_callers_in_other_open_files_and_within_the_cage(tmp_path):
    server_path("typescript-language-server")
    async with edit_desk(tmp_path, wait=PATIENT) as desk:
        desk.put_all(TYPESCRIPT)
        await opened(desk, "lib/secret.ts", "src/auth.ts", "src/types.ts")
        caged = desk.caged(("rw", "src"))
        await caged.ok("file.read", path="src/types.ts")
        words = await words_after(caged, "src/types.ts", "name: string", "title: string")
        assert "./src/auth.ts:8:" in words and "secret" not in words
        words = await words_after(caged, "src/types.ts", "title: string", "name: string")
        assert "finds no new errors" in words
        await desk.ok("file.read", path="src/types.ts")
        words = await words_after(desk, "src/types.ts", "name: string", "title: string")
        assert "./src/auth.ts:8:" in words and "./lib/secret.ts:3:" in words


@pytest.mark.requirement("language_servers.after_edit.real")
async def test_a_change_of_many_files_by_structure_or_by_rename(tmp_path):
    server_path("typescript-language-server")
    async with edit_desk(tmp_path, wait=PATIENT) as desk:
        desk.put_all(TYPESCRIPT)
        await opened(desk, "src/main.ts", "src/auth.ts", "src/types.ts")
        answer = await desk.call(
            "code.lsp", action="rename", path="src/types.ts", line=1, symbol="User", new_name="Person"
        )
        words = answer.model_text()
        assert "finds no new errors in " in words and "./src/auth.ts" in words
        answer = await desk.call(
            "edit.ast", path="src", rewrites={"validate($A)": "validate()"}, lang="typescript", dry_run=False
        )
        words = answer.model_text()
        assert "./src/main.ts:4:" in words and "(ts(2554))" in words
