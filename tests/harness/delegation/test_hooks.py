"""Who has a say in a delegation: the hooks before, after, and in what a child is shown; and the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.harness.delegation.hooks import (
    CompleteVerdict,
    Delegation,
    DelegationHooks,
    StartVerdict,
)
from app.harness.loop.loop import LoopOutcome
from app.messages import ModelMessage
from tests.driver.family import Cast, agent, calling, enabled
from tests.fakes.provider_script import text_reply
from tests.harness.delegation.conftest import Drive

CODER = "primary.subagents.coder"
FAMILY = agent("primary", subagents={"coder": agent("coder")})


@dataclass
class Recorder:
    """A hook of every kind; it notes what it is asked, and answers as told."""

    start: StartVerdict | None = None
    complete: CompleteVerdict | None = None
    breaks: str = ""
    seen: list[tuple[str, str]] = field(default_factory=list)

    async def on_start(self, delegation: Delegation) -> StartVerdict | None:
        self.seen.append(("start", delegation.path))
        if self.breaks == "start":
            raise ZeroDivisionError
        return self.start

    async def on_complete(self, delegation: Delegation, outcome: LoopOutcome) -> CompleteVerdict | None:
        self.seen.append(("complete", delegation.path))
        if self.breaks == "complete":
            raise ZeroDivisionError
        return self.complete

    def keep(self, delegation: Delegation, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        self.seen.append(("filter", delegation.path))
        return [one for one in messages if "secret" not in str(one)]


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what puts a recorder into every daemon that the test starts."""

    def put(recorder: Recorder) -> Recorder:
        hooks = DelegationHooks(start=(recorder,), complete=(recorder,), filters=(recorder,))
        monkeypatch.setattr("app.daemon.session_setup.DelegationHooks", lambda: hooks)
        return recorder

    return put


@pytest.mark.requirement("delegation.start", "delegation.complete")
async def test_delegation_hooks(drive: Drive, cast: Cast, hooked: Any) -> None:
    recorder = hooked(Recorder(StartVerdict(prompt="Write it well."), CompleteVerdict(feedback="Check it.")))
    cast.script("primary", calling(("agent-coder", {"task": "Write it."})), text_reply("Done."))
    async with drive(FAMILY) as driver:
        await driver.run("Go")

    assert recorder.seen == [("start", CODER), ("filter", CODER), ("complete", CODER)]
    assert cast.messages("coder")[-1]["content"] == "Write it well."
    assert '"feedback":["Check it."]' in cast.messages("primary")[-1]["content"]


@pytest.mark.requirement("delegation.start", "delegation.audit")
async def test_a_hook_refuses_a_delegation(drive: Drive, cast: Cast, hooked: Any) -> None:
    recorder = hooked(Recorder(StartVerdict(refusal="not on a Sunday")))
    cast.script("primary", calling(("agent-coder", {"task": "Write it."})), text_reply("Tomorrow, then."))
    async with drive(FAMILY) as driver:
        await driver.run("Go")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        refused = (await driver.call("GET", "/audit?event=delegation.refused"))["items"]

    told = "Error delegation_refused: The subagent coder could not be started: not on a Sunday"
    assert cast.messages("primary")[-1]["content"] == told
    assert [run["agent_path"] for run in runs] == ["primary"] and not cast.requests["coder"]
    assert [(row["data"]["child"], row["data"]["reason"]) for row in refused] == [(CODER, "not on a Sunday")]
    assert recorder.seen == [("start", CODER)]


@pytest.mark.requirement("delegation.complete")
async def test_a_hook_stops_the_chain_after_the_step(drive: Drive, cast: Cast, hooked: Any) -> None:
    hooked(Recorder(complete=CompleteVerdict(stop_chain=True)))
    cast.script("primary", calling(("agent-coder", {"task": "Write it."})), text_reply("Not reached."))
    async with drive(FAMILY) as driver:
        await driver.run("Go")
        run = await driver.last_run()
    assert (run["state"], run["reason"]) == ("succeeded", "delegation_stopped")
    assert len(cast.requests["primary"]) == 1


@pytest.mark.requirement("delegation.start", "delegation.complete")
@pytest.mark.parametrize("when", ["start", "complete"])
async def test_a_hook_that_breaks_refuses_before_and_changes_nothing_after(
    drive: Drive, cast: Cast, hooked: Any, when: str
) -> None:
    hooked(Recorder(breaks=when))
    cast.script("primary", calling(("agent-coder", {"task": "Write it."})), text_reply("Done."))
    async with drive(FAMILY) as driver:
        await driver.run("Go")
    answer = cast.messages("primary")[-1]["content"]
    refused = answer.startswith("Error delegation_refused") and "a check before it failed" in answer
    assert refused if when == "start" else answer.endswith("coder is done.")


@pytest.mark.requirement("delegation.filter")
async def test_message_filter(drive: Drive, cast: Cast, hooked: Any) -> None:
    hooked(Recorder())
    call = calling(("agent-coder", {"task": "Write it."}), text="I know.")
    cast.script("primary", text_reply("A secret it is."), call, text_reply("Done."))
    async with drive(FAMILY) as driver:
        await driver.run("Where is it?")
        await driver.run("Now write")

    forwarded = cast.messages("coder")[0]["content"]
    assert "secret" not in forwarded
    assert "Where is it?" in forwarded and "Now write" in forwarded and "I know." in forwarded


