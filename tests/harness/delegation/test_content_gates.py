"""A child may have content gates that its parent does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.conversation.content_gate import note_of
from tests.driver.family import Cast, agent, calling, enabled
from tests.fakes.provider_script import text_reply
from tests.harness.delegation.conftest import Drive

pytestmark = pytest.mark.requirement("operations.gates")
LINE = "API_KEY = k-1234567890-abcdef"


async def test_what_a_parent_may_be_sent_does_not_reach_a_child_that_may_not(
    drive: Drive, cast: Cast, tmp_path: Path
) -> None:
    leaf = agent("leaf", tools=enabled("file.read"))
    coder = agent("coder", content_gates=["secrets/**"], subagents={"leaf": leaf}, tools=enabled("file.read"))
    family = agent("primary", subagents={"coder": coder}, tools=enabled("file.read"))
    cast.script(
        "primary",
        calling(("file_read", {"path": "secrets/key.py"})),
        calling(("agent-coder", {"task": f"Use this:\n{LINE}"}), text=f"The file says: {LINE}"),
        text_reply("Done."),
    )
    cast.script(
        "coder",
        calling(("file_read", {"path": "secrets/key.py"})),
        calling(("agent-leaf", {"task": "Read it."})),
        text_reply("Cannot."),
    )
    cast.script("leaf", calling(("file_read", {"path": "secrets/key.py"})), text_reply("Neither."))
    async with drive(family) as driver:
        (tmp_path / "family/secrets").mkdir()
        (tmp_path / "family/secrets/key.py").write_text(f"{LINE}\n")
        await driver.run("Go")
    note = note_of("secrets/key.py")
    assert LINE in str(cast.messages("primary", 1))
    forwarded, task = (str(message["content"]) for message in cast.messages("coder", 0))
    assert f"The file says: {note}" in forwarded and task == f"Use this:\n{note}"
    for name in ("coder", "leaf"):
        assert LINE not in str(cast.messages(name)), name
        assert cast.messages(name, 1)[-1]["content"] == note
