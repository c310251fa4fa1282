"""Programs that are built first, with the adapters that debug them: what each offers, and whole stories."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import Declared
from tests.driver.debug_adapters import adapter_path, built, copy_of, line_of
from tests.driver.debug_desk import DebugDesk, debug_desk, gone, lives
from tests.tools.debug.targets import Target, by_process

_ARGUMENTS = {"gdb": ("--interpreter=dap", "--quiet", "--nx", "{script}"), "codelldb": ()}
C_ADAPTERS = ("lldb-dap", "codelldb", "gdb")
NATIVE = (*C_ADAPTERS, "delve")
NO_STOP = {"stop_on_entry": False}


@asynccontextmanager
async def project(tmp_path: Path, name: str, runtime: str = "c") -> AsyncIterator[DebugDesk]:
    """A copy of a runtime's fixture programs with one adapter for it; lldb-dap and delve are those that the
    built-in table finds."""
    program = adapter_path(name)
    declared = (
        [Declared(runtime=runtime, adapter=(str(program), *_ARGUMENTS[name]))] if name in _ARGUMENTS else []
    )
    async with debug_desk(tmp_path, copy_of(runtime, tmp_path), declared=declared) as desk:
        yield desk


async def build(desk: DebugDesk, source: str) -> str:
    """Build a source of the project and return the program's path in it."""
    program = await asyncio.to_thread(built, (desk.root / source).resolve())
    return str(program.relative_to(desk.root.resolve()))


async def orders(desk: DebugDesk, name: str) -> tuple[dict[str, Any], str]:
    """Return how the program that adds up orders is launched, and its source."""
    if name == "delve":
        return {"runtime": "go", "script": "main.go"}, "main.go"
    return {"runtime": "c", "script": await build(desk, "orders.c")}, "orders.c"


def line(desk: DebugDesk, source: str, mark: str) -> int:
    return line_of(desk.root / source, mark)


async def on_line(desk: DebugDesk, source: str, mark: str, **more: Any) -> dict[str, Any]:
    """Set a breakpoint at a mark."""
    found: dict[str, Any] = await desk.debug(
        "set_breakpoint", path=source, line=line(desk, source, mark), **more
    )
    return found


def at(found: dict[str, Any], desk: DebugDesk, source: str, mark: str) -> bool:
    """Tell whether an answer is a stop at a mark."""
    place = found.get("location", {})
    return (place.get("path"), place.get("line")) == (f"./{source}", line(desk, source, mark))


@pytest.mark.requirement("debugger.stories.crash", "debugger.real.lldb", "debugger.tool.memory")
async def test_a_crash_is_explained_by_registers_memory_and_instructions(tmp_path: Path) -> None:
    async with project(tmp_path, "lldb-dap") as desk:
        program = await build(desk, "crash.c")
        found = await desk.debug("launch", runtime="c", script=program, **NO_STOP)
        assert (found["status"], found["stopped_reason"]) == ("stopped", "exception")
        message = found["exception"]["message"]
        assert "SIGSEGV" in message and "0x8" in message
        assert at(found, desk, "crash.c", "crash")
        said = found.get("output", "")  # the last may be told after the stop
        names = [frame["name"] for frame in (await desk.debug("stack_trace"))["frames"]]
        assert names[:2] == ["zip_of", "main"]

        # The instruction reads 8 bytes beyond what rax points to, and that is nothing.
        listed = await desk.debug("disassemble", instruction_offset=-1, instruction_count=2)
        before, current = listed["instructions"]
        assert current["current"] and "0x8(%rax)" in current["instruction"]
        assert "%rax" in before["instruction"]
        registers = await desk.debug(
            "variables", scope="registers", expand="General Purpose Registers", filter="rax"
        )
        assert int(registers["variables"][0]["value"], 16) == 0
        assert int(await desk.value("user->address"), 16) == 0

        # In the caller, the second half of the user is empty: the address was lost on the way.
        user = (await desk.debug("variables", frame_id=1, filter="user"))["variables"][0]
        read = await desk.debug("read_memory", memory_reference=user["memory_reference"], count=16)
        name, address = struct.unpack("<QQ", base64.b64decode(read["data"]))
        assert name != 0 and address == 0
        found = await desk.debug("continue")
        assert found["status"] == "exited"
        assert (said + found.get("output", "")).splitlines()[:1] == ["lives at 1000"]

        # Who takes it away is seen from within, and what is taken away can be put back.
        await desk.debug("set_breakpoint", function="move_out")
        found = await desk.debug("launch", runtime="c", script=program, **NO_STOP)
        assert found["location"]["function"] == "move_out"
        user = (await desk.debug("variables", expand="user", filter="address"))["variables"][0]
        place = user["memory_reference"]
        kept = await desk.debug("read_memory", memory_reference=place, count=8)
        found = await desk.debug("step_over")
        assert [one["name"] for one in found["changed"]] == ["user"]
        assert int(await desk.value("user->address"), 16) == 0
        written = await desk.debug("write_memory", memory_reference=place, data=kept["data"])
        assert written["bytes_written"] == 8
        found = await desk.debug("continue")
        assert (found["status"], found["exit_code"]) == ("exited", 0)
        assert found["output"].splitlines()[-1] == "lives at 1000"


