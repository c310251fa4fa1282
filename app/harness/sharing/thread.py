"""The rows of a conversation as the parts of a shared file: cleaned, counted, in the order of reading.

Owns: what of a row leaves. Never: reading rows (`sharing`), or how a part looks (`html_file`,
`markdown_file`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.harness.conversation.message_rows import assistant_blocks
from app.harness.conversation.view import SUMMARY_KIND
from app.harness.delegation.rows import DELEGATION
from app.harness.sharing.asked import Branch, Called, CallState, Image, Noted, Part, Said, Thought, Wanted
from app.harness.sharing.cleaning import Cleaner
from app.harness.sharing.tally import Tally
from app.messages import TextBlock, ThinkingBlock, ToolCallBlock
from app.storage.models import Message, Run

LONGEST_ABOUT = 200
_COMPACTION = "cmp_"
_TELLING = (
    *("command", "script", "pattern", "path", "file", "query", "expression", "expand"),
    *("title", "name", "url"),
)
"""The arguments that say in a line what a call is about, the most telling first."""
_PATHS = ("path", "file", "new_path")


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model asked for it, in the run and the message that it belongs to."""

    block: ToolCallBlock
    run_id: str
    message_id: str


@dataclass(slots=True)
class _Step:
    """An answer whose results are still being read."""

    parts: list[Part] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: dict[str, Message] = field(default_factory=dict)


class Telling:
    """What every conversation of one file shares: what is wanted, the cleaner, the counts."""

    def __init__(
        self, wanted: Wanted, cleaner: Cleaner, children: Mapping[tuple[str, str], list[Run]]
    ) -> None:
        self.include = wanted.include
        self.cleaner = cleaner
        self.children = children
        self.tally = Tally()
        self.number = 0
        self._opened: set[str] = set()

    def counted(self, message_id: str) -> None:
        """Book what was redacted since the last call on a message."""
        self.tally.redaction(self.number, message_id, self.cleaner.taken())

    def branches(self, call: Call) -> list[Run]:
        """Return the runs that a call has started and that nothing has shown yet."""
        found = self.children.get((call.run_id, call.block.id), [])
        if "subagents" not in self.include:
            self.tally.left_out["subagents"] += len(found)
            return []
        fresh = [run for run in found if run.id not in self._opened]
        self._opened.update(run.id for run in fresh)
        return fresh


