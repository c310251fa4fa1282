"""What a content gate finds of withheld files in messages, whatever form it has there."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from app.harness.conversation.content_gate import ContentGate, note_of
from app.harness.conversation.gated_lines import MAX_LENGTHS
from app.messages import (
    ImageBlock,
    ModelMessage,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    UserMessage,
)

pytestmark = pytest.mark.requirement("operations.gates")
KEY, WORD = 'API_KEY = "k-1234567890-abcdef"', "correct horse battery staple"
NOTE = note_of("secrets/key.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/key.py").write_text(f"import os\n{KEY}\n\n    x = 1\n{WORD}\n")
    (tmp_path / "app.py").write_text("import os\nprint('a line of the application')\n")
    return tmp_path


@pytest.fixture
def gate(root: Path) -> ContentGate:
    return ContentGate(root, ("secrets/**",))


def one(gate: ContentGate, message: ModelMessage, call: ToolCallBlock | None = None) -> ModelMessage:
    (found,) = gate.examine([(message, {} if call is None else {call.id: call})])
    return found.message


def seen(gate: ContentGate, content: str, name: str = "shell.bash", **arguments: object) -> str:
    """Return what a model sees of a tool result."""
    call = ToolCallBlock(id="c1", name=name, arguments=arguments)
    result = ToolResult(tool_call_id="c1", name=name, content=content)
    message = one(gate, ToolResultsMessage(results=(result,)), call)
    assert isinstance(message, ToolResultsMessage)
    return message.results[0].content


def told(gate: ContentGate, text: str) -> str:
    message = one(gate, UserMessage(blocks=(TextBlock(text=text),)))
    assert isinstance(message, UserMessage) and isinstance(message.blocks[0], TextBlock)
    return message.blocks[0].text


def as_json(value: object) -> str:
    return orjson.dumps(value).decode()


@pytest.mark.parametrize("path", ["secrets/key.py", "./secrets/key.py", "a/../secrets/key.py", "link.py"])
def test_a_result_that_names_a_withheld_file_is_withheld_whole(
    gate: ContentGate, root: Path, path: str
) -> None:
    os.symlink(root / "secrets/key.py", root / "link.py")
    read = as_json({"path": path, "type": "file", "total_lines": 1}) + "\n1: short"
    assert seen(gate, read, "file.read") == NOTE
    assert seen(gate, "Error no_match: 1: short", "edit.text", path=path) == NOTE


def test_pictures_of_a_withheld_file_are_withheld(gate: ContentGate) -> None:
    picture = ImageBlock(media_type="image/png", data="AAAA")
    content = as_json({"path": "secrets/plan.png", "type": "image"})
    result = ToolResult(tool_call_id="c1", name="file.read", content=content, images=(picture,))
    message = one(gate, ToolResultsMessage(results=(result,)))
    assert isinstance(message, ToolResultsMessage)
    assert message.results[0].images == () and message.results[0].content == note_of("secrets/plan.png")


def test_rows_of_withheld_files_are_withheld_and_others_stay(gate: ContentGate) -> None:
    rows = [
        {"file": "app.py", "line": 1, "content": WORD},
        {"file": "secrets/key.py", "line": 4, "content": "    x = 1"},
        {"file": "secrets/key.py", "line": 5, "content": "x"},
        {
            "file": "app.py",
            "line": 9,
            "content": "y",
            "related": [{"path": "secrets/key.py", "message": "m"}],
        },
    ]
    left = orjson.loads(seen(gate, as_json({"matches": rows, "total_matches": 4}), "search.grep", path="."))
    assert left["matches"] == [rows[0], NOTE, {**rows[3], "related": [NOTE]}]
    files = orjson.loads(seen(gate, as_json({"files": {"secrets/key.py": ["x"], "app.py": ["y"]}})))
    assert files == {"files": {"secrets/key.py": NOTE, "app.py": ["y"]}}


def test_lines_of_a_withheld_file_are_known_in_the_output_of_a_command(gate: ContentGate) -> None:
    head = as_json({"exit_code": 0, "timed_out": False})
    assert seen(gate, f"{head}\nhello\nimport os\n{KEY}\n\n    x = 1\n{WORD}\nbye") == (
        f"{head}\nhello\nimport os\n{NOTE}\nbye"
    )
    assert seen(gate, f"{head}\nkey: {KEY};") == f"{head}\nkey: {NOTE};"
    assert seen(gate, as_json({"stdout": f"a\n{KEY}\nb"})) == as_json({"stdout": f"a\n{NOTE}\nb"})
    assert seen(gate, f"{head}\nnothing of it") == f"{head}\nnothing of it"


def test_a_line_is_known_after_its_file_was_changed_or_moved(gate: ContentGate, root: Path) -> None:
    assert told(gate, "first") == "first"
    (root / "secrets/key.py").rename(root / "open.py")
    (root / "secrets/new.py").write_text("TOKEN = 'another-secret'\n")
    assert told(gate, f"{KEY}\nTOKEN = 'another-secret'") == f"{NOTE}\n{note_of('secrets/new.py')}"
    (root / "secrets/new.py").write_text("TOKEN = 'a-third-secret'\n")
    assert told(gate, "TOKEN = 'another-secret' and TOKEN = 'a-third-secret'") == note_of("secrets/new.py")


def test_what_another_file_shares_stays_and_a_copy_goes(gate: ContentGate) -> None:
    own = [f"{n}: a line of its own, number {n}" for n in range(8)]
    shared = as_json({"path": "app.py"}) + "\n" + "\n".join([*own, f"9: {KEY}"])
    assert seen(gate, shared, "file.read", path="app.py") == shared
    copy = as_json({"path": "copy.py"}) + f"\n1: import os\n2: {KEY}"
    assert KEY not in seen(gate, copy, "file.read", path="copy.py")


def test_numbered_lines_and_diffs_of_a_withheld_file_are_withheld(gate: ContentGate) -> None:
    head = as_json({"exit_code": 0})
    assert seen(gate, f"{head}\nsecrets/key.py:4:x = 1\napp.py:1:x") == f"{head}\n{NOTE}\napp.py:1:x"
    diff = "diff --git a/secrets/key.py b/secrets/key.py\n@@ -1 +1 @@\n-old = 1\n--- gone\n+new = 2\n"
    other = "diff --git a/app.py b/app.py\n-a\n+b"
    assert seen(gate, f"{head}\n{diff}{other}") == f"{head}\n{NOTE}\n{other}"
    assert seen(gate, f"{head}\n{diff}commit 0123456789\nmessage").endswith(
        f"{NOTE}\ncommit 0123456789\nmessage"
    )


def test_quoted_lines_and_attachments_are_withheld_from_messages(gate: ContentGate) -> None:
    assert told(gate, f"Look:\n> {WORD}\nWhat is it?") == f"Look:\n> {NOTE}\nWhat is it?"
    attached = "<attachment name='secrets/key.py'>\nx = 1\n</attachment>"
    assert told(gate, attached) == NOTE
    assert told(gate, NOTE) == NOTE


@pytest.mark.parametrize(
    ("glob", "path", "withheld"),
    [
        ("*.pem", "deep/down/a.pem", True),
        ("secrets", "deep/secrets/x/y.txt", True),
        ("deep/", "deep/a.txt", True),
        ("./deep/{a,b}.txt", "deep/b.txt", True),
        ("deep/*.txt", "deep/down/a.txt", False),
        ("deep/**", "deeper/a.txt", False),
    ],
)
def test_a_glob_names_files_and_folders(root: Path, glob: str, path: str, withheld: bool) -> None:
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text("the content of this file\n")
    gate = ContentGate(root, (glob,))
    assert (seen(gate, "{}", "file.read", path=path) == note_of(path)) is withheld
    assert (told(gate, "the content of this file") == note_of(path)) is withheld


def test_more_lines_with_one_beginning_than_are_tried_withhold_the_rest_of_the_line(root: Path) -> None:
    lines = ["INSERT INTO people VALUES " + "x" * n for n in range(MAX_LENGTHS + 20)]
    (root / "secrets/dump.sql").write_text("\n".join(lines))
    text = f"{lines[-1]}\n{lines[3]}\nINSERTED"
    assert told(ContentGate(root, ("secrets/**",)), text) == f"{note_of('secrets/dump.sql')}\nINSERTED"


def test_files_that_are_no_text_or_cannot_be_read_are_left_out(root: Path) -> None:
    (root / "secrets/picture").write_bytes(b"\x89PNG\0 a line within the picture")
    (root / "secrets/closed").write_text("a line that nobody may read\n")
    (root / "secrets/closed").chmod(0)
    os.mkfifo(root / "secrets/pipe")
    gate = ContentGate(root, ("secrets/**", "missing/**"))
    assert told(gate, "a line within the picture") == "a line within the picture"
    assert told(gate, KEY) == NOTE
