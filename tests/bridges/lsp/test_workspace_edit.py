"""Edits of a language server: what is taken, in which order, what is refused, and what a text becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.lsp.positions import LineIndex
from app.bridges.lsp.workspace_edit import (
    CreateFile,
    DeleteFile,
    ForeignUri,
    MalformedEdit,
    RenameFile,
    TextEdit,
    TextEdits,
    apply_text_edits,
    parse_workspace_edit,
    path_to_uri,
    prevailing_line_end,
    uri_to_path,
)

pytestmark = pytest.mark.requirement("language_servers.edits.protocol")


def span(start: tuple[int, int], end: tuple[int, int]) -> dict:
    def place(at: tuple[int, int]) -> dict:
        return {"line": at[0], "character": at[1]}

    return {"start": place(start), "end": place(end)}


def edit(text: str, start: tuple[int, int] = (0, 0), end: tuple[int, int] | None = None, **more) -> dict:
    return {"range": span(start, end or start), "newText": text, **more}


def in_document(path: str, *edits: dict, version: int | None = None) -> dict:
    return {"textDocument": {"uri": f"file://{path}", "version": version}, "edits": list(edits)}


# Plans.


def test_changes_by_file():
    plan = parse_workspace_edit({"changes": {"file:///p/a": [edit("x")], "file:///p/b": None}})
    first, second = plan.operations
    assert first == TextEdits(Path("/p/a"), None, (TextEdit((0, 0), (0, 0), "x"),))
    assert second == TextEdits(Path("/p/b"), None, ())
    assert plan.paths == (Path("/p/a"), Path("/p/b"))


def test_null_is_nothing_to_do():
    assert parse_workspace_edit(None).operations == parse_workspace_edit({}).operations == ()


def test_document_changes_win_and_keep_their_order_and_options():
    plan = parse_workspace_edit(
        {
            "changes": {"file:///p/other": [edit("no")]},
            "documentChanges": [
                {"kind": "create", "uri": "file:///p/n", "options": {"overwrite": True}},
                in_document("/p/n", edit("x"), version=3),
                {"kind": "rename", "oldUri": "file:///p/n", "newUri": "file:///p/m"}
                | {"options": {"ignoreIfExists": True}},
                {"kind": "delete", "uri": "file:///p/d"}
                | {"options": {"recursive": True, "ignoreIfNotExists": True}},
            ],
        }
    )  # fmt: skip
    assert plan.operations == (
        CreateFile(Path("/p/n"), overwrite=True),
        TextEdits(Path("/p/n"), 3, (TextEdit((0, 0), (0, 0), "x"),)),
        RenameFile(Path("/p/n"), Path("/p/m"), ignore_if_exists=True),
        DeleteFile(Path("/p/d"), recursive=True, ignore_if_missing=True),
    )
    assert plan.paths == (Path("/p/n"), Path("/p/m"), Path("/p/d"))


def test_empty_document_changes_beside_changes_lose_nothing():
    plan = parse_workspace_edit({"documentChanges": [], "changes": {"file:///p/a": [edit("x")]}})
    assert plan.paths == (Path("/p/a"),)


def test_edits_of_one_file_refer_to_one_text_until_files_are_moved():
    plan = parse_workspace_edit(
        {
            "documentChanges": [
                in_document("/p/a", edit("1"), version=2),
                in_document("/p/b", edit("2")),
                in_document("/p/%61", edit("3")),
                {"kind": "create", "uri": "file:///p/c"},
                in_document("/p/a", edit("4")),
            ]
        }
    )
    texts = [
        (operation.path.name, operation.version, [one.new_text for one in operation.edits])
        for operation in plan.operations
        if isinstance(operation, TextEdits)
    ]
    assert texts == [("a", 2, ["1", "3"]), ("b", None, ["2"]), ("a", None, ["4"])]


def test_annotations_say_what_wants_confirmation():
    plan = parse_workspace_edit(
        {
            "documentChanges": [
                in_document("/p/a", edit("1", annotationId="sure"), edit("2", annotationId="ask")),
                {"kind": "delete", "uri": "file:///p/d", "annotationId": "unknown"},
            ],
            "changeAnnotations": {
                "sure": {"label": "Rename"},
                "ask": {"label": "In comments", "needsConfirmation": True, "description": "a guess"},
                "unused": {"label": "Nothing", "needsConfirmation": True},
            },
        }
    )
    assert [note.label for note in plan.annotations] == ["Rename", "In comments", "unknown"]
    assert [(note.label, note.description) for note in plan.needs_confirmation] == [
        ("In comments", "a guess"),
        ("unknown", None),
    ]
    assert isinstance(plan.operations[0], TextEdits)
    assert [one.annotation for one in plan.operations[0].edits] == ["sure", "ask"]


RANGE = span((0, 0), (0, 1))


@pytest.mark.parametrize(
    "whole",
    [
        [],
        "x",
        {"changes": []},
        {"changes": {"file:///a": {}}},
        {"changes": {"file:///a": ["x"]}},
        {"changes": {"file:///a": [{"newText": "x"}]}},
        {"changes": {"file:///a": [{"range": RANGE}]}},
        {"changes": {"file:///a": [{"range": RANGE, "newText": 1}]}},
        {"changes": {"file:///a": [{"range": RANGE, "newText": "$0", "insertTextFormat": 2}]}},
        {"changes": {"file:///a": [{"range": RANGE, "snippet": {"kind": "snippet", "value": "$0"}}]}},
        {"changes": {"file:///a": [edit("x", (1, 0), (0, 5))]}},
        {"changes": {"file:///a": [edit("x", (-1, 0), (0, 5))]}},
        {"changes": {"file:///a": [edit("x", (0, 0.5), (0, 5))]}},
        {"changes": {"file:///a": [edit("x", ("0", 0), (0, 5))]}},
        {"changes": {"file:///a": [edit("x", (False, 0), (0, 5))]}},
        {"changes": {"file:///a": [edit("x", annotationId=3)]}},
        {"changes": {"http://a/b": [edit("x")]}},
        {"changes": {"untitled:a": [edit("x")]}},
        {"documentChanges": {"a": 1}},
        {"documentChanges": [None]},
        {"documentChanges": [{"kind": "copy", "uri": "file:///a"}]},
        {"documentChanges": [{"kind": 3, "uri": "file:///a"}]},
        {"documentChanges": [{"kind": "create"}]},
        {"documentChanges": [{"kind": "create", "uri": "file:///a", "options": {"overwrite": "yes"}}]},
        {"documentChanges": [{"kind": "delete", "uri": "file:///a", "options": []}]},
        {"documentChanges": [{"kind": "rename", "oldUri": "file:///a"}]},
        {"documentChanges": [{"edits": []}]},
        {"documentChanges": [in_document("/a", edit("x")) | {"edits": "none"}]},
        {"documentChanges": [{"textDocument": {"uri": "file:///a", "version": "2"}, "edits": []}]},
        {"documentChanges": [in_document("/a", version=1), in_document("/a", version=2)]},
        {"documentChanges": [in_document("/a", edit("x", annotationId="n"))], "changeAnnotations": []},
        {"documentChanges": [in_document("/a", edit("x", annotationId="n"))], "changeAnnotations": {"n": 1}},
    ],
)
def test_what_does_not_fit_the_protocol_is_refused(whole):
    with pytest.raises(MalformedEdit):
        parse_workspace_edit(whole)


def test_what_is_too_much_is_refused():
    many = {"changes": {f"file:///p/{number}": [edit("x")] for number in range(11)}}
    assert len(parse_workspace_edit(many, max_operations=11).operations) == 11
    with pytest.raises(MalformedEdit, match="more than 10 files"):
        parse_workspace_edit(many, max_operations=10)
    with pytest.raises(MalformedEdit, match="more than 10 edits"):
        parse_workspace_edit(many, max_edits=10)
    with pytest.raises(MalformedEdit, match="new text"):
        parse_workspace_edit({"changes": {"file:///p/a": [edit("x" * (33 * 1024 * 1024))] * 2}})


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
        st.sampled_from(["file:///a", "create", "rename", "delete"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "changes", "documentChanges", "changeAnnotations", "kind", "uri", "oldUri", "newUri",
                    "options", "edits", "textDocument", "version", "range", "start", "end", "line",
                    "character", "newText", "annotationId",
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_no_answer_of_a_server_is_a_crash(whole):
    try:
        plan = parse_workspace_edit(whole)
    except MalformedEdit:
        return
    assert all(path.is_absolute() for path in plan.paths)


# Texts.


def placed(index: LineIndex, at: int, encoding: str) -> tuple[int, int]:
    line = max(number for number in range(index.line_count) if index.offset_of(number, 0) <= at)
    found = index.to_server(line, at - index.offset_of(line, 0), encoding)
    return found["line"], found["character"]


@st.composite
def edited(draw):
    """A text, spans that do not overlap with their new texts, in any order of the list but for
    insertions at one place."""
    text = draw(st.text(alphabet="ab é😀\u0301\n\t", max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    spans = [(cuts[at], cuts[at + 1]) for at in range(0, len(cuts) - 1, 2)]
    changes = [(*one, draw(st.text(alphabet="XYé😀\n", max_size=4))) for one in spans]
    inserts = draw(st.lists(st.sampled_from(cuts or [0]), max_size=3))
    changes = [(at, at, f"<{number}>") for number, at in enumerate(sorted(inserts))] + changes
    order = draw(st.permutations(range(len(changes))))
    shuffled = [changes[place] for place in order]
    return text, shuffled


def naive(text: str, changes: list[tuple[int, int, str]]) -> str:
    """Gap by gap: what is inserted there in the order of the list, then what replaces what follows."""
    result = []
    at = 0
    while at <= len(text):
        result += [new for start, end, new in changes if start == end == at]
        replacing = [one for one in changes if one[0] == at < one[1]]
        if replacing:
            result.append(replacing[0][2])
            inside = [one for one in changes if one[0] == one[1] and at < one[0] < replacing[0][1]]
            assert not inside
            at = replacing[0][1]
            continue
        result.append(text[at : at + 1])
        at += 1
    return "".join(result)


@given(edited(), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_edits_refer_to_the_text_as_it_was(case, encoding):
    text, changes = case
    index = LineIndex(text)
    edits = [
        TextEdit(placed(index, start, encoding), placed(index, end, encoding), new)
        for start, end, new in changes
    ]
    assert apply_text_edits(text, edits, encoding) == naive(text, changes)
    assert apply_text_edits(text, edits, encoding, lines=index) == naive(text, changes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (((0, 0), (0, 3)), ((0, 2), (0, 4))),
        (((0, 0), (0, 3)), ((0, 1), (0, 2))),
        (((0, 0), (0, 3)), ((0, 0), (0, 3))),
        (((0, 0), (0, 3)), ((0, 2), (0, 2))),
        (((0, 0), (0, 1)), ((0, 0), (0, 3))),
    ],
)
def test_edits_that_overlap_are_refused(first, second):
    edits = [TextEdit(*first, "x"), TextEdit(*second, "y")]
    for order in (edits, edits[::-1]):
        with pytest.raises(MalformedEdit, match="overlap"):
            apply_text_edits("abcdef", order, "utf-16")


def test_places_beyond_a_line_or_the_text_mean_its_end():
    whole = TextEdit((0, 0), (99, 0), "new\n")
    assert apply_text_edits("a\r\nb", [whole], "utf-16") == "new\n"
    assert apply_text_edits("a\r\nb", [TextEdit((0, 0), (0, 99), "x")], "utf-16") == "x\r\nb"
    assert apply_text_edits("a\r\nb\r\n", [TextEdit((5, 3), (9, 9), "x")], "utf-16") == "a\r\nb\r\nx"


def test_an_emoji_before_the_place_moves_nothing():
    line = 's = "😀 👩‍👩‍👧"; old = 1'
    at = line.index("old")
    for encoding in ("utf-8", "utf-16", "utf-32"):
        index = LineIndex(line)
        start = index.to_server(0, at, encoding)["character"]
        end = index.to_server(0, at + 3, encoding)["character"]
        new = apply_text_edits(line, [TextEdit((0, start), (0, end), "new")], encoding)
        assert new == 's = "😀 👩‍👩‍👧"; new = 1'


def test_new_text_can_get_the_line_ends_of_the_file():
    text = "a\r\nb\r\n"
    assert prevailing_line_end(text) == "\r\n"
    changed = apply_text_edits(text, [TextEdit((1, 0), (1, 0), "x\ny\r\nz\r")], "utf-16", line_end="\r\n")
    assert changed == "a\r\nx\r\ny\r\nz\r\nb\r\n"
    assert (prevailing_line_end("a\rb"), prevailing_line_end("a\nb\r\n\n"), prevailing_line_end("a")) == (
        "\r",
        "\n",
        None,
    )


# URIs.


@given(st.lists(st.binary(min_size=1, max_size=8).filter(lambda name: not {0, 47} & set(name)), min_size=1))
def test_every_path_goes_into_a_uri_and_comes_back(names):
    path = Path(*["/", *(name.decode("utf-8", "surrogateescape") for name in names)])
    uri = path_to_uri(path)
    assert uri.isascii()
    assert uri_to_path(uri) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///p/a%20b%23c%3Fd.py", "/p/a b#c?d.py"),
        ("FILE:///p/a", "/p/a"),
        ("file:/p/a", "/p/a"),
        ("file://localhost/p/a", "/p/a"),
        ("file:///c%3A/x/y.ts", "/c:/x/y.ts"),
        ("file:///C:/x/y.ts", "/C:/x/y.ts"),
        ("file:///p/%F0%9F%98%80", "/p/😀"),
        ("file:///p/😀+(1)@x", "/p/😀+(1)@x"),
        ("file:///p/a%2Fb", "/p/a/b"),
    ],
)
def test_a_file_uri_is_a_path(uri, path):
    assert uri_to_path(uri) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        "", None, 3, "/p/a", "p/a", "http://h/p", "untitled:Untitled-1", "jdt://contents/x", "file:", "file://",
        "file://server/share/a", "file://c:/x", "file:////server/a", "file:a", "file:///p?q", "file:///p#f",
        "file:///p%00a", "file:///p%2", "file:///p%zz", "file:///\ud800", "file:///" + "a" * 20_000,
    ],
)  # fmt: skip
def test_what_is_no_file_here_is_refused(uri):
    with pytest.raises(ForeignUri):
        uri_to_path(uri)


def test_a_relative_path_has_no_uri():
    with pytest.raises(ValueError, match="absolute"):
        path_to_uri(Path("a"))