@pytest.mark.requirement(
    "debugger.stories.data", "debugger.real.lldb", "debugger.real.codelldb", "debugger.tool.data"
)
@pytest.mark.parametrize("name", ["lldb-dap", "codelldb"])
async def test_a_data_breakpoint_catches_the_write_that_nobody_meant(name: str, tmp_path: Path) -> None:
    async with project(tmp_path, name) as desk:
        program = await build(desk, "overwrite.c")
        found = await desk.debug("launch", runtime="c", script=program)
        assert (found["stopped_reason"], found["location"]["function"]) == ("entry", "main")
        watched = await desk.debug("data_breakpoint_info", name="account.balance")
        assert "write" in watched["access_types"]
        point = await desk.debug("set_data_breakpoint", data_id=watched["data_id"], access_type="write")
        assert point["verified"]

        # Not the balance is written, but the fifth of four places beside it.
        found = await desk.debug("continue")
        assert (found["stopped_reason"], found["breakpoint_id"]) == (
            "data breakpoint",
            point["breakpoint_id"],
        )
        assert found["location"]["function"] == "remember"
        assert await desk.local("place") == "4"
        assert await desk.value("account.balance") == "-7"
        caller = (await desk.debug("stack_trace"))["frames"][1]
        assert caller["name"] == "main"

        listed = (await desk.debug("list_breakpoints"))["breakpoints"]
        assert [one["data_id"] for one in listed] == [watched["data_id"]]
        await desk.debug("remove_data_breakpoint", data_id=watched["data_id"])
        found = await desk.debug("continue")
        assert (found["status"], found["output"].splitlines()[-1]) == ("exited", "balance -7")


@pytest.mark.requirement(
    "debugger.real.lldb",
    "debugger.real.codelldb",
    "debugger.real.gdb",
    "debugger.real.delve",
    "debugger.stop.answer",
)
@pytest.mark.parametrize("name", NATIVE)
async def test_the_everyday_course(name: str, tmp_path: Path) -> None:
    runtime = "go" if name == "delve" else "c"
    async with project(tmp_path, name, runtime) as desk:
        launch, source = await orders(desk, name)
        await on_line(desk, source, "loop")
        found = await desk.debug("launch", **launch, args=["one"])
        assert (found["status"], found["stopped_reason"]) == ("stopped", "entry")
        assert found["location"]["path"] == f"./{source}"
        assert found["location"]["function"] in ("main", "main.main")
        assert "output" not in found, "what an adapter says of itself is no output"

        found = await desk.debug("continue")
        assert (found["stopped_reason"], found["breakpoint_id"]) == ("breakpoint", 1)
        assert at(found, desk, source, "loop")
        city = "user.Address.City" if runtime == "go" else "user.address.city"
        inside = await desk.debug("variables", expand=city.rpartition(".")[0])
        values = {one["name"]: one["value"] for one in inside["variables"]}
        assert "Lisbon" in values[city]
        assert await desk.value("total + 2") == "2"
        found = await desk.debug("step_over")
        assert found["stopped_reason"] == "step"
        changed = {one["name"]: (one.get("was"), one["value"]) for one in found["changed"]}
        assert changed["total"] == ("0", "10")

        # Into the function that computes the price, and out of it again.
        await on_line(desk, source, "price", condition="amount == 30")
        await desk.debug("remove_breakpoint", path=source, line=line(desk, source, "loop"))
        found = await desk.debug("continue")
        assert at(found, desk, source, "price")
        assert [await desk.local("amount"), await desk.local("count")] == ["30", "3"]
        names = [frame["name"] for frame in (await desk.debug("stack_trace", levels=2))["frames"]]
        assert [one.removeprefix("main.") for one in names] == [
            "priceOf" if runtime == "go" else "price_of",
            "main",
        ]
        found = await desk.debug("step_out")
        assert found["location"]["function"].removeprefix("main.") == "main"
        await desk.debug("remove_breakpoint", path=source, line=line(desk, source, "price"))
        found = await desk.debug("continue")
        assert (found["status"], found["exit_code"]) == ("exited", 0)
        assert found["output"].startswith("alice of Lisbon owes 550")


