"""A daemon with a user's repository as its project, and two models that write different things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.workspaces import write_repository
from tests.fakes.provider_script import Answer, RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

WRITES = {"model-a": "fixed", "model-b": "worse"}
PRICE = {"input": 1_000_000.0, "output": 0.0}
"""US dollars for a million tokens: a call of the fake model costs 10."""


def answer(request: RecordedRequest) -> Answer:
    """Write a file of one line, which depends on the model, and say so."""
    messages: list[dict[str, Any]] = request.json["messages"]
    asked = max(at for at, one in enumerate(messages) if one["role"] == "user")
    if any(one["role"] == "assistant" for one in messages[asked:]):
        return text_reply("Done.")
    text = f"{WRITES[request.json['model']]}\n"
    return Reply((ToolCall("file_write", {"path": "result.txt", "content": text}),))


@pytest.fixture
def settings_overrides(fake: FakeProvider) -> dict[str, Any]:
    provider = {"driver": "openai", "base_url": f"{fake.base_url}/v1", "api_key": "sk-test-secret"}
    return {
        "models": {"main": ["fake:model-a"], "other": ["fake:model-b"]},
        "providers": {"fake": provider},
        "prices": {"fake:model-a": PRICE, "fake:model-b": PRICE},
    }


@pytest.fixture
def project_root(tmp_path: Path) -> Path:
    return write_repository(tmp_path / "shop")
