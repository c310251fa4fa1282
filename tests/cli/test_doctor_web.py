"""`kaged doctor` names the search providers that can be asked, and the proxy that resolves names."""

from __future__ import annotations

import pytest

from app.cli import diagnosis
from app.config import load_settings

pytestmark = pytest.mark.requirement("command_line.doctor")

CONFIG = {
    "search.providers": {
        "searxng": {"base_url": "http://127.0.0.1:8888"},
        "exa": {"api_key": "exa-key-value"},
        "brave": {},
    }
}


def test_the_doctor_names_the_search_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    (absent,) = diagnosis._web(load_settings(environ={}))
    assert (absent.name, absent.status, absent.advice) == (
        "web_search",
        "absent",
        "configure one under [search.providers]",
    )
    found = {one.name: one for one in diagnosis._web(load_settings(environ={}, overrides=CONFIG))}
    assert {name: one.status for name, one in found.items()} == {
        "searxng": "ok",
        "exa": "ok",
        "brave": "absent",
    }
    assert found["searxng"].detail == "asked by web_search at 127.0.0.1:8888"
    assert found["exa"].detail == "asked by web_search at api.exa.ai:443"
    assert "set BRAVE_API_KEY" in (found["brave"].advice or "")
    assert "exa-key-value" not in repr(found)


@pytest.mark.requirement("locked.web_fetch.hosts")
def test_the_doctor_says_that_a_proxy_resolves_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret-word@proxy.test:3128")
    found = [one for one in diagnosis._web(load_settings(environ={})) if "proxy" in one.name]
    (proxy,) = [one for one in found if one.name == "https proxy"]
    assert "proxy.test:3128 resolves names for web_fetch and web_search" in proxy.detail
    assert "secret-word" not in proxy.detail