@pytest.mark.requirement("delegation.filter")
async def test_nothing_from_outside_its_cage_and_no_tool_call_reaches_a_child(
    drive: Drive, cast: Cast
) -> None:
    cage = {"fs": [{"mode": "ro", "path": "open"}]}
    family = agent(
        "primary",
        tools=enabled("file.read", "search.grep"),
        subagents={"caged": agent("caged", cage=cage, tools=enabled("file.read")), "free": agent("free")},
    )
    secret, public = "the password of the vault is swordfish", "everybody may know about this sentence"
    quoted = f"I found:\n> {secret}\nand\n  1: {public}\nThat is all."
    cast.script(
        "primary",
        calling(("file_read", {"path": "closed/a.txt"}), ("file_read", {"path": "open/b.txt"})),
        calling(("search_grep", {"pattern": "combination", "output_mode": "content"})),
        calling(
            ("agent-caged", {"task": f"Look at this:\n{secret}\nPlease."}),
            ("agent-free", {"task": "Look."}),
            text=f"{quoted}\nthe combination of the safe is 12-34-56",
        ),
        text_reply("Done."),
    )
    cast.script("caged", calling(("file_read", {"path": "closed/a.txt"})), text_reply("No."))
    async with drive(family) as driver:
        root = await driver.call("GET", f"/projects/{driver.project_id}")
        write(root["root"], secret, public)
        await driver.run("Please look")
        filtered = (await driver.call("GET", "/audit?event=delegation.filtered"))["items"]

    sent = str(cast.messages("caged", 0))
    assert "swordfish" not in sent and "12-34-56" not in sent and public in sent
    assert "[left out: content outside this agent's cage]" in sent and "That is all." in sent
    assert "file_read" not in sent and "file.read" not in sent and "tool_calls" not in sent
    assert "swordfish" in str(cast.messages("free", 0))
    assert [row["data"]["child"] for row in filtered] == ["primary.subagents.caged"]
    assert "capability_denied" in cast.messages("caged")[-1]["content"]


def write(root: str, secret: str, public: str) -> None:
    for name, text in (("closed/a.txt", f"{secret}\n"), ("open/b.txt", f"{public}\n")):
        path = Path(root) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (Path(root) / "closed" / "c.txt").write_text("the combination of the safe is 12-34-56\n")


@pytest.mark.requirement("delegation.filter")
async def test_what_is_forwarded_is_bounded_and_the_same_in_every_turn(drive: Drive, cast: Cast) -> None:
    family = agent("primary", subagents={"coder": agent("coder", tools=enabled("file.read"))})
    long = [f"Sentence {n} of what the operator has to say about it. " * 40 for n in range(40)]
    cast.script("primary", *(text_reply(one) for one in long))
    cast.script("primary", calling(("agent-coder", {"task": "Now."})), text_reply("Done."))
    cast.script("coder", calling(("file_read", {"path": "x"})), text_reply("Ok."))
    async with drive(family) as driver:
        await driver.run("The very first wish.")
        for n in range(39):
            await driver.run(f"Next {n}.")
        await driver.run("Delegate.")

    first, second = (cast.messages("coder", n) for n in (0, 1))
    assert second[: len(first)] == first
    text = first[0]["content"]
    assert "The very first wish." in text and "Sentence 39" in text and "Sentence 5 " not in text
    assert "[earlier messages left out]" in text and len(text) < 8_000 * 6


@pytest.mark.requirement("delegation.deny")
async def test_what_is_denied_above_is_never_allowed_below(drive: Drive, cast: Cast) -> None:
    def rule(action: str, pattern: str = "*", permission: str = "file.read") -> dict[str, str]:
        return {"permission": permission, "pattern": pattern, "action": action}

    inner = agent("inner", tools=enabled("file.*"), permissions=[rule("allow", "keys.txt")])
    outer = agent("outer", tools=enabled("file.*"), subagents={"inner": inner})
    family = agent(
        "primary",
        permissions=[rule("deny", "*.txt"), rule("allow", "fine.txt"), rule("deny", "*", "agent-forbidden")],
        subagents={"outer": outer, "forbidden": agent("forbidden")},
    )
    cast.script(
        "primary",
        calling(("agent-forbidden", {"task": "x"}), ("agent-outer", {"task": "x"})),
        text_reply("Ok."),
    )
    cast.script("outer", calling(("agent-inner", {"task": "x"})), text_reply("Ok."))
    cast.script(
        "inner",
        calling(*(("file_read", {"path": name}) for name in ("keys.txt", "fine.txt", "other.md"))),
        text_reply("Ok."),
    )
    async with drive(family) as driver:
        await driver.run("Go")

    keys, fine, other = [m["content"] for m in cast.messages("inner") if m["role"] == "tool"]
    assert keys.startswith("Error permission_denied")
    assert not fine.startswith("Error permission_denied") and not other.startswith("Error permission_denied")
    assert cast.messages("primary")[-2]["content"].startswith("Error permission_denied")
    assert not cast.requests["forbidden"]
