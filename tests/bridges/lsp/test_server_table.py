"""Which language a file is of, and what the table says of the servers: names only, nothing is looked for."""

from __future__ import annotations

import re

import pytest

from app.bridges.installed.installation_hints import PACKAGE_MANAGERS
from app.bridges.lsp.resolution import Declared, ServerTable
from app.bridges.lsp.server_behaviours import behaviour_of, known_behaviour
from app.bridges.lsp.servers import LANGUAGES

WANTED = {
    "a.py": ("python", "python"),
    "a.pyi": ("python", "python"),
    "a.ts": ("typescript", "typescript"),
    "a.mts": ("typescript", "typescript"),
    "a.tsx": ("typescript", "typescriptreact"),
    "a.js": ("typescript", "javascript"),
    "a.cjs": ("typescript", "javascript"),
    "a.jsx": ("typescript", "javascriptreact"),
    "a.rs": ("rust", "rust"),
    "a.go": ("go", "go"),
    "go.mod": ("go", "go.mod"),
    "a.c": ("cpp", "c"),
    "a.h": ("cpp", "cpp"),
    "a.cc": ("cpp", "cpp"),
    "A.C": ("cpp", "cpp"),
    "a.hpp": ("cpp", "cpp"),
    "a.java": ("java", "java"),
    "a.cs": ("csharp", "csharp"),
    "a.rb": ("ruby", "ruby"),
    "Gemfile": ("ruby", "ruby"),
    "a.php": ("php", "php"),
    "a.lua": ("lua", "lua"),
    "a.sh": ("bash", "shellscript"),
    ".bashrc": ("bash", "shellscript"),
    "a.yaml": ("yaml", "yaml"),
    "a.yml": ("yaml", "yaml"),
    "a.json": ("json", "json"),
    "a.jsonc": ("json", "jsonc"),
    "tsconfig.json": ("json", "jsonc"),
    "a.css": ("css", "css"),
    "a.scss": ("css", "scss"),
    "a.less": ("css", "less"),
    "a.html": ("html", "html"),
    "Dockerfile": ("dockerfile", "dockerfile"),
    "Dockerfile.dev": ("dockerfile", "dockerfile"),
    "app.dockerfile": ("dockerfile", "dockerfile"),
    "a.tf": ("terraform", "terraform"),
    "a.tfvars": ("terraform", "terraform-vars"),
    "a.zig": ("zig", "zig"),
    "a.kt": ("kotlin", "kotlin"),
    "a.swift": ("swift", "swift"),
    "a.ex": ("elixir", "elixir"),
    "a.html.heex": ("elixir", "phoenix-heex"),
    "a.sql": ("sql", "sql"),
    "a.svelte": ("svelte", "svelte"),
    "a.vue": ("vue", "vue"),
    "src/deep.er/a.test.ts": ("typescript", "typescript"),
    "A.PY": ("python", "python"),
    "a.txt": None,
    "README": None,
    "py": None,
    "a.py/b": None,
    "Dockerfiles": None,
    "": None,
}


def table(*declared: Declared, local: tuple[Declared, ...] = ()) -> ServerTable:
    return ServerTable(declared, local, {"PATH": "/nonexistent"})


@pytest.mark.requirement("language_servers.servers.table")
@pytest.mark.parametrize("path", WANTED)
def test_each_file_has_its_language_and_identifier(path: str) -> None:
    assert table().language_of(path) == WANTED[path]


@pytest.mark.requirement("language_servers.servers.table")
def test_every_language_of_the_list_has_servers_endings_and_a_way_to_install() -> None:
    assert set(LANGUAGES) == {
        "python", "typescript", "rust", "go", "cpp", "java", "csharp", "ruby", "php", "lua", "bash", "yaml",
        "json", "css", "html", "dockerfile", "terraform", "zig", "kotlin", "swift", "elixir",
        "sql", "svelte", "vue",
    }  # fmt: skip
    whole = table()
    for name, entry in LANGUAGES.items():
        assert entry.language == name
        assert whole.extensions_of(name)
        for ending in whole.extensions_of(name):
            assert re.fullmatch(r"\.[A-Za-z0-9+-]+", ending)
            found = whole.language_of(f"x{ending}")
            assert found is not None and found[0] == name
        for candidate in entry.candidates:
            assert "/" not in candidate.command[0]
            assert candidate.install and candidate.install.keys() <= {*PACKAGE_MANAGERS, "other"}
            assert known_behaviour(candidate.command[0]) is not None, candidate.command


