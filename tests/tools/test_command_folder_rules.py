"""A rule for a tool that runs commands is about command lines, not about the folder they run in."""

from __future__ import annotations

import pytest

from app.tools.authorisation.rules import PermissionRule


def rule(permission: str, pattern: str, action: str) -> PermissionRule:
    return PermissionRule(permission, pattern, action, "manifest")


ASK_ALL_BUT_ECHO = (rule("shell.bash", "*", "ask"), rule("shell.bash", "echo *", "allow"))


@pytest.mark.parametrize("everything", ["shell.bash", "bash", "shell.*", "shell", "*"])
async def test_an_allowed_command_runs_although_everything_else_is_asked_about(desk, everything):
    headless = desk.ruled(rule(everything, "*", "ask"), rule("shell.bash", "echo *", "allow"), headless=True)
    assert (await headless.ok("shell.bash", command="echo fine"))["stdout"] == "fine\n"
    assert await headless.code("shell.bash", command="ls") == "permission_denied"


async def test_what_a_command_writes_to_is_judged_by_the_rules_of_the_tool(desk):
    headless = desk.ruled(*ASK_ALL_BUT_ECHO, headless=True)
    assert await headless.code("shell.bash", command="echo x > file.txt") == "permission_denied"
    assert not (desk.root / "file.txt").exists()


async def test_the_folder_of_a_command_is_judged_by_the_rules_for_files(desk):
    desk.put("closed/a.txt", "a")
    headless = desk.ruled(rule("fs.write", "closed", "deny"), headless=True)
    assert await headless.code("shell.bash", command="echo x", cwd="closed") == "permission_denied"
    assert (await headless.ok("shell.bash", command="echo x"))["exit_code"] == 0


async def test_a_rule_for_everything_holds_for_files(desk):
    headless = desk.ruled(rule("*", "*", "ask"), headless=True)
    assert await headless.code("file.create", path="a.txt", content="a") == "permission_denied"
    assert not (desk.root / "a.txt").exists()
