"""SQL by its real server, which finds what cannot be parsed and what its rules say, and nothing else."""

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

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.requirement("language_servers.real.sql"),
]
CONFIG = "[sqruff]\ndialect = {}\nrules = core\n"
CLEAN = "SELECT name\nFROM cranes\nWHERE height > 3\n"
OPEN = "SELECT name\nFROM cranes\nWHERE height > (3\n"
POSTGRES = "SELECT DISTINCT ON (name) name FROM cranes\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sql(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodeDesk]:
    declared = Declared(language="sql", command=server_command("sql"))
    async with code_desk(
        tmp_path_factory.mktemp("sql"), declarations=Declarations(project=(declared,))
    ) as desk:
        desk.put_all({".sqruff": CONFIG.format("ansi"), "cranes.sql": CLEAN, "open.sql": OPEN})
        yield desk


async def found(desk: CodeDesk, path: str) -> list[tuple[int, str | None]]:
    data: Any = await desk.lsp("diagnostics", path=path)
    assert data["fresh"] is True
    return [(one["line"], one.get("code")) for one in data["diagnostics"]]


@pytest.mark.parametrize("_", range(2))
async def test_what_cannot_be_parsed_is_found_in_the_present_content(sql: CodeDesk, _: int) -> None:
    sql.put("open.sql", OPEN)
    assert await found(sql, "open.sql") == [(3, None)]
    sql.put("open.sql", OPEN.replace("3", "3)"))
    assert await found(sql, "open.sql") == []
    sql.put("open.sql", OPEN)


async def test_the_words_say_what_is_wrong(sql: CodeDesk) -> None:
    [one] = (await sql.lsp("diagnostics", path="open.sql"))["diagnostics"]
    assert "closing bracket" in one["message"] and (one["severity"], one["source"]) == ("warning", "sqruff")
    assert (await sql.lsp("diagnostics", path="open.sql", severity="error"))["count"] == 0


async def test_breaches_of_rules_have_their_code_and_place(sql: CodeDesk) -> None:
    sql.put("style.sql", "SELECT  name\nFROM cranes")
    assert await found(sql, "style.sql") == [(1, "LT01"), (2, "LT12")]


async def test_no_answer_is_for_an_earlier_content(sql: CodeDesk) -> None:
    for number in range(40):
        lines = "\n".join(f"-- {one}" for one in range(number * 10))
        sql.put("many.sql", f"{lines}\n{OPEN if number % 2 else CLEAN}".lstrip())
        assert len(await found(sql, "many.sql")) == number % 2, number


async def test_the_dialect_is_that_of_the_configuration_also_when_it_changes(sql: CodeDesk) -> None:
    sql.put(".sqruff", CONFIG.format("ansi"))
    sql.put("names.sql", POSTGRES)
    assert await found(sql, "names.sql") != []
    sql.put(".sqruff", CONFIG.format("postgres"))
    assert await found(sql, "names.sql") == []
    sql.put(".sqruff", CONFIG.format("ansi"))
    assert await found(sql, "names.sql") != []


async def test_ignored_files_have_no_diagnostics(sql: CodeDesk) -> None:
    sql.put("made/open.sql", OPEN)
    assert await found(sql, "made/open.sql") == [(3, None)]
    sql.put(".sqruffignore", "made/\n")
    assert await found(sql, "made/open.sql") == []


async def test_a_new_file_is_known_at_once(sql: CodeDesk) -> None:
    for number in range(5):
        sql.put(f"new{number}.sql", OPEN)
        assert await found(sql, f"new{number}.sql") == [(3, None)]


async def test_a_folder_is_all_its_files(sql: CodeDesk) -> None:
    sql.put_all({"folder/a.sql": CLEAN, "folder/b.sql": OPEN})
    data = await sql.lsp("diagnostics", path="folder")
    assert [(one["path"], one["line"]) for one in data["diagnostics"]] == [("./folder/b.sql", 3)]


@pytest.mark.parametrize("action", ["definition", "references", "hover", "symbols", "code_actions"])
async def test_what_it_does_not_offer_is_refused_by_name(sql: CodeDesk, action: str) -> None:
    at = {} if action == "symbols" else {"line": 1, "symbol": "name"}
    refused = await sql.refused(action, path="cranes.sql", **at)
    assert refused.code == "action_not_supported" and "sqruff" in refused.error_text


async def test_a_killed_server_is_restarted(sql: CodeDesk) -> None:
    await found(sql, "open.sql")
    [server] = (await sql.lsp("status", path="open.sql"))["servers"]
    os.kill(server["pid"], signal.SIGKILL)
    assert await found(sql, "open.sql") == [(3, None)]
