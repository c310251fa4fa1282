"""What is ignored counts for language servers: installed packages, generated code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import PROJECT_YAML


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.freshness.ignored")
async def test_what_is_generated_into_an_ignored_folder_is_known_to_the_next_call(
    client: httpx2.AsyncClient, session_id: str, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    (shop / ".kaged" / "project.yaml").write_text(f"{PROJECT_YAML}    code.lsp: {{enabled: true}}\n")
    (shop / ".gitignore").write_text("generated/\n")
    (shop / "uses.py").write_text("from generated import made\n\nx: int = made.value\n")
    loaded = await client.post("/api/v1/projects/load", json={"path": str(shop)})
    made = await client.post("/api/v1/sessions", json={"project_id": loaded.json()["id"]})

    async def messages() -> list[str]:
        answer = await client.post(
            f"/api/v1/sessions/{made.json()['id']}/tools/code.lsp",
            json={"params": {"action": "diagnostics", "path": "uses.py", "severity": "error"}},
        )
        told: dict[str, Any] = answer.json()
        assert told["type"] == "output", told
        assert told["data"]["fresh"] is True
        return [one["message"] for one in told["data"]["diagnostics"]]

    [before] = await messages()
    assert "could not be resolved" in before
    folder = shop / "generated"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "made.py").write_text("value = 1\n")
    assert await messages() == []
    (folder / "made.py").write_text("value = 'one'\n")
    [after] = await messages()
    assert "is not assignable" in after
