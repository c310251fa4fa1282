"""The watchdogs see through variables whose values stand in the call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.tools.authorisation.danger_daemon import MAX_PLACES, MAX_VALUE, filled_in
from app.tools.authorisation.guard import built_in
from app.tools.dispatch.service import ToolService

pytestmark = pytest.mark.requirement("authorisation.watchdog")


@pytest.fixture
def guarded(desk):
    watchdogs = built_in(desk.base / "data", home=desk.base)
    return replace(desk, service=ToolService(desk.service.registry, watchdogs=watchdogs))


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ('rm -rf "$X"', {"X": "/"}),
        ("rm -rf ${X}etc", {"X": "/"}),
        ('sh -c "$X"', {"X": "rm -rf /"}),
        ("$X -rf /", {"X": "rm"}),
        ("X=/; rm -rf $X", {}),
        ("R='rm'; $R -rf /", {}),
        ('cat "$D"/token', {"D": "{data}"}),
        ('D={data}; cat "$D/token"', {}),
    ],
)
async def test_a_value_that_is_given_hides_nothing(guarded, command, env):
    data = str(guarded.base / "data")
    command = command.replace("{data}", data)
    env = {name: value.replace("{data}", data) for name, value in env.items()}
    code = await guarded.code("shell.bash", command=f"false && {{ {command}; }}", env=env)
    assert (code, guarded.ports.asked) == ("watchdog_denied", [])


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ('rm -rf "$X"', {"X": "build"}),
        ("X=build; rm -rf $X", {}),
        ("echo '$X'", {"X": "a b"}),
        ("A=b true", {}),
    ],
)
async def test_harmless_values_are_left_alone(guarded, command, env):
    await guarded.ok("shell.bash", command=command, env=env)


async def test_a_command_is_asked_about_once_and_without_secrets(guarded):
    guarded.ports.answer = "reject"
    env = {"BRANCH": "main", "TOKEN": "abc-def"}
    await guarded.code("shell.bash", command="git push --force $TOKEN $BRANCH", env=env)
    (request,) = guarded.ports.asked
    assert request.subjects == ("git push --force $TOKEN $BRANCH",)
    assert filled_in("a $TOKEN ${BRANCH}", env.items()) == "a $TOKEN main"


def test_what_is_filled_in_is_bounded():
    assert len(filled_in("$X" * 30_000, [("X", "y" * 100_000)])) <= 60_000 + MAX_PLACES * MAX_VALUE
