"""What the failures of each provider mean."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import orjson
import pytest

from app.harness.providers.classification import (
    CONTEXT_LENGTH_PHRASES,
    provider_error,
    read_failure,
    redact,
    retry_after,
)

pytestmark = pytest.mark.requirement("providers.errors", "loop.context_length")

TOO_LONG = (
    ("openai", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001"),
    (
        "openai",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    ("openai", "Input tokens exceed the configured limit of 272000 tokens."),
    (
        "openai",
        "Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760",
    ),
    ("anthropic", "prompt is too long: 208310 tokens > 200000 maximum"),
    ("anthropic", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
    ("anthropic", "Request exceeds the maximum size"),
    ("google", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    (
        "google",
        "Unable to submit request because the input token count is 40000 but model only supports up to 32768",
    ),
    ("azure", "The input or output tokens must be reduced in order to run successfully"),
    ("azure", "Please reduce your prompt; or completion length."),
    ("azure", "Please reduce the length of the messages or completion."),
    ("ollama", "the input length exceeds the context length"),
    ("ollama", "input length exceeds maximum context length"),
    ("ollama", "prompt too long; exceeded max context length by 12 tokens"),
    ("vllm", "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
    ("vllm", "Make sure that `max_model_len` is no smaller than the number of text tokens"),
    (
        "vllm",
        "You passed 4097 input tokens. However, the model's context length is only 4096 tokens, ...",
    ),
    ("sglang", "The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
    ("sglang", "Requested token count exceeds the model's maximum context length of 202752 tokens."),
    ("sglang", "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."),
    ("llama.cpp", "the request exceeds the available context size, try increasing it"),
    ("llama.cpp", "Context size has been exceeded."),
    (
        "openrouter",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000",
    ),
    ("lm studio", "The number of tokens to keep from the initial prompt is greater than the context length"),
    ("lm studio", "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"),
    ("mistral", "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    ("x-ai", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    ("bedrock", "Input is too long for requested model."),
    ("moonshot", "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"),
    ("minimax", "invalid params, context window exceeds limit (2013)"),
    ("github copilot", "prompt token count of 129000 exceeds the limit of 128000"),
)


def kind_of(status: int | None, body: Any) -> str:
    return provider_error(provider="p", model="m", status=status, body=body).kind


@pytest.mark.parametrize(("source", "words"), TOO_LONG)
def test_words_about_length_are_recognised_in_every_shape(source: str, words: str) -> None:
    assert kind_of(400, orjson.dumps({"error": {"message": words, "code": None}})) == "context_length"
    assert kind_of(400, {"type": "error", "error": {"type": "x", "message": words}}) == "context_length"
    assert kind_of(400, [{"error": {"code": 400, "message": words, "status": "X"}}]) == "context_length"
    assert kind_of(500, {"error": words}) == "context_length"
    assert kind_of(400, {"object": "error", "message": words, "type": "BadRequestError"}) == "context_length"
    assert (
        kind_of(None, {"type": "response.failed", "response": {"error": {"message": words}}})
        == "context_length"
    )
    assert kind_of(400, words.upper().encode()) == "context_length"
    assert kind_of(429, {"error": {"message": words}}) == "rate_limited"


def test_every_row_of_the_table_is_shown_by_an_example() -> None:
    import re

    for source, pattern in CONTEXT_LENGTH_PHRASES:
        examples = [words for name, words in TOO_LONG if name == source]
        assert any(re.search(pattern, words, re.IGNORECASE) for words in examples), (source, pattern)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, "auth"),
        (403, {"type": "error", "error": {"type": "permission_error", "message": "no"}}, "auth"),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, "auth"),
        (
            429,
            {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
            "auth",
        ),
        (429, {"error": {"message": "Rate limit reached", "type": "tokens"}}, "rate_limited"),
        (429, [{"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED"}}], "rate_limited"),
        (429, b"", "rate_limited"),
        (
            429,
            {"error": {"type": "rate_limit_error", "message": "would exceed 30,000 input tokens per minute"}},
            "rate_limited",
        ),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded",
        ),
        (503, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}, "overloaded"),
        (500, b"<html>oops</html>", "overloaded"),
        (498, {"error": {"message": "flex tier capacity exceeded"}}, "overloaded"),
        (408, b"", "overloaded"),
        (413, b"", "context_length"),
        (
            413,
            {"type": "error", "error": {"type": "request_too_large", "message": "too big"}},
            "context_length",
        ),
        (400, {"error": {"message": "x", "code": "content_filter"}}, "content_refused"),
        (
            400,
            {"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
            "content_refused",
        ),
        (400, {"error": {"message": "bad", "type": "invalid_request_error"}}, "bad_request"),
        (404, {"error": {"message": "model not found", "code": "model_not_found"}}, "bad_request"),
        (422, {"detail": "field required"}, "bad_request"),
        (307, b"", "bad_request"),
        (400, {"error": {"code": 400, "status": "UNAUTHENTICATED", "message": "x"}}, "auth"),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "API key not valid. Please pass a valid API key.",
                    "status": "INVALID_ARGUMENT",
                    "details": [7, {"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}],
                }
            },
            "auth",
        ),
        (None, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "overloaded"),
        (None, {"error": {"message": "x", "code": 429}}, "rate_limited"),
        (None, {"error": {"message": "x", "code": "502"}}, "overloaded"),
        (None, {"type": "error", "code": "rate_limit_exceeded", "message": "x"}, "rate_limited"),
        (200, {"error": {"message": "x", "code": 401}}, "auth"),
        (None, {"error": "something"}, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_status_and_codes_decide_the_kind(status: int | None, body: Any, kind: str) -> None:
    assert kind_of(status, body) == kind


NOW = 1_700_000_000.0


@pytest.mark.requirement("providers.retry", "loop.rate_limit")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW + 90, UTC), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(NOW - 90, UTC), usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_hints_are_read_from_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == seconds


@pytest.mark.requirement("providers.retry", "loop.rate_limit")
def test_retry_hints_are_read_from_googles_body() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}
    body = {"error": {"code": 429, "message": "x", "details": [{"@type": "other"}, info]}}
    assert provider_error(provider="p", model="m", status=429, body=body).retry_after == 37.5


def test_the_credential_is_never_in_a_message() -> None:
    secret = "my+secret/credential"
    body = {
        "error": {"message": f"key {secret} is wrong; so is sk-abcdefghijkl and AIzaSyA123456789012345678"}
    }
    error = provider_error(provider="p", model="m", status=401, body=body, secrets=(secret, ""))
    assert secret not in error.message
    assert "sk-abc" not in error.message
    assert "AIza" not in error.message
    assert error.message.count("[redacted]") == 3
    assert redact("Authorization: Bearer abc.def", ()) == "Authorization: Bearer [redacted]"


def test_words_that_only_begin_like_a_key_stay() -> None:
    words = "unknown fields skip_special_tokens, skeletonize and pkg_resources"
    assert provider_error(provider="p", model="m", status=400, body={"error": words}).message.endswith(words)
    assert redact("sk_live_abcdefgh gsk_abcdefghij pk-lf-12345678", ()) == " ".join(["[redacted]"] * 3)


def test_words_of_the_provider_behind_a_gateway_are_passed_on() -> None:
    body = {"error": {"message": "Provider returned error", "metadata": {"raw": "slow down please"}}}
    assert "slow down please" in read_failure(body).message


def test_a_very_long_explanation_is_shortened() -> None:
    assert len(provider_error(provider="p", model="m", status=500, body=b"x" * 100_000).message) < 3_000
