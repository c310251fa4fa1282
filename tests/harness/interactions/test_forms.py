"""`kaged.form`: values of every type, files included, checked field by field."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.sessions import Driver, Watch
from tests.fakes.provider_script import Reply, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.interactions.asking import answer, ask, field, form, read_by_model, until_asked

pytestmark = pytest.mark.requirement("interactions.form")

EVERY_TYPE = (
    field("title", "text", required=True),
    field("notes", "textarea"),
    field("shop", "url", required=True),
    field("rows", "number", required=True),
    field("urgent", "boolean", required=True),
    field("data", "file", required=True),
)
VALUES = {"title": "Sale", "notes": "a\nb", "shop": "https://example.org/a", "rows": 2.5, "urgent": False}
MEBIBYTE = 1024 * 1024


async def upload(driver: Driver, asked_for: dict[str, Any], content: Any, name: str = "data.csv") -> Any:
    path = f"/api/v1/sessions/{driver.session_id}/interactions/{asked_for['interaction_id']}/files"
    answer = await driver.client.post(path, params={"name": name}, content=content, timeout=90)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def asked_for_a_form(driver: Driver, fake: FakeProvider, watch: Watch, *fields: Any) -> dict[str, Any]:
    fake.script(Reply((form(*fields),)), text_reply("Thank you."))
    await driver.post("Prepare the sale")
    (asked_for,) = await until_asked(watch)
    await watch.until_state("paused")
    return asked_for


async def test_values_of_every_type_reach_the_model_and_a_file_lies_in_the_project(
    asked: Driver, fake: FakeProvider, asking_root: Path
) -> None:
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, *EVERY_TYPE)
        made = await upload(asked, asked_for, b"a,b\n1,2\n")
        closed = await answer(asked, asked_for, values={**VALUES, "data": made["id"]})
        await watch.until_state("idle")

    (result,) = read_by_model(fake)
    values = orjson.loads(result)["values"]
    path = f".kaged/tmp/{asked_for['interaction_id']}/data.csv"
    assert values == {**VALUES, "data": {"path": path, "name": "data.csv", "size": 8}}
    assert (asking_root / path).read_bytes() == b"a,b\n1,2\n"
    assert closed["answer"]["values"]["data"]["upload_id"] == made["id"]
    assert (await asked.call("GET", f"/uploads/{made['id']}"))["used_by"] == asked_for["interaction_id"]


async def test_a_file_of_50_megabytes_is_taken_whole(
    asked: Driver, fake: FakeProvider, asking_root: Path
) -> None:
    piece = bytes(range(256)) * 4096

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield piece

    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, field("data", "file", required=True))
        made = await upload(asked, asked_for, pieces(), "big.bin")
        await answer(asked, asked_for, values={"data": made["id"]})
        await watch.until_state("idle")
    told = orjson.loads(read_by_model(fake)[0])["values"]["data"]
    assert told["size"] == 50 * MEBIBYTE
    with (asking_root / told["path"]).open("rb") as file:
        digest = await asyncio.to_thread(hashlib.file_digest, file, "sha256")
    assert digest.hexdigest() == made["sha256"]


WRONG: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"title": 3}, {"values.title": "must be a string"}),
    ({"title": "a\nb"}, {"values.title": "one line"}),
    ({"title": "x" * 2_001}, {"values.title": "2000"}),
    ({"title": None}, {"values.title": "is required"}),
    ({"title": ""}, {"values.title": "is required"}),
    ({"title": " \t"}, {"values.title": "is required"}),
    ({"notes": "x" * 50_001}, {"values.notes": "50000"}),
    ({"shop": "ftp://example.org"}, {"values.shop": "http"}),
    ({"shop": "https://"}, {"values.shop": "http"}),
    ({"shop": "https://a b"}, {"values.shop": "http"}),
    ({"rows": "12"}, {"values.rows": "must be a number"}),
    ({"rows": True}, {"values.rows": "must be a number"}),
    ({"rows": 1e300}, {"values.rows": "too large"}),
    ({"urgent": "yes"}, {"values.urgent": "true or false"}),
    ({"data": "notes.txt"}, {"values.data": "upl_"}),
    ({"data": "upl_01JZ0000000000000000000000"}, {"values.data": "no upload"}),
    ({"color": "red"}, {"values.color": "no such field"}),
    ({"title": {"en": "Sale"}}, {"values.title": "must be a string"}),
    ({"data": ["upl_01JZ0000000000000000000000"]}, {"values.data": "id of its upload"}),
    ({"title": 3, "rows": "x"}, {"values.title": "string", "values.rows": "number"}),
]


@pytest.mark.requirement("interactions.checked")
async def test_what_does_not_fit_is_said_field_by_field_and_the_form_stays_open(
    asked: Driver, fake: FakeProvider
) -> None:
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, *EVERY_TYPE)
        made = await upload(asked, asked_for, b"a")
        right = {**VALUES, "data": made["id"]}
        for wrong, fields in WRONG:
            refused = await answer(asked, asked_for, status=400, values={**right, **wrong})
            found = refused["error"]["details"]["fields"]
            assert set(found) == set(fields), wrong
            assert all(text in found[name] for name, text in fields.items()), found
        missing = await answer(asked, asked_for, status=400, values={})
        assert set(missing["error"]["details"]["fields"]) == {
            f"values.{name}" for name in ("title", "shop", "rows", "urgent", "data")
        }
        await answer(asked, asked_for, values=right)
        await watch.until_state("idle")


@pytest.mark.requirement("interactions.checked")
async def test_of_many_names_that_nobody_asked_for_the_first_are_reported(
    asked: Driver, fake: FakeProvider
) -> None:
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, *(field(f"f{n}", "text") for n in range(50)))
        refused = await answer(asked, asked_for, status=400, values={f"x{n}": 1 for n in range(4_000)})
    fields = refused["error"]["details"]["fields"]
    assert set(fields) == {f"values.x{n}" for n in range(20)}
    assert "f49" in fields["values.x0"]


@pytest.mark.requirement("interactions.checked")
async def test_texts_that_are_too_long_together_are_refused(asked: Driver, fake: FakeProvider) -> None:
    fields = [field(f"part{n}", "textarea") for n in range(3)]
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, *fields)
        long = {f"part{n}": "x" * 40_000 for n in range(3)}
        refused = await answer(asked, asked_for, status=400, values=long)
        assert set(refused["error"]["details"]["fields"]) == {"values"}
        closed = await answer(asked, asked_for, values={**long, "part2": None})
        await watch.until_state("idle")
    (told,) = watch.of("interaction.answered")
    assert "answer" not in told["payload"]
    assert told["payload"]["answer_ref"].endswith(f"/interactions/{asked_for['interaction_id']}")
    assert closed["answer"]["values"]["part2"] is None
    assert orjson.loads(read_by_model(fake)[0])["values"]["part2"] is None


async def test_files_of_one_name_are_distinguished_and_one_upload_serves_one_field(
    asked: Driver, fake: FakeProvider, asking_root: Path
) -> None:
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, field("a", "file"), field("b", "file"))
        one, two = await upload(asked, asked_for, b"one"), await upload(asked, asked_for, b"two")
        twice = await answer(asked, asked_for, status=400, values={"a": one["id"], "b": one["id"]})
        assert set(twice["error"]["details"]["fields"]) == {"values.b"}
        await answer(asked, asked_for, values={"a": one["id"], "b": two["id"]})
        await watch.until_state("idle")
    values = orjson.loads(read_by_model(fake)[0])["values"]
    assert values["a"]["path"] != values["b"]["path"]
    assert (asking_root / values["a"]["path"]).read_bytes() == b"one"
    assert (asking_root / values["b"]["path"]).read_bytes() == b"two"


@pytest.mark.requirement("interactions.once")
async def test_of_two_forms_at_once_one_counts_and_the_other_files_are_let_go(
    asked: Driver, fake: FakeProvider
) -> None:
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, field("data", "file", required=True))
        made = [await upload(asked, asked_for, text) for text in (b"one", b"two")]
        path = f"/api/v1/sessions/{asked.session_id}/interactions/{asked_for['interaction_id']}/answer"
        both = await asyncio.gather(
            *(asked.client.post(path, json={"values": {"data": one["id"]}}) for one in made)
        )
        await watch.until_state("idle")
    assert sorted(one.status_code for one in both) == [200, 409]
    won = both[0] if both[0].status_code == 200 else both[1]
    used = won.json()["answer"]["values"]["data"]["upload_id"]
    owners = {one["id"]: (await asked.call("GET", f"/uploads/{one['id']}"))["used_by"] for one in made}
    assert owners == {one["id"]: asked_for["interaction_id"] if one["id"] == used else None for one in made}


async def test_a_file_that_the_project_cannot_take_is_let_go_and_may_be_given_again(
    asked: Driver, fake: FakeProvider, asking_root: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (asking_root / ".kaged" / "tmp").symlink_to(out)
    async with asked.watching() as watch:
        asked_for = await asked_for_a_form(asked, fake, watch, field("data", "file", required=True))
        made = await upload(asked, asked_for, b"one")
        refused = await answer(asked, asked_for, status=409, values={"data": made["id"]})
        assert "symbolic link" in refused["error"]["message"]
        assert list(out.iterdir()) == []
        assert (await asked.call("GET", f"/uploads/{made['id']}"))["used_by"] is None
        (asking_root / ".kaged" / "tmp").unlink()
        await answer(asked, asked_for, values={"data": made["id"]})
        await watch.until_state("idle")
    assert (await asked.call("GET", f"/uploads/{made['id']}"))["used_by"] == asked_for["interaction_id"]


async def test_files_are_only_for_forms_that_are_open(asked: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ask(), form(field("a", "text"), call_id="call_2"))), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Begin")
        kinds = {one["kind"]: one for one in await until_asked(watch, 2)}
        await watch.until_state("paused")
        path = "/api/v1/sessions/{}/interactions/{}/files"

        async def send(kind: str) -> Any:
            where = path.format(asked.session_id, kinds[kind]["interaction_id"])
            return (await asked.client.post(where, params={"name": "a"}, content=b"a")).json()

        assert (await send("ask"))["error"]["details"]["reason"] == "no_form"
        await answer(asked, kinds["form"], values={"a": "x"})
        assert (await send("form"))["error"]["details"]["reason"] == "already_answered"
