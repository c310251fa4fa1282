"""Where several daemons share a database, every address that names something of a project is looked at."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from starlette.routing import WebSocketRoute

from app.api.project_owner import names_project
from app.api.stream import router

DOCUMENT = Path(__file__).parents[2] / "openapi" / "openapi.json"
OF_PROJECTS = {
    "project_id": "prj_01M8F3CTKZ249YKXA4ARQ7D5Z6",
    "session_id": "ses_01M8F3CTKZ249YKXA4ARQ7D5Z6",
    "run_id": "run_01M8F3CTKZ249YKXA4ARQ7D5Z6",
    "workflow_run_id": "wfr_01M8F3CTKZ249YKXA4ARQ7D5Z6",
    "upload_id": "upl_01M8F3CTKZ249YKXA4ARQ7D5Z6",
    "workspace_id": "wks_01M8F3CTKZ249YKXA4ARQ7D5Z6",
    "attempt_group_id": "att_01M8F3CTKZ249YKXA4ARQ7D5Z6",
}
OF_NO_PROJECT = {"token_id", "name", "model"}
"""They come first in addresses of tokens, providers and chat models."""


def addresses() -> list[str]:
    documented = list(orjson.loads(DOCUMENT.read_bytes())["paths"])
    sockets = [one.path for one in router.routes if isinstance(one, WebSocketRoute)]
    assert sockets
    return [path for path in (*documented, *sockets) if "{" in path]


@pytest.mark.requirement("replicas.elsewhere")
@pytest.mark.parametrize("path", addresses())
def test_an_address_that_names_something_of_a_project_is_looked_at(path: str) -> None:
    first, *_ = re.findall(r"{(\w+)", path)
    assert first in OF_PROJECTS or first in OF_NO_PROJECT, "say what it belongs to"
    filled = re.sub(r"{(\w+)[^}]*}", lambda found: OF_PROJECTS.get(found[1], "x"), path)
    assert names_project(filled) == (first in OF_PROJECTS)


def test_an_address_without_an_id_belongs_to_nobody() -> None:
    for path in ("/api/v1/projects", "/api/v1/projects/load", "/api/v1/sessions/import", "/readyz"):
        assert not names_project(path)
