"""Permission rules over REST: made, listed, deleted, for a project or one session of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import PROJECT_YAML, Daemon

pytestmark = pytest.mark.requirement("authorisation.routes")

RULE = {"permission": "shell.bash", "pattern": "git status *", "action": "allow"}


@pytest.fixture(params=["projects", "sessions"])
def rules_path(request: pytest.FixtureRequest, project_id: str, session_id: str) -> str:
    noun = request.param
    return f"/api/v1/{noun}/{project_id if noun == 'projects' else session_id}/permissions"


async def made(client: httpx2.AsyncClient, path: str, status: int = 201, **rule: Any) -> Any:
    answer = await client.post(path, json={**RULE, **rule})
    assert answer.status_code == status, answer.text
    return answer.json()


async def listed(client: httpx2.AsyncClient, path: str, **params: Any) -> Any:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_rule_is_made_listed_and_deleted(
    client: httpx2.AsyncClient, rules_path: str, project_id: str, session_id: str
) -> None:
    rule = await made(client, rules_path)
    assert rule["id"].startswith("rul_")
    assert rule["project_id"] == project_id
    assert rule["session_id"] == (session_id if "sessions" in rules_path else None)
    assert {name: rule[name] for name in RULE} == RULE
    assert (rule["created_by"], rule["effective"], rule["overruled_by"]) == ("operator", True, None)
    assert (await listed(client, rules_path))["items"] == [rule]

    gone = await client.delete(f"{rules_path}/{rule['id']}")
    assert gone.status_code == 204
    assert await listed(client, rules_path) == {"items": [], "next_cursor": None, "total": 0}
    again = await client.delete(f"{rules_path}/{rule['id']}")
    assert again.status_code == 404


async def test_without_an_action_a_rule_asks(client: httpx2.AsyncClient, rules_path: str) -> None:
    answer = await client.post(rules_path, json={"permission": "*", "pattern": "*"})
    assert (answer.status_code, answer.json()["action"]) == (201, "ask")


async def test_the_same_rule_again_is_the_one_there_is_and_another_action_is_a_conflict(
    client: httpx2.AsyncClient, rules_path: str
) -> None:
    rule = await made(client, rules_path)
    assert await made(client, rules_path, 200) == rule
    refused = await made(client, rules_path, 409, action="deny")
    assert refused["error"]["details"] == {"id": rule["id"], "action": "allow", "reason": "rule_exists"}
    assert (await listed(client, rules_path))["total"] == 1


async def test_a_list_has_pages_with_the_newest_first(client: httpx2.AsyncClient, rules_path: str) -> None:
    made_rules = [await made(client, rules_path, pattern=f"git {n} *") for n in range(5)]
    found, cursor = [], None
    while True:
        page = await listed(client, rules_path, limit=2, **({"cursor": cursor} if cursor else {}))
        assert page["total"] == 5
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == list(reversed(made_rules))


async def test_scopes_do_not_see_each_others_rules(
    client: httpx2.AsyncClient, project_id: str, session_id: str
) -> None:
    project, session = f"/api/v1/projects/{project_id}", f"/api/v1/sessions/{session_id}"
    of_project = await made(client, f"{project}/permissions")
    of_session = await made(client, f"{session}/permissions", action="deny")
    for path, foreign in ((project, of_session), (session, of_project)):
        page = await listed(client, f"{path}/permissions")
        assert foreign not in page["items"]
        assert page["total"] == 1
        refused = await client.delete(f"{path}/permissions/{foreign['id']}")
        assert refused.status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"permission": ""}, "permission"),
        ({"permission": "shell bash"}, "permission"),
        ({"permission": "x" * 201}, "permission"),
        ({"permission": None}, "permission"),
        ({"pattern": ""}, "pattern"),
        ({"pattern": "x" * 1001}, "pattern"),
        ({"pattern": ["git"]}, "pattern"),
        ({"action": "maybe"}, "action"),
        ({"pinned": True}, "pinned"),
        ({"scope": "manifest"}, "scope"),
    ],
)
async def test_a_malformed_rule_is_refused_by_field(
    client: httpx2.AsyncClient, rules_path: str, change: dict[str, Any], field: str
) -> None:
    refused = await made(client, rules_path, 400, **change)
    assert refused["error"]["code"] == "validation_failed"
    assert list(refused["error"]["details"]["fields"]) == [field]
    assert (await listed(client, rules_path))["total"] == 0


@pytest.mark.parametrize("noun", ["projects/prj", "sessions/ses"])
async def test_where_there_is_nothing_there_are_no_rules(client: httpx2.AsyncClient, noun: str) -> None:
    path = f"/api/v1/{noun}_01JZ0000000000000000000000/permissions"
    rule = f"{path}/rul_01JZ0000000000000000000000"
    answers = [await client.get(path), await client.post(path, json=RULE), await client.delete(rule)]
    assert [answer.status_code for answer in answers] == [404, 404, 404]


async def test_each_change_is_audited_with_what_it_was(client: httpx2.AsyncClient, rules_path: str) -> None:
    rule = await made(client, rules_path)
    await client.delete(f"{rules_path}/{rule['id']}")
    answer = await client.get("/api/v1/audit", params={"event": "permission.*"})
    removed, added = answer.json()["items"]
    assert (added["event"], removed["event"]) == ("permission.rule_added", "permission.rule_removed")
    for row in (added, removed):
        assert row["data"] == {"rule_id": rule["id"], **RULE}
        assert (row["actor"], row["project_id"]) == ("operator", rule["project_id"])
        assert row["session_id"] == rule["session_id"]
    operations = (await client.get("/api/v1/audit", params={"event": "operator.*permission"})).json()
    assert len(operations["items"]) == 2


async def test_a_read_only_token_sees_rules_and_changes_none(
    daemon: Daemon, client: httpx2.AsyncClient, rules_path: str
) -> None:
    rule = await made(client, rules_path)
    token = (await client.post("/api/v1/tokens", json={"name": "watch", "scope": "read-only"})).json()[
        "token"
    ]
    async with daemon.client(token) as watcher:
        assert (await listed(watcher, rules_path))["total"] == 1
        assert (await watcher.post(rules_path, json=RULE)).status_code == 403
        assert (await watcher.delete(f"{rules_path}/{rule['id']}")).status_code == 403


async def test_the_same_request_by_its_key_makes_one_rule(
    client: httpx2.AsyncClient, rules_path: str
) -> None:
    key = {"Idempotency-Key": "one"}
    first = await client.post(rules_path, json=RULE, headers=key)
    again = await client.post(rules_path, json=RULE, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()


OVERRULED: list[tuple[dict[str, str], bool]] = [
    ({"pattern": "git push origin"}, False),
    ({"pattern": "git push *"}, False),
    ({"pattern": "git push", "action": "ask"}, False),
    ({"pattern": "git push", "action": "deny"}, True),
    ({"pattern": "git *"}, True),
    ({"permission": "file.write", "pattern": "keys/a.pem"}, False),
    ({"permission": "file.write", "pattern": "src/**"}, True),
    ({"permission": "edit.text", "pattern": "docs/**"}, False),
    ({"permission": "edit.text", "pattern": "docs/**", "action": "ask"}, True),
    ({"permission": "search.grep", "pattern": "*"}, True),
]


@pytest.mark.parametrize(("rule", "effective"), OVERRULED)
async def test_a_rule_that_the_project_file_overrules_says_so(
    client: httpx2.AsyncClient, tmp_path: Path, rule: dict[str, str], effective: bool
) -> None:
    """It is stored all the same: the file may change."""
    (tmp_path / "ruled" / ".kaged").mkdir(parents=True)
    (tmp_path / "ruled" / "prompts").mkdir()
    (tmp_path / "ruled" / "prompts" / "primary.md").write_text("You keep the shop.\n")
    (tmp_path / "ruled" / ".kaged" / "project.yaml").write_text(
        PROJECT_YAML
        + """\