@pytest.mark.requirement("debugger.capabilities.hits", "debugger.capabilities.breakpoints")
@pytest.mark.parametrize("name", NATIVE)
async def test_a_hit_count_means_the_same_and_log_points_do_not_stop(name: str, tmp_path: Path) -> None:
    async with project(tmp_path, name, "go" if name == "delve" else "c") as desk:
        launch, source = await orders(desk, name)
        await on_line(desk, source, "loop", hit_count=3)
        found = await desk.debug("launch", **launch, **NO_STOP)
        seen = []
        while found["status"] == "stopped":
            seen.append(await desk.local("i"))
            found = await desk.debug("continue")
        assert seen == ["2", "3", "4"]

        await on_line(desk, source, "loop", log_message="so far {total}.")
        found = await desk.debug("launch", **launch, **NO_STOP)
        assert found["status"] == "exited"
        assert [text for text in found["output"].splitlines() if "so far" in text][-1].endswith("so far 300.")

        # gdb would log each time, whatever the condition.
        await desk.debug("launch", **launch)
        conditional = {"log_message": "only {i}.", "condition": "i == 3"}
        params = {"path": source, "line": line(desk, source, "loop"), **conditional}
        if name == "gdb":
            refusal = await desk.refused("set_breakpoint", **params)
            assert refusal.code == "action_not_supported"
            assert refusal.detail is not None and refusal.detail["capability"] == "supportsLogPoints"
        else:
            await desk.debug("set_breakpoint", **params)
            found = await desk.debug("continue")
            assert found["status"] == "exited"
            assert [text for text in found["output"].splitlines() if "only" in text][-1].endswith("only 3.")
            assert found["output"].count("only") == 1


@pytest.mark.requirement("debugger.breakpoints.shown")
@pytest.mark.parametrize("name", NATIVE)
async def test_a_condition_that_is_none_is_reported(name: str, tmp_path: Path) -> None:
    async with project(tmp_path, name, "go" if name == "delve" else "c") as desk:
        launch, source = await orders(desk, name)
        await on_line(desk, source, "loop", condition="nonsense == 2")
        found = await desk.debug("launch", **launch)
        (listed,) = (await desk.debug("list_breakpoints"))["breakpoints"]
        if name == "gdb":
            assert not listed["verified"] and "nonsense" in listed["message"]
            return
        found = await desk.debug("continue")
        assert at(found, desk, source, "loop")
        further = await desk.debug("continue")
        told = [one.get("exception", {}).get("message", "") for one in (found, further)]
        words = [*told, *(one.get("output", "") + one.get("text", "") for one in (found, further))]
        assert "nonsense" in "".join(words)


