"""`kaged providers`: lists the providers, and tests them with one small real call and no daemon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
import pytest

from tests.driver.kaged import Home
from tests.fakes.provider_script import Answer, Document, RecordedRequest, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("providers.test")

KEY = "sk-test-0123456789abcdef"


@contextmanager
def serving(home: Home, answer: Answer) -> Iterator[FakeProvider]:
    """Serve one model beside the command, and name the server `mine` in the configuration."""

    def respond(request: RecordedRequest) -> Answer:
        return answer if request.body != b"{}" else Document(400, {"error": {"message": "no messages"}})

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    fake = FakeProvider(respond)
    asyncio.run_coroutine_threadsafe(fake.start(), loop).result(60)
    home.config.write_text(
        f'[models]\nmain = "mine:model-a"\n\n[providers.mine]\ndriver = "openai"\n'
        f'base_url = "{fake.base_url}/v1"\napi_key = "{KEY}"\n\n'
        '[providers.ollama]\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    try:
        yield fake
    finally:
        asyncio.run_coroutine_threadsafe(fake.close(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


def test_a_provider_that_answers_is_shown_with_times_and_counts(home: Home) -> None:
    with serving(home, text_reply("ok")) as fake:
        done = home.run("providers", "test", "mine")
        every = home.run("providers", "test", "--json")
        assert fake.request_count == 2
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ mine:model-a answers in" in done.stdout
    assert "10 tokens in, 5 out; it said 'ok'" in done.stdout
    found = orjson.loads(every.stdout)
    assert (found["ok"], [one["provider"] for one in found["results"]]) == (True, ["mine"])
    assert "set ANTHROPIC_API_KEY" in found["skipped"]["anthropic"]
    assert "Nothing accepts connections" in found["skipped"]["ollama"]
    assert KEY not in done.stdout + every.stdout


def test_a_failure_is_explained_and_exits_with_1(home: Home) -> None:
    refusal = Document(404, {"error": {"message": "no such model", "code": "model_not_found"}})
    with serving(home, refusal):
        done = home.run("providers", "test", "mine", "--model", "model-b2")
    assert done.returncode == 1
    assert "✗ mine:model-b2: The server has no model 'model-b2'." in done.stdout
    assert "The nearest of its names: model-b and model-a." in done.stdout
    assert "→ Use one of the server's names behind `mine:`" in done.stdout


def test_wrong_use_says_what_is_right(home: Home) -> None:
    unknown = home.run("providers", "test", "mien")
    assert (unknown.returncode, "There is no provider 'mien'" in unknown.stderr) == (1, True)
    nameless = home.run("providers", "test", "--model", "m")
    assert (nameless.returncode, "--model needs the NAME" in nameless.stderr) == (2, True)


def test_the_list_says_what_each_provider_lacks(home: Home) -> None:
    done = home.run("providers", "list")
    assert done.returncode == 0
    assert "set OPENAI_API_KEY" in done.stdout
    listed = orjson.loads(home.run("providers", "list", "--json").stdout)
    assert next(one for one in listed if one["name"] == "ollama")["ready"] is True
