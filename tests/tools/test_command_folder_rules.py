"""A rule for a tool that runs commands is about command lines, not about the folder they run in."""

from __future__ import annotations

import pytest

from app.tools.contract.rules import PermissionRule


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


@pytest.mark.parametrize(
    "env", [{"PATH": "."}, {"GIT_PAGER": "./evil"}, {"git status": "x"}, {"API_KEY": "x"}, {"A": ""}]
)
async def test_a_variable_that_the_caller_sets_is_judged_like_an_assignment(desk, env):
    git_only = (rule("shell", "*", "deny"), rule("shell", "git *", "allow"))
    headless = desk.ruled(*git_only, headless=True)
    assert await headless.code("shell.bash", command="git --version", env=env) == "permission_denied"
    assert (await headless.ok("shell.bash", command="git --version"))["exit_code"] == 0


async def test_a_variable_that_a_rule_allows_may_be_set(desk):
    rules = (rule("shell", "*", "deny"), rule("shell", "echo *", "allow"), rule("shell", "CI=*", "allow"))
    headless = desk.ruled(*rules, headless=True)
    done = await headless.ok("shell.bash", command="echo $CI", env={"CI": "yes"})
    assert done["stdout"] == "yes\n"


async def test_the_value_of_a_secret_variable_is_in_no_denial_and_no_question(desk):
    asking = desk.ruled(rule("shell", "*", "ask"))
    envelope = await asking.call("shell.bash", command="true", env={"DB_PASSWORD": "hunter2"})
    assert envelope.code == "permission_denied"
    (request,) = desk.ports.asked
    assert "DB_PASSWORD=[redacted]" in request.subjects
    assert "hunter2" not in repr((desk.ports.events, request, envelope))
