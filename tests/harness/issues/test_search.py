"""The search through issues: its grammar, and the same hits on both databases as a plain reading finds."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import ValidationFailed
from app.harness.issues.query import IssueFilter, IssueList
from app.harness.issues.search_text import MAX_CHARACTERS, MAX_TERMS, read_search
from app.storage.backup import backup, restore
from app.storage.search_query import Alternative, SearchQuery, Term
from app.storage.search_words import MAX_FIELD_BYTES, indexed, vector_literal, words_of
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows

PROJECT = "prj_00001"


@dataclass
class Texts:
    """What one issue says."""

    title: str
    body: str = ""
    comments: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    status: str = "open"
    fields: list[list[str]] = field(default_factory=list)


async def store(storage: Storage, issues: list[Texts], *, fresh: bool = True) -> None:
    """Store issues with the numbers from 1 on."""

    def work(uow: UnitOfWork) -> None:
        if fresh:
            rows.family(uow)
        for number, one in enumerate(issues, start=1):
            uow.issues.add(rows.issue(number, title=one.title, body=one.body, status=one.status))
            said = [(text, "all") for text in one.comments]
            said += [(text, "operator_only") for text in one.internal]
            for place, (text, visibility) in enumerate(said):
                key = number * 1000 + place
                update = rows.issue_update(key, issue_id=f"iss_{number:05}", kind="comment")
                uow.issue_updates.add(update.model_copy(update={"body": text, "visibility": visibility}))

    await storage.write(work)


async def found(storage: Storage, search: str, **options: Any) -> list[int]:
    """Return the numbers of all hits, in their order, read page by page."""
    limit = options.pop("limit", 100)
    numbers: list[int] = []
    cursor: str | None = None
    while True:
        wanted = IssueFilter(search=search, **options)
        page: IssueList = await storage.read(
            lambda uow, wanted=wanted, cursor=cursor: wanted.page(uow, PROJECT, limit=limit, cursor=cursor)  # type: ignore[misc]
        )
        assert page.offset == len(numbers)
        numbers += [issue.number for issue in page.items]
        cursor = page.next_cursor
        if cursor is None:
            assert page.total == len(numbers)
            return numbers


# -- the grammar --------------------------------------------------------------------------------


@pytest.mark.requirement("issues.search")
def test_a_search_is_read_into_alternatives_of_terms() -> None:
    assert read_search('dark MODE -"old page" pre* OR café-bar') == SearchQuery(
        (
            Alternative(
                required=(Term(("dark",)), Term(("mode",)), Term(("pre",), prefix=True)),
                excluded=(Term(("old", "page")),),
            ),
            Alternative(required=(Term(("cafe", "bar")),)),
        )
    )


@pytest.mark.requirement("issues.search")
@pytest.mark.parametrize(
    ("search", "told"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ('"open phrase', "without its partner"),
        ('a "b" "', "without its partner"),
        ('"!!"', "phrase without letters and digits"),
        ('"two words"*', "* behind the phrase"),
        ('"two"three', "right behind a phrase"),
        ("*", "without letters and digits"),
        ("a*b", "* inside"),
        ("**", "* inside"),
        ("c+*", "* behind no letter"),
        ("&&", "without letters and digits"),
        ("-", "without letters and digits"),
        ("-word", "only what must not be there"),
        ("a OR -b", "only what must not be there"),
        ("OR a", "nothing before an OR"),
        ("a OR", "nothing behind an OR"),
        ("a OR OR b", "nothing before an OR"),
        ("OR", "nothing before an OR"),
        ("x" * (MAX_CHARACTERS + 1), f"at most {MAX_CHARACTERS}"),
        ("x " * (MAX_TERMS + 1), f"more than {MAX_TERMS}"),
        ("\0", "without letters and digits"),
        ("\ud800", "without letters and digits"),
    ],
)
def test_a_malformed_search_is_refused_with_what_is_wrong(search: str, told: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        read_search(search)
    assert told in refused.value.details["fields"]["search"]


@pytest.mark.requirement("issues.search")
@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \"*-OR()&|!:<>^{}\\'é\0\n"), max_size=25))
def test_whatever_is_typed_is_read_or_refused(search: str) -> None:
    try:
        query = read_search(search)
    except ValidationFailed as refusal:
        assert list(refusal.details["fields"]) == ["search"]
    else:
        assert all(one.required for one in query.alternatives)


# -- words --------------------------------------------------------------------------------------


@pytest.mark.requirement("issues.search")
def test_words_are_runs_of_letters_and_digits_without_case_and_marks() -> None:
    assert words_of("Straße_42, ÉTÉ-ﬁn: x² Ⅷ e\u0301a") == [
        "strasse", "42", "ete", "fin", "x2", "viii", "ea"
    ]  # fmt: skip
    assert words_of("日本語 हिन्दी") == ["日本語", "".join(
        one for one in unicodedata.normalize("NFKD", "हिन्दी") if unicodedata.category(one)[0] != "M"
    )]  # fmt: skip
    assert words_of("x" * 50) == ["x" * 40]


@pytest.mark.requirement("issues.search")
def test_what_is_indexed_of_a_field_is_bounded() -> None:
    whole = indexed("word " * 100_000)
    assert len(whole.encode()) <= MAX_FIELD_BYTES
    long = ""
    for number in range(400):
        long = indexed(" ".join(f"w{number}x{n}" for n in range(200)), long)
    assert len(long.encode()) <= MAX_FIELD_BYTES + 10_000
    literal = vector_literal("p_x", {"title": "", "body": whole, "comments": long, "internal": long})
    assert len(literal.encode()) < 1_000_000


@pytest.mark.requirement("issues.search")
async def test_texts_as_large_as_they_may_be_are_found(storage: Storage) -> None:
    letters = [chr(0x4E00 + n) for n in range(5_000)]
    largest = " ".join(letters)[: 16 * 1024 // 2]
    comments = tuple(" ".join(letters[n::2])[:4_000] for n in range(2)) * 12
    await store(
        storage,
        [Texts("\ufdfa" * 200, "\ufdfa" * 5_461, comments, comments), Texts("a " * 100, "a b " * 4_000)],
    )
    assert await found(storage, letters[7]) == [1]
    assert await found(storage, '"a b a"') == [2]
    assert await found(storage, f'"{letters[0]} {letters[2]}"') == [1]
    assert len(largest.encode()) <= 16 * 1024


# -- hits ---------------------------------------------------------------------------------------

SHOP = [
    Texts("The till is slow", "It takes a minute.", ("Seen twice.",)),
    Texts("Printer", "The slow till prints nothing.", (), ("The till was cheap.",)),
    Texts("Door", "It squeaks.", ("Oil for the door, not the till.", "It is slow work."), status="triaged"),
    Texts("Tills of all shops", "Fast ones.", ("slow", "till")),
    Texts("Fenêtre cassée", "Größe: 30×40, N°7"),
]


@pytest.mark.requirement("issues.search")
@pytest.mark.parametrize(
    ("search", "numbers"),
    [
        ("till", [1, 2, 4, 3]),
        ("TILL", [1, 2, 4, 3]),
        ("till slow", [1, 2, 4, 3]),
        ('"slow till"', [2]),
        ('"till is slow"', [1]),
        ("till*", [4, 1, 2, 3]),
        ("till -door", [1, 2, 4]),
        ("till -door -minute", [2, 4]),
        ('till -"slow till"', [1, 4, 3]),
        ("printer OR door", [3, 2]),
        ("printer slow OR door oil", [2, 3]),
        ("cheap", [2]),
        ("fenetre", [5]),
        ("FENÊTRE CASSEE", [5]),
        ("grosse 30 40", [5]),
        ("30×40", [5]),
        ("n7", []),
        ("absent", []),
        ("slow OR absent", [1, 2, 4, 3]),
    ],
)
async def test_the_best_hits_come_first(storage: Storage, search: str, numbers: list[int]) -> None:
    await store(storage, SHOP)
    assert await found(storage, search) == numbers
    assert await found(storage, search, limit=1) == numbers


@pytest.mark.requirement("issues.search", "issues.visibility")
async def test_notes_for_operators_are_found_by_operators_only(storage: Storage) -> None:
    await store(storage, SHOP)
    assert await found(storage, "cheap", internal=False) == []
    assert await found(storage, "till -cheap", internal=False) == [1, 2, 4, 3]
    assert await found(storage, "till -cheap") == [1, 4, 3]


@pytest.mark.requirement("issues.search")
async def test_a_phrase_does_not_reach_from_one_comment_into_the_next(storage: Storage) -> None:
    await store(storage, SHOP)
    assert await found(storage, '"slow till"') == [2]
    assert await found(storage, "slow till -door -printer -minute") == [4]


@pytest.mark.requirement("issues.search")
async def test_what_is_changed_is_found_as_it_is_then(storage: Storage) -> None:
    await store(storage, SHOP)
    await storage.write(lambda uow: uow.issues.update("iss_00001", title="The lamp is slow"))
    await storage.write(lambda uow: uow.issues.update("iss_00002", status="resolved", assignment="primary"))
    await storage.write(lambda uow: uow.issues.update("iss_00005", body="A till at last."))
    assert await found(storage, "till") == [5, 2, 4, 3]
    assert await found(storage, "lamp") == [1]
    assert await found(storage, "till", statuses=("resolved", "triaged")) == [2, 3]
    assert await found(storage, "till", assignment="primary") == [2]
    assert await found(storage, "grosse") == []


@pytest.mark.requirement("issues.search")
async def test_a_page_begins_at_an_offset_whatever_the_rank(storage: Storage) -> None:
    await store(storage, SHOP)
    wanted = IssueFilter(search="till")
    for offset in range(5):
        page = await storage.read(lambda uow, at=offset: wanted.page(uow, PROJECT, limit=2, offset=at))  # type: ignore[misc]
        assert [one.number for one in page.items] == [1, 2, 4, 3][offset : offset + 2]
        assert (page.total, page.offset) == (4, offset)


@pytest.mark.requirement("issues.search")
async def test_what_was_found_is_found_in_a_restored_database(
    empty_database: str | None, tmp_path: Path
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    storage = await Storage.open(None, source)
    await store(storage, SHOP)
    await storage.close()
    await backup(None, source, tmp_path / "all.gz")
    report = await restore(empty_database, target, tmp_path / "all.gz")
    assert not [name for name in report.rows if name.startswith("issue_search")]
    storage = await Storage.open(empty_database, target)
    try:
        assert await found(storage, "till") == [1, 2, 4, 3]
        assert await found(storage, "cheap", internal=False) == []
        await storage.write(lambda uow: uow.issues.add(rows.issue(6, title="till at last", created_at=9)))
        assert await found(storage, "till") == [6, 1, 2, 4, 3]
    finally:
        await storage.close()


# -- as a plain reading finds -------------------------------------------------------------------

WORDS = ("ab", "abc", "b", "cé", "Ab", "d4")
SAID = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
DOCUMENTS = st.lists(
    st.builds(
        Texts,
        title=SAID.map(lambda text: text or "b"),
        body=SAID,
        comments=st.lists(SAID.filter(bool), max_size=2).map(tuple),
        internal=st.lists(SAID.filter(bool), max_size=1).map(tuple),
        status=st.sampled_from(("open", "triaged")),
    ),
    min_size=1,
    max_size=6,
)
PLAIN = st.sampled_from([*WORDS, "a*", "ab*", '"ab b"', '"b cé ab"', "ab-b", "ab-b*", '"Ab"'])
TERMS = st.lists(st.tuples(PLAIN, st.booleans()), min_size=1, max_size=3).map(
    lambda terms: " ".join([terms[0][0], *(("-" if minus else "") + term for term, minus in terms[1:])])
)
SEARCHES = st.lists(TERMS, min_size=1, max_size=2).map(" OR ".join)


def has(texts: list[str], term: Term) -> bool:
    """Tell whether one of the texts has the words behind each other."""
    for text in texts:
        words = words_of(text)
        for start in range(len(words) - len(term.words) + 1):
            there = words[start : start + len(term.words)]
            *whole, last = zip(there, term.words, strict=True)
            if all(a == b for a, b in whole) and (
                last[0].startswith(last[1]) if term.prefix else last[0] == last[1]
            ):
                return True
    return False


def tier_of(issue: Texts, query: SearchQuery, *, internal: bool) -> int | None:
    """Return how good a hit the issue is; None when it is none."""
    every = [issue.title, issue.body, *issue.comments, *(issue.internal if internal else ())]
    for tier, texts in enumerate(([issue.title], [issue.title, issue.body], every)):
        for one in query.alternatives:
            unwanted = any(has(every, term) for term in one.excluded)
            if all(has(texts, term) for term in one.required) and not unwanted:
                return tier
    return None


@pytest.mark.requirement("issues.search")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(issues=DOCUMENTS, searches=st.lists(SEARCHES, min_size=1, max_size=4), internal=st.booleans())
async def test_both_databases_find_what_a_plain_reading_finds(
    storage: Storage, issues: list[Texts], searches: list[str], internal: bool
) -> None:
    def forget(uow: UnitOfWork) -> None:
        uow.connection.exec_driver_sql("DELETE FROM issue_updates")
        uow.connection.exec_driver_sql("DELETE FROM issues")
        if storage.database.name == "sqlite":
            uow.connection.exec_driver_sql(
                "INSERT INTO issue_search_index (issue_search_index) VALUES ('delete-all')"
            )
        else:
            uow.connection.exec_driver_sql("DELETE FROM issue_search_index")
        uow.connection.exec_driver_sql("DELETE FROM issue_search")
        if uow.projects.get(PROJECT) is None:
            rows.family(uow)

    await storage.write(forget)
    await store(storage, issues, fresh=False)
    for search in searches:
        query = read_search(search)
        ranked = [
            (tier, -number)
            for number, issue in enumerate(issues, start=1)
            if (tier := tier_of(issue, query, internal=internal)) is not None
        ]
        assert await found(storage, search, internal=internal) == [-n for _, n in sorted(ranked)], search
