"""Messages of subagents in a terminal: each complete, below the name of its agent.

Owns: collecting a message, and numbering running agents of one name. Never: the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.cli.client import ReceivedFrame


@dataclass(slots=True)
class _Said:
    text: str = ""
    calls: list[str] = field(default_factory=list)


class SubagentView:
    """Turns the frames of subagents into lines."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        self._at_work: dict[str, dict[str, int]] = {}

    def text(self, message_id: str, delta: str) -> None:
        self._said.setdefault(message_id, _Said()).text += delta

    def whole(self, message_id: str, text: str, calls: list[str]) -> None:
        self._said[message_id] = _Said(text, calls)

    def call(self, message_id: str, line: str) -> None:
        self._said.setdefault(message_id, _Said()).calls.append(line)

    def end(self, frame: ReceivedFrame, message_id: str) -> list[str]:
        """Return the lines of an ended message."""
        said = self._said.pop(message_id, _Said())
        return indented(self._name(frame), [*said.text.strip().splitlines(), *said.calls])

    def end_run(self, frame: ReceivedFrame, outcome: str | None) -> list[str]:
        """Return the lines about the end of a subagent; none for success."""
        name = self._name(frame)
        self._at_work.get(str(frame.agent_path), {}).pop(str(frame.run_id), None)
        return indented(name, [outcome] if outcome else [])

    def _name(self, frame: ReceivedFrame) -> str:
        """The second running agent of one name is called `reader #2`."""
        at_work = self._at_work.setdefault(str(frame.agent_path), {})
        if (run := str(frame.run_id)) not in at_work:
            taken = set(at_work.values())
            at_work[run] = next(number for number in range(1, len(taken) + 2) if number not in taken)
        number = at_work[run]
        name = short_name(str(frame.agent_path))
        return name if number == 1 else f"{name} #{number}"


def short_name(agent_path: str) -> str:
    """Return an agent's name without its ancestors."""
    return agent_path.rpartition(".")[2]


def indented(name: str, lines: list[str]) -> list[str]:
    """Return lines with the name of the agent."""
    return [f"  {name} │ {line}" for line in lines]