class Thread:
    """The conversation of one agent. It takes rows in their order and shows each call with its result."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._step = _Step()

    def feed(self, rows: Iterable[Message]) -> list[Part]:
        """Return the parts that are complete with these rows."""
        return [part for row in rows if is_told(row) for part in self._of(row)]

    def end(self) -> list[Part]:
        """Return what waited for results that have not come."""
        return list(self._finished())

    def _of(self, row: Message) -> Iterator[Part]:
        if row.role == "tool":
            self._step.results[row.details.get("toolCallId", "")] = row
            return
        yield from self._finished()
        if row.role == "primary":
            self._begin(row)
        elif row.role == "operator":
            yield self._operator(row)
        else:
            yield from self._note(row)
        self._telling.counted(row.id)

    def _operator(self, row: Message) -> Said:
        telling = self._telling
        telling.number += 1
        telling.tally.counts["messages"] += 1
        attachments = row.details.get("attachments", [])
        pictures = [one for one in attachments if _is_image(one)]
        return Said(
            number=telling.number,
            who="operator",
            at=row.created_at,
            text=telling.cleaner.markdown(row.content),
            images=self._images(pictures),
            attached=tuple(self._attached(one) for one in attachments if not _is_image(one)),
        )

    def _attached(self, attachment: Mapping[str, Any]) -> tuple[str, str | None]:
        telling = self._telling
        name = telling.cleaner.line(str(attachment.get("name", "file")), LONGEST_ABOUT)
        telling.tally.files.add(name)
        if "results" not in telling.include:
            telling.tally.left_out["attached_files"] += 1
            return name, None
        telling.tally.counts["attached_files"] += 1
        return name, telling.cleaner.text(str(attachment.get("text", "")))

    def _images(self, images: Sequence[Mapping[str, Any]]) -> tuple[Image, ...]:
        return tuple(self._image(image) for image in images)

    def _image(self, image: Mapping[str, Any]) -> Image:
        tally = self._telling.tally
        media_type, data = str(image.get("media_type", "")), str(image.get("data") or "")
        size = len(data) * 3 // 4
        if "images" not in self._telling.include:
            tally.left_out["images"] += 1
            return Image(media_type, size)
        tally.counts["images"] += 1
        tally.image_sizes.append((media_type, size))
        return Image(media_type, size, data)

    def _note(self, row: Message) -> Iterator[Noted]:
        telling, kind = self._telling, row.details.get("kind", "")
        if kind == SUMMARY_KIND:
            yield Noted("From here on the agent worked with a summary of what stands above")
            return
        if kind == DELEGATION:
            yield Noted("What the agent was asked", telling.cleaner.text(row.content))
            return
        if "results" not in telling.include:
            telling.tally.left_out["notes"] += 1
            return
        telling.tally.counts["notes"] += 1
        yield Noted("A note of kaged to the agent", telling.cleaner.text(row.content))

    def _begin(self, row: Message) -> None:
        """Open a step: its answer, and its calls, whose results follow."""
        telling, step = self._telling, _Step()
        telling.number += 1
        texts: list[str] = []
        for block in assistant_blocks(row):
            match block:
                case TextBlock():
                    texts.append(block.text)
                case ThinkingBlock():
                    step.parts += self._thought(block)
                case ToolCallBlock():
                    step.calls.append(Call(block, row.run_id or "", row.id))
        if any(text.strip() for text in texts):
            telling.tally.counts["answers"] += 1
            step.parts.append(self._answer(row, "\n\n".join(texts)))
        problem = row.details.get("errorMessage")
        if problem:
            step.parts.append(Noted("The answer failed", telling.cleaner.text(str(problem)), failed=True))
        self._step = step

    def _answer(self, row: Message, text: str) -> Said:
        telling = self._telling
        return Said(
            number=telling.number,
            who="agent",
            at=row.created_at,
            text=telling.cleaner.markdown(text),
            model=telling.cleaner.line(str(row.details.get("model", "")), LONGEST_ABOUT),
        )

    def _thought(self, block: ThinkingBlock) -> list[Part]:
        telling = self._telling
        if not block.text.strip():
            return []
        if "thinking" not in telling.include:
            telling.tally.left_out["thinking"] += 1
            return []
        telling.tally.counts["thinking"] += 1
        return [Thought(telling.cleaner.text(block.text))]

    def _finished(self) -> Iterator[Part]:
        step, self._step = self._step, _Step()
        yield from step.parts
        for call in step.calls:
            yield self._called(call, step.results.get(call.block.id))
            self._telling.counted(call.message_id)
            for run in self._telling.branches(call):
                yield Branch(run.id, run.agent_path)

    def _called(self, call: Call, row: Message | None) -> Called:
        telling, block = self._telling, call.block
        tally, cleaner = telling.tally, telling.cleaner
        tally.counts["tool_calls"] += 1
        tally.tools[cleaner.line(block.name, LONGEST_ABOUT)] += 1
        tally.files.update(cleaner.line(path, LONGEST_ABOUT) for path in _paths(block.arguments))
        name, about = (
            cleaner.line(block.name, LONGEST_ABOUT),
            cleaner.line(_about(block.arguments), LONGEST_ABOUT),
        )
        state: CallState = "without a result"
        if row is not None:
            state = "failed" if row.details.get("isError") else "done"
        images = self._images(row.details.get("images", [])) if row is not None else ()
        if "results" not in telling.include:
            tally.left_out["results"] += row is not None
            return Called(name, about, state, images=images)
        tally.counts["results"] += row is not None
        given: Any = block.raw_arguments if block.raw_arguments is not None else block.arguments
        arguments = cleaner.text(given) if isinstance(given, str) else cleaner.data(given)
        result = cleaner.text(row.content) if row is not None else None
        return Called(name, about, state, arguments, result, images)


def is_told(row: Message) -> bool:
    """Tell whether a row is part of the conversation as a person reads it: what a summary stands for is, what
    was rewound or still waits is not."""
    if not row.complete or row.position is None:
        return False
    return not row.superseded or (row.superseded_by or "").startswith(_COMPACTION)


def _is_image(attachment: Mapping[str, Any]) -> bool:
    return str(attachment.get("media_type", "")).startswith("image/")


def _about(arguments: Mapping[str, Any]) -> str:
    told = [arguments.get(name) for name in ("action", *_TELLING)]
    return " ".join([one for one in told if isinstance(one, str) and one.strip()][:2])


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    return [one for one in (arguments.get(name) for name in _PATHS) if isinstance(one, str) and one]
