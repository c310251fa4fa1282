"""What a caged caller learns from `search.grep` and `search.glob`."""

from __future__ import annotations

import pytest

from tests.tools.searching import engine_called, search_desk


@pytest.fixture
async def search(desk):
    async with search_desk(desk, engine_called("packaged", desk.base / "bin")) as searching:
        for path in ("src/a.py", "src/secret/b.py", "data/c.py", "src/.kaged/d.py", ".kaged/e.py"):
            searching.put(path, "before\nTODO x\n")
        yield searching


@pytest.mark.requirement("grep.outside", "authorisation.read_cage")
async def test_matches_outside_the_cage_have_no_content(search):
    caged = search.caged(("ro", "./src"), ("deny", "./src/secret"), outside="mark")
    data = await caged.ok("search.grep", pattern="TODO", output_mode="content", context=1)
    assert data["matches"] == [
        {"file": "./data/c.py", "line": 2, "outside_cage": True},
        {"file": "./src/.kaged/d.py", "line": 2, "content": "TODO x", "context_before": ["before"]},
        {"file": "./src/a.py", "line": 2, "content": "TODO x", "context_before": ["before"]},
    ]
    assert data["total_matches"] == 3


@pytest.mark.requirement("grep.outside")
async def test_paths_and_counts_outside_the_cage_are_marked(search):
    caged = search.caged(("rw", "src/a.py"), outside="mark")
    paths = await caged.ok("search.grep", pattern="TODO", include="[a-c].py")
    assert paths["matches"] == [
        {"file": "./data/c.py", "outside_cage": True},
        {"file": "./src/a.py"},
        {"file": "./src/secret/b.py", "outside_cage": True},
    ]
    counts = await caged.ok("search.grep", pattern="TODO", output_mode="count", include="a.py")
    assert counts["matches"] == [{"file": "./src/a.py", "count": 1}]


@pytest.mark.requirement("grep.outside")
@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_outside_none_drops_what_is_outside(search, mode):
    caged = search.caged(("ro", "./src"), ("deny", "./src/secret"))
    data = await caged.ok("search.grep", pattern="TODO", output_mode=mode)
    assert [one["file"] for one in data["matches"]] == ["./src/.kaged/d.py", "./src/a.py"]
    assert (data["total_matches"], data["truncated"]) == (2, False)


@pytest.mark.requirement("grep.outside")
async def test_what_is_dropped_does_not_count_towards_a_limit(search):
    caged = search.caged(("ro", "./src/a.py"))
    data = await caged.ok("search.grep", pattern="TODO", head_limit=1)
    assert (data["matches"], data["truncated"]) == ([{"file": "./src/a.py"}], False)


@pytest.mark.requirement("grep.outside")
@pytest.mark.parametrize(
    ("outside", "path", "code"),
    [
        ("mark", "src/secret", "capability_denied"),
        ("mark", "src/secret/b.py", "capability_denied"),
        ("mark", "src/secret/nothing", "capability_denied"),
        ("mark", ".kaged", "capability_denied"),
        ("none", "data", "capability_denied"),
        ("none", "data/nothing", "capability_denied"),
        ("mark", "data/nothing", "file_not_found"),
    ],
)
async def test_a_search_does_not_begin_where_nothing_may_be_seen(search, outside, path, code):
    caged = search.caged(("ro", "./src"), ("deny", "./src/secret"), outside=outside)
    assert await caged.code("search.grep", pattern="TODO", path=path) == code
    assert await caged.code("search.glob", pattern="*", path=path) == code


@pytest.mark.requirement("grep.outside")
async def test_a_link_into_what_is_denied_opens_nothing(search):
    (search.root / "src" / "way").symlink_to("secret")
    (search.root / "src" / "secret" / "back").symlink_to("..")
    caged = search.caged(("ro", "./src"), ("deny", "./src/secret"), outside="mark")
    assert await caged.code("search.grep", pattern="TODO", path="src/way") == "capability_denied"
    assert await caged.code("search.grep", pattern="TODO", path="src/secret/back") == "capability_denied"


@pytest.mark.requirement("authorisation.protected")
async def test_the_daemons_own_files_are_not_mentioned_to_anybody(desk):
    desk.put("state/kaged.db", "TODO\n")
    desk.put("config.toml", "TODO\n")
    closed = (desk.root / "state", desk.root / "config.toml")
    async with search_desk(desk, engine_called("packaged", desk.base / "bin"), closed=closed) as search:
        search.put("a.txt", "TODO\n")
        for caller in (search, search.caged(("rw", "."))):
            assert (await caller.ok("search.grep", pattern="TODO"))["matches"] == [{"file": "./a.txt"}]
            assert (await caller.ok("search.glob", pattern="**"))["files"] == ["./a.txt"]
            assert await caller.code("search.grep", pattern="TODO", path="state") == "capability_denied"


@pytest.mark.requirement("grep.outside")
async def test_files_found_by_name_outside_the_cage_are_named_as_such(search):
    caged = search.caged(("ro", "./src"), ("deny", "./src/secret"), outside="mark")
    data = await caged.ok("search.glob", pattern="*.py")
    assert sorted(data["files"]) == ["./data/c.py", "./src/.kaged/d.py", "./src/a.py"]
    assert (data["outside_cage"], data["count"]) == (["./data/c.py"], 3)
    none = search.caged(("ro", "./src"), ("deny", "./src/secret"))
    data = await none.ok("search.glob", pattern="*.py")
    assert sorted(data["files"]) == ["./src/.kaged/d.py", "./src/a.py"]
    assert "outside_cage" not in data


@pytest.mark.requirement("security.outside_cage")
async def test_a_cage_says_that_places_outside_are_not_shown_whether_there_are_any_or_not(search):
    caged = search.caged(("ro", "./src"))
    for pattern in ("TODO", "not there at all"):
        for mode in ("content", "files_with_matches", "count"):
            data = await caged.ok("search.grep", pattern=pattern, output_mode=mode)
            assert data["note"].endswith("places outside your cage are not shown")
            assert not [one for one in data["matches"] if one["file"].startswith("./data/")]
    for pattern in ("*.py", "*.nothing"):
        data = await caged.ok("search.glob", pattern=pattern)
        assert data["note"].endswith("places outside your cage are not shown") and "outside_cage" not in data
    for marked in (search, search.caged(("ro", "./src"), outside="mark")):
        assert "note" not in await marked.ok("search.glob", pattern="*.py")


@pytest.mark.requirement("security.outside_cage")
async def test_the_list_of_a_directory_says_that_places_outside_are_not_shown(search):
    data = await search.caged(("ro", "./src"), ("deny", "./src/secret")).ok("file.read", path="src")
    assert (data["content"], data["note"]) == (".kaged/\na.py", "places outside your cage are not shown")
    assert "note" not in await search.ok("file.read", path="src")