@pytest.mark.requirement("debugger.session.detach", "debugger.tool.attach")
@pytest.mark.parametrize("name", NATIVE)
async def test_a_process_is_attached_to_paused_and_left_running(name: str, tmp_path: Path) -> None:
    runtime, program = ("go", "forever/main") if name == "delve" else ("c", "never_stops")
    source = f"{program}.go" if runtime == "go" else f"{program}.c"
    async with project(tmp_path, name, runtime) as desk, AsyncExitStack() as stack:
        target: Target = await by_process(f"./{program}", source=source)(desk.root, stack)
        found = await desk.debug("attach", runtime=runtime, **target.where)
        if found["status"] == "running":
            found = await desk.debug("pause")
            assert found["stopped_reason"] == "pause"
        functions = [frame["name"] for frame in (await desk.debug("stack_trace"))["frames"]]
        assert {"main", "main.main"} & set(functions)
        await on_line(desk, source, "loop")
        found = await desk.debug("continue")
        assert at(found, desk, source, "loop")
        assert not (await desk.debug("disconnect"))["debuggee_terminated"]
        assert await target.runs()


@pytest.mark.requirement("debugger.stop.timeout")
@pytest.mark.parametrize("name", C_ADAPTERS)
async def test_a_pause_right_after_the_program_goes_on_stops_it(name: str, tmp_path: Path) -> None:
    async with project(tmp_path, name, "c") as desk:
        script = await build(desk, "never_stops.c")
        await desk.debug("launch", runtime="c", script=script, timeout=1_000, **NO_STOP)
        for _ in range(6):
            assert (await desk.debug("hang"))["status"] == "running"
            found = await desk.debug("pause")
            assert found["stopped_reason"] == "pause", found
            assert (await desk.debug("continue", timeout=100))["status"] == "running"


@pytest.mark.requirement("debugger.session.descendants", "debugger.stories.sigterm", "debugger.stories.forks")
@pytest.mark.parametrize("name", C_ADAPTERS)
async def test_nothing_is_left_of_programs_that_do_not_want_to_end(name: str, tmp_path: Path) -> None:
    async with project(tmp_path, name) as desk:
        script = await build(desk, "ignores_sigterm.c")
        waits = (await on_line(desk, "ignores_sigterm.c", "loop"))["line"]
        await desk.debug("launch", runtime="c", script=script, **NO_STOP)
        deaf = int(await desk.local("process"))  # its output may come after the stop
        assert lives(deaf)
        await desk.debug("remove_breakpoint", path="ignores_sigterm.c", line=waits)
        assert (await desk.debug("continue", timeout=100))["timed_out"]
        assert (await desk.debug("disconnect"))["debuggee_terminated"]
        await on_line(desk, "forks.c", "forked")
        found = await desk.debug("launch", runtime="c", script=await build(desk, "forks.c"), **NO_STOP)
        assert at(found, desk, "forks.c", "forked")
        child = int(await desk.local("child"))
        await desk.debug("disconnect")
        await gone(deaf, child)


@pytest.mark.requirement("debugger.paths.real")
@pytest.mark.parametrize("name", NATIVE)
async def test_breakpoints_bind_in_a_project_behind_a_link(name: str, tmp_path: Path) -> None:
    runtime = "go" if name == "delve" else "c"
    program = adapter_path(name)
    (tmp_path / "link").symlink_to(copy_of(runtime, tmp_path), target_is_directory=True)
    declared = (
        [Declared(runtime=runtime, adapter=(str(program), *_ARGUMENTS[name]))] if name in _ARGUMENTS else []
    )
    async with debug_desk(tmp_path, tmp_path / "link", declared=declared) as desk:
        launch, source = await orders(desk, name)
        await on_line(desk, source, "loop")
        found = await desk.debug("launch", **launch, **NO_STOP)
        assert at(found, desk, source, "loop")


@pytest.mark.requirement("debugger.adapters.compiled")
@pytest.mark.parametrize(
    ("runtime", "source", "build"),
    [
        ("c", "orders.c", "cc -g -O0 -o orders orders.c"),
        ("cpp", "orders.cpp", "c++ -g -O0 -o orders orders.cpp"),
        ("rust", "orders.rs", "rustc -g -o orders orders.rs"),
    ],
)
async def test_a_source_is_no_program_and_how_to_build_one_is_said(
    runtime: str, source: str, build: str, tmp_path: Path
) -> None:
    async with project(tmp_path, "lldb-dap", runtime) as desk:
        refusal = await desk.refused("launch", runtime=runtime, script=source)
        assert refusal.code == "debug_launch_failed"
        assert build in (refusal.error_text or "")
        (desk.root / "notes").write_text("no program\n")
        refusal = await desk.refused("launch", runtime=runtime, script="notes")
        assert refusal.code == "debug_launch_failed"


