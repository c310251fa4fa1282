"""Why a provider cannot be used: each failure is made by a real server and explained in plain words."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.config import ProviderSettings
from app.harness.providers.probe import ProviderTestResult
from app.harness.providers.router import ProviderRouter
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import Answer, Document, RecordedRequest, Reply, Stall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.fakes.web_server import web_server

pytestmark = pytest.mark.requirement("providers.test")

KEY = "sk-test-0123456789abcdef"
CERTIFICATE = Path(__file__).parents[2] / "fixtures" / "web" / "site_test.pem"
NO_PATH = Document(404, {"error": {"message": "no such path"}})
PATIENT = {"connect_timeout_seconds": 60.0}
"""Where no server for names answers, it takes long to find out."""
EMPTY = Document(400, {"error": {"message": "messages is required"}})


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def asked(base_url: str, model: str = "model-a", **more: Any) -> ProviderTestResult:
    """Test a provider at an address."""
    settings = {"driver": "openai", "api_key": SecretStr(KEY), "timeout_seconds": WAIT_SECONDS, **more}
    router = ProviderRouter({}, {"mine": ProviderSettings(base_url=base_url, **settings)}, {})
    try:
        result = await router.test("mine", model)
    finally:
        await router.aclose()
    assert KEY not in repr(result)
    return result


@asynccontextmanager
async def server(paths: Mapping[str, Answer]) -> AsyncIterator[FakeProvider]:
    """Serve answers at some paths. All others, and a request that asks nothing, are refused as servers do."""

    def respond(request: RecordedRequest) -> Answer:
        answer = paths.get(request.path.partition("?")[0])
        return NO_PATH if answer is None else EMPTY if request.body == b"{}" else answer

    async with FakeProvider(respond) as fake:
        yield fake


async def test_a_provider_that_answers_has_nothing_to_explain() -> None:
    async with server({"/v1/chat/completions": text_reply("ok")}) as fake:
        result = await asked(f"{fake.base_url}/v1")
        assert fake.request_count == 1
    assert (result.ok, result.cause, result.explanation, result.advice) == (True, None, None, None)


async def test_without_a_key_nothing_is_sent_and_the_variable_is_named() -> None:
    async with FakeProvider() as fake:
        result = await asked(fake.base_url, api_key=None, api_key_env="MY_KEY")
        assert fake.request_count == 0
    assert (result.ok, result.cause, result.error) == (False, "no_key", "auth")
    assert "set MY_KEY" in (result.advice or "")
    assert "`kaged providers key mine`" in (result.advice or "")


async def test_a_server_that_wants_a_key_which_is_not_configured() -> None:
    async with server({"/chat/completions": Document(401, {"error": {"message": "no key"}})}) as fake:
        result = await asked(fake.base_url, api_key=None)
    assert (result.cause, result.advice) == (
        "no_key",
        "Run `kaged providers key mine`, or set providers.mine.api_key or providers.mine.api_key_env.",
    )


@pytest.mark.parametrize(
    ("refusal", "cause"),
    [
        (Document(401, {"error": {"message": "bad", "code": "invalid_api_key"}}), "refused_key"),
        (Document(403, {"error": {"message": "not for you", "code": "permission_denied"}}), "no_permission"),
        (Document(429, {"error": {"message": "Pay", "code": "insufficient_quota"}}), "quota"),
        (Document(400, {"error": {"message": "Your credit balance is too low"}}), "quota"),
        (Document(402, {"error": {"message": "Payment required"}}), "quota"),
        (Document(429, {"error": {"message": "Slow"}}, {"retry-after": "7"}), "rate_limited"),
        (Document(529, {"error": {"message": "Busy"}}), "overloaded"),
        (Document(400, {"error": {"message": "temperature is not supported"}}), "refused_request"),
        (Document(407, ""), "proxy"),
    ],
    ids=["key", "permission", "quota", "credit", "payment", "rate", "overload", "parameter", "proxy"],
)
async def test_what_the_server_refuses_is_told_apart(refusal: Document, cause: str) -> None:
    async with server({"/v1/chat/completions": refusal}) as fake:
        result = await asked(f"{fake.base_url}/v1")
    assert result.cause == cause
    assert result.explanation and result.advice and result.message


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Invalid model name passed in model=gpt-9", "unknown_model"),
        ("The model gpt-9 does not take a temperature", "refused_request"),
    ],
)
async def test_without_a_list_the_refusal_tells_that_there_is_no_such_model(message: str, cause: str) -> None:
    async with server({"/v1/chat/completions": Document(400, {"error": {"message": message}})}) as fake:
        fake.models = ()
        assert (await asked(f"{fake.base_url}/v1", "gpt-9")).cause == cause


@pytest.mark.parametrize(
    "refusal",
    [
        Document(404, {"error": {"message": "The model does not exist", "code": "model_not_found"}}),
        Document(404, {"error": {"message": "model: claude", "type": "not_found_error"}}),
        Document(400, {"error": {"message": "Invalid model: gpt-5-mimi"}}),
    ],
)
async def test_an_unknown_model_comes_with_the_nearest_names(refusal: Document) -> None:
    async with server({"/v1/chat/completions": refusal}) as fake:
        fake.models = ("gpt-5-mini", "gpt-5-nano", "whisper-1")
        result = await asked(f"{fake.base_url}/v1", "gpt-5-mimi")
    assert result.cause == "unknown_model"
    assert "'gpt-5-mimi'. The nearest of its names: gpt-5-mini and gpt-5-nano" in (result.explanation or "")


@pytest.mark.parametrize("wrong", ["", "/v1/chat/completions", "/v2"])
async def test_a_wrong_address_comes_with_the_right_one(wrong: str) -> None:
    async with server({"/v1/chat/completions": text_reply("ok")}) as fake:
        fake.models = ()
        result = await asked(fake.base_url + wrong)
    assert (result.cause, result.advice) == (
        "wrong_address",
        f'Set providers.mine.base_url = "{fake_url(fake)}/v1".',
    )


def fake_url(fake: FakeProvider) -> str:
    return f"http://127.0.0.1:{fake.requests[0].headers['host'].rpartition(':')[2]}"


@pytest.mark.parametrize(
    ("driver", "path", "speaks", "base"),
    [
        ("anthropic", "/v1/chat/completions", "openai", "/v1"),
        ("openai", "/v1/messages", "anthropic", ""),
        ("openai", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "google", ""),
        ("google", "/v1/responses", "openai-responses", "/v1"),
    ],
)
async def test_a_server_of_another_type_is_recognised(driver: str, path: str, speaks: str, base: str) -> None:
    async with server({path: text_reply("ok")}) as fake:
        result = await asked(fake.base_url, driver=driver)
    assert result.cause == "wrong_type"
    assert result.advice == (
        f'Set providers.mine.driver = "{speaks}" and providers.mine.base_url = "{fake_url(fake)}{base}".'
    )
    assert all(
        KEY not in str(request.headers) for request in list(fake.requests)[1:] if request.body == b"{}"
    )


async def test_a_web_page_is_no_provider() -> None:
    page = Document(200, "<html>", {"content-type": "text/html"})
    async with FakeProvider(lambda request: page if request.body != b"{}" else NO_PATH) as fake:
        result = await asked(fake.base_url)
    assert (result.cause, result.error) == ("wrong_address", "unknown")
    assert "a web page" in (result.explanation or "")


async def test_a_redirect_is_explained() -> None:
    moved = Document(308, "", {"location": "https://elsewhere.test/"})
    async with FakeProvider(lambda request: moved if request.body != b"{}" else NO_PATH) as fake:
        result = await asked(fake.base_url)
    assert (result.cause, "redirects (HTTP 308)" in (result.explanation or "")) == ("wrong_address", True)


async def test_a_server_that_answers_everything_alike_is_not_misjudged() -> None:
    """A gateway refuses what has no key, whatever the path: then only the first answer counts."""
    gateway = Document(401, {"error": {"message": "no key"}})
    absent = Document(404, {"error": {"message": "model not found"}})
    async with FakeProvider(lambda request: gateway if request.body == b"{}" else absent) as fake:
        result = await asked(fake.base_url, "gpt-9")
    assert (result.cause, "'gpt-9'" in (result.explanation or "")) == ("unknown_model", True)


async def test_a_port_at_which_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = await asked(address)
    assert (result.cause, result.error) == ("no_server", "network")
    assert address.rpartition(":")[2] in (result.explanation or "")


async def test_a_name_that_does_not_exist() -> None:
    result = await asked("https://no-such-provider.invalid/v1", options=PATIENT)
    assert result.cause == "no_network"
    assert "no-such-provider.invalid" in (result.explanation or "")


async def test_a_proxy_of_the_environment_that_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret-word@proxy.test:3128")
    result = await asked("https://no-such-provider.invalid/v1", options=PATIENT)
    assert (result.cause, result.advice) == ("proxy", "Set providers.mine.options.trust_env = true.")
    assert "secret-word" not in repr(result)


async def test_a_proxy_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        result = await asked("https://api.test/v1", options={"trust_env": True})
    assert (result.cause, "403 Forbidden" in (result.explanation or "")) == ("proxy", True)


async def test_a_certificate_that_is_not_accepted() -> None:
    encrypted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    encrypted.load_cert_chain(CERTIFICATE)
    async with web_server(encrypted=encrypted) as secured:
        result = await asked(f"https://127.0.0.1:{secured.port}/v1")
    assert (result.cause, "SSL_CERT_FILE" in (result.advice or "")) == ("tls", True)


async def test_a_server_without_tls_behind_https() -> None:
    async def without_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(without_tls, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        result = await asked(f"https://127.0.0.1:{port}/v1")
    assert (result.cause, '"http:"' in (result.advice or "")) == ("tls", True)


async def test_a_server_with_tls_behind_http() -> None:
    encrypted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    encrypted.load_cert_chain(CERTIFICATE)
    async with web_server(encrypted=encrypted) as secured:
        result = await asked(f"http://127.0.0.1:{secured.port}/v1")
    assert result.cause == "wrong_address"


async def test_a_server_that_never_answers() -> None:
    async with server({"/chat/completions": Reply((Stall(),))}) as fake:
        result = await asked(fake.base_url, timeout_seconds=0.2)
    assert (result.cause, "first_byte_timeout_seconds" in (result.advice or "")) == ("time_out", True)