@pytest.mark.requirement("language_servers.servers.table")
def test_no_ending_belongs_to_two_languages() -> None:
    endings = [ending for entry in LANGUAGES.values() for ending in entry.extensions]
    assert len(endings) == len(set(endings))


@pytest.mark.requirement("language_servers.servers.table")
@pytest.mark.parametrize(
    ("program", "like"),
    [
        ("clangd-19", "clangd"),
        ("/usr/lib/llvm-19/bin/clangd", "clangd"),
        ("typescript-language-server.mjs", "typescript-language-server"),
        ("/opt/x/gopls", "gopls"),
    ],
)
def test_a_server_is_known_by_the_name_of_its_program(program: str, like: str) -> None:
    assert behaviour_of(program) == behaviour_of(like) != behaviour_of("some-other-server")


@pytest.mark.requirement("language_servers.servers.table")
def test_the_measured_facts_are_in_the_table() -> None:
    typescript = behaviour_of("typescript-language-server")
    assert typescript.freshness == "tsserver" and typescript.ready == "progress"
    assert typescript.options.initialization["tsserver"]["useSyntaxServer"] == "never"
    rust = behaviour_of("rust-analyzer")
    assert (rust.freshness, rust.ready) == ("flycheck", "server_status")
    assert rust.env["CARGO_NET_OFFLINE"] == "true"
    assert behaviour_of("clangd").ready == "index"
    assert behaviour_of("yaml-language-server").freshness == "settled"
    for name, line in (
        ("pyright-langserver", "Found 6 source files"),
        ("basedpyright-langserver", "Found 1 source file"),
        ("bash-language-server", "01:28:10.380 INFO BackgroundAnalysis: Completed after 0.441 seconds."),
    ):
        behaviour = behaviour_of(name)
        assert behaviour.ready == "log" and re.search(behaviour.ready_pattern, line)
    early = "01:28:10.213 INFO BackgroundAnalysis: Glob resolved with 5 files after 0.275 seconds"
    assert not re.search(behaviour_of("bash-language-server").ready_pattern, early)


@pytest.mark.requirement("language_servers.servers.declared")
def test_declared_endings_win_and_replace_the_usual_ones() -> None:
    found = table(
        Declared(language="vue", command=("vue",), extensions=(".vue", ".html.erb")),
        Declared(language="python", command=("pylsp",), extensions=(".py",)),
        Declared(language="config", command=("x",), extensions=(".json",)),
    )
    assert found.language_of("a.vue") == ("vue", "vue")
    assert found.language_of("a.html.erb") == ("vue", "vue")
    assert found.language_of("a.html") == ("html", "html")
    assert found.language_of("a.py") == ("python", "python")
    assert found.language_of("a.pyi") is None
    assert found.language_of("tsconfig.json") == ("config", "json")
    assert found.extensions_of("python") == (".py",)
    assert {"vue", "config", "rust"} <= set(found.languages())


@pytest.mark.requirement("language_servers.servers.declared")
def test_a_part_of_a_language_may_have_a_server_of_its_own() -> None:
    found = table(Declared(language="javascript", command=("x",)), Declared(language="c", command=("y",)))
    assert found.language_of("a.js") == ("javascript", "javascript")
    assert found.language_of("a.ts") == ("typescript", "typescript")
    assert found.language_of("a.c") == ("c", "c")
    assert found.language_of("a.cpp") == ("cpp", "cpp")
    assert found.root_markers_of("javascript") == LANGUAGES["typescript"].root_markers
    assert found.root_markers_of("gleam") == ()


@pytest.mark.requirement("language_servers.servers.declared")
def test_the_project_goes_before_the_local_config_there_too() -> None:
    local = (Declared(language="x", command=("x",), extensions=(".py", ".x")),)
    found = table(Declared(language="python", command=("y",), extensions=(".py",)), local=local)
    assert found.language_of("a.py") == ("python", "python")
    assert found.language_of("a.x") == ("x", "x")