@pytest.mark.requirement("debugger.real.lldb", "debugger.real.codelldb", "debugger.real.gdb")
@pytest.mark.parametrize("name", C_ADAPTERS)
@pytest.mark.parametrize(("runtime", "source"), [("cpp", "orders.cpp"), ("rust", "orders.rs")])
async def test_programs_in_other_languages_stop_at_their_beginning(
    runtime: str, source: str, name: str, tmp_path: Path
) -> None:
    async with project(tmp_path, name, runtime) as desk:
        program = await build(desk, source)
        found = await desk.debug("launch", runtime=runtime, script=program)
        assert found["stopped_reason"] == "entry"
        assert found["location"]["path"] == f"./{source}"
        await on_line(desk, source, "price")
        assert at(await desk.debug("continue"), desk, source, "price")
        assert await desk.local("amount") == "10"
        assert await desk.value("amount") == "10"
        await desk.debug("remove_breakpoint", path=source, line=line(desk, source, "price"))
        found = await desk.debug("continue")
        assert (found["status"], found["exit_code"]) == ("exited", 0), (
            "an exception that is caught is no stop"
        )


@pytest.mark.requirement("debugger.real.delve", "debugger.failure.launch")
async def test_a_go_package_is_built_and_what_the_compiler_says_is_reported(tmp_path: Path) -> None:
    async with project(tmp_path, "delve", "go") as desk:
        before = sorted(desk.root.rglob("*"))
        await on_line(desk, "workers/main.go", "end")
        found = await desk.debug("launch", runtime="go", script="workers", **NO_STOP)
        assert at(found, desk, "workers/main.go", "end")
        assert await desk.value("total") == "870"
        assert (await desk.debug("disconnect"))["debuggee_terminated"]
        assert sorted(desk.root.rglob("*")) == before, "nothing is built into the project"

        (desk.root / "workers" / "main.go").write_text("package main\n\nfunc main() { nobody() }\n")
        refusal = await desk.refused("launch", runtime="go", script="workers")
        assert refusal.code == "debug_launch_failed"
        assert "undefined: nobody" in (refusal.error_text or "")


@pytest.mark.requirement("debugger.real.delve")
async def test_a_panic_is_a_stop_with_its_words_and_then_an_exit_code(tmp_path: Path) -> None:
    async with project(tmp_path, "delve", "go") as desk:
        found = await desk.debug("launch", runtime="go", script="main.go", args=["panic"], **NO_STOP)
        assert (found["stopped_reason"], found["exception"]["type"]) == ("exception", "panic")
        assert "nil pointer dereference" in found["exception"]["message"]
        frames = (await desk.debug("stack_trace"))["frames"]
        here = next(number for number, frame in enumerate(frames) if frame["name"] == "main.main")
        assert frames[here]["line"] == line(desk, "main.go", "panic")
        assert await desk.local("nobody", frame_id=here) in ("nil", "*main.User nil")
        found = await desk.debug("continue")
        assert (found["status"], found["exit_code"]) == ("exited", 2)
        assert "panic: runtime error" in found["output"]


@pytest.mark.requirement("debugger.stop.answer")
async def test_the_answer_to_the_end_has_the_last_output_of_gdb(tmp_path: Path) -> None:
    """gdb passes on whole lines, and may tell of the end before the last one."""
    async with project(tmp_path, "gdb", "c") as desk:
        desk.put("tail.c", '#include <stdio.h>\nint main(void) { printf("first\\nno end"); return 3; }\n')
        found = await desk.debug("launch", runtime="c", script=await build(desk, "tail.c"), **NO_STOP)
        assert (found["status"], found["exit_code"], found["output"]) == ("exited", 3, "first\nno end")