permissions:
  - { permission: shell.bash, pattern: "git push *", action: deny }
  - { permission: "file.*", pattern: "keys/**", action: deny }
  - { permission: edit.text, pattern: "**", action: ask, pinned: true }
  - { permission: search.grep, pattern: "**", action: ask }
"""
    )
    loaded = await client.post("/api/v1/projects/load", json={"path": str(tmp_path / "ruled")})
    path = f"/api/v1/projects/{loaded.json()['id']}/permissions"
    answer = await made(client, path, **rule)
    assert answer["effective"] is effective
    assert (answer["overruled_by"] is None) is effective
    assert (await listed(client, path))["items"] == [answer]


@pytest.mark.parametrize(
    ("permission", "meant"), [("shell.bsh", "shell.bash"), ("fs.wrte", "fs.write"), ("searhc.*", None)]
)
async def test_a_rule_that_names_nothing_is_refused_with_what_may_be_meant(
    client: httpx2.AsyncClient, rules_path: str, permission: str, meant: str | None
) -> None:
    body = {"permission": permission, "pattern": "*", "action": "deny"}
    answer = await client.post(rules_path, json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert "permission" in error["details"]["fields"]
    assert meant is None or meant in error["message"]
    assert (await listed(client, rules_path))["total"] == 0


@pytest.mark.parametrize("permission", ["file.*", "bash", "shell.background.stop", "net", "*", "watchdog"])
async def test_tools_actions_globs_and_capabilities_can_be_named(
    client: httpx2.AsyncClient, rules_path: str, permission: str
) -> None:
    body = {"permission": permission, "pattern": "x", "action": "deny"}
    assert (await client.post(rules_path, json=body)).status_code == 201
