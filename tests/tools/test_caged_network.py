"""What a caged agent's commands and terminals reach of the network, and what is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from app.bridges.network.dialling import Dialler
from app.bridges.sandbox.egress import Outside
from tests.bridges.network.conftest import Host, Names, vet
from tests.driver.caged_machine import CagedMachine, caged_machine

pytestmark = pytest.mark.requirement("cages.net.proxy")


@pytest.fixture
async def web() -> AsyncIterator[Host]:
    """A host that answers any request with `here`."""
    found = Host(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    yield found
    server.close()
    await server.wait_closed()


@pytest.fixture
async def told() -> list[tuple[str, str, dict[str, Any]]]:
    return []


@pytest.fixture
async def machine(desk: Any, told: list[tuple[str, str, dict[str, Any]]]) -> AsyncIterator[CagedMachine]:
    table = {"api.test": ["127.0.0.1"], "other.test": ["127.0.0.1"], "inner.test": ["10.0.0.1"]}
    outside = Outside(
        dialler=lambda: Dialler(resolve=Names(table), vet=vet),
        record=lambda event, project, data: told.append((event, project, data)),
    )
    async with caged_machine(desk, outside=outside) as machine:
        yield machine


def agent(machine: CagedMachine, *hosts: str, run: str = "run_1") -> Any:
    caged = machine.desk.caged(("rw", "."), capabilities=["shell"], net={"allow": list(hosts)})
    return replace(caged, context=replace(caged.context, run_id=run))


async def test_a_command_reaches_what_its_cage_allows_and_the_audit_says_whose_it_was(
    machine: CagedMachine, told: list[tuple[str, str, dict[str, Any]]], web: Host
) -> None:
    desk = agent(machine, f"api.test:{web.port}")
    command = f"curl -sS http://api.test:{web.port}/; echo; curl -sS http://other.test:{web.port}/"
    done = await desk.ok("shell.bash", command=command)
    assert done["stdout"].startswith("here")
    assert "this cage does not allow other.test" in done["stdout"]
    assert web.connections == 1
    await machine.processes.end_run(desk.context.session_id, "run_1")
    whose = {
        "project_id": desk.context.project_id,
        "session_id": desk.context.session_id,
        "run_id": "run_1",
        "agent_path": desk.context.agent_path,
    }
    assert [event for event, _, _ in told] == ["cage.connected", "cage.connection_refused", "cage.traffic"]
    for _, project, data in told:
        assert project == desk.context.project_id
        assert data.items() >= whose.items()


async def test_one_agents_hosts_are_not_anothers(machine: CagedMachine, web: Host) -> None:
    first = agent(machine, f"api.test:{web.port}")
    second = agent(machine, run="run_2")
    get = f"curl -sS http://api.test:{web.port}/; echo"
    assert (await first.ok("shell.bash", command=get))["stdout"].startswith("here")
    assert "here" not in (await second.ok("shell.bash", command=get))["stdout"]
    assert web.connections == 1


async def test_a_variable_of_a_call_leads_nowhere_else(machine: CagedMachine, web: Host) -> None:
    desk = agent(machine, f"api.test:{web.port}")
    done = await desk.ok(
        "shell.bash",
        command=f"curl -sS --connect-timeout 5 http://other.test:{web.port}/; echo",
        env={"http_proxy": f"http://127.0.0.1:{web.port}", "NO_PROXY": "*", "no_proxy": "*"},
    )
    assert "here" not in done["stdout"]
    assert web.connections == 0


async def test_the_caller_learns_once_which_hosts_were_refused(machine: CagedMachine, web: Host) -> None:
    desk = agent(machine, f"api.test:{web.port}")
    wrong = "; ".join(
        f"curl -sS -o /dev/null {url}"
        for url in ("https://pypi.test/simple/", "http://other.test:81/", "http://pypi.test:443/")
    )
    (note,) = (await desk.call("shell.bash", command=wrong)).metadata.cage_notes
    assert note.startswith("not_connected: other.test:81, pypi.test:443 ")
    assert "net: { allow:" in note
    right = f"curl -sS http://api.test:{web.port}/"
    assert (await desk.call("shell.bash", command=right)).metadata.cage_notes is None


async def test_a_name_that_leads_to_the_machine_itself_is_reported_as_that(machine: CagedMachine) -> None:
    desk = agent(machine, "inner.test")
    command = "curl -sS -o /dev/null http://inner.test/"
    (note,) = (await desk.call("shell.bash", command=command)).metadata.cage_notes
    assert note.startswith("not_connected: inner.test:80 leads to this machine")


async def test_a_name_that_leads_nowhere_is_not_laid_to_the_cage(machine: CagedMachine) -> None:
    desk = agent(machine, "gone.test:443")
    (note,) = (
        await desk.call("shell.bash", command="curl -sS https://gone.test/ | head")
    ).metadata.cage_notes
    assert note.startswith("not_connected: gone.test:443 is allowed, but this machine does not reach it")
    assert "allow:" not in note


@pytest.mark.requirement("in_use.root")
@pytest.mark.parametrize("end", ["", " | tail -5", "; true"])
async def test_a_cage_without_a_network_names_the_line_for_the_host(machine: CagedMachine, end: str) -> None:
    desk = agent(machine)
    command = f"curl -sS http://other.test:81/ 2>&1{end}"
    (note,) = (await desk.call("shell.bash", command=command)).metadata.cage_notes
    assert note.startswith("not_connected: other.test:81 is out of reach: no network.")
    assert '`net: { allow: ["other.test:81"] }`' in note
    quiet = await desk.call("shell.bash", command="echo Could not resolve host: other.test")
    assert quiet.metadata.cage_notes is None


@pytest.mark.requirement("in_use.root")
async def test_a_program_that_passes_the_proxy_by_learns_of_it(machine: CagedMachine) -> None:
    desk = agent(machine, "api.test:443")
    command = "curl -sS --noproxy '*' https://api.test/"
    (note,) = (await desk.call("shell.bash", command=command)).metadata.cage_notes
    assert "through the proxy in HTTPS_PROXY only" in note
