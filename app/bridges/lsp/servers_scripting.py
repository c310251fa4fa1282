"""Scripting languages and their servers.

Owns: this part of the table. Never: how a server behaves once it runs.
"""

from __future__ import annotations

from app.bridges.lsp.language_entry import LanguageEntry, all_as, server

LANGUAGES = (
    LanguageEntry(
        language="python",
        candidates=(
            server("pyright-langserver", "--stdio", pip="'kaged[python-lsp]'", npm="pyright"),
            server("basedpyright-langserver", "--stdio", pip="'kaged[python-lsp]'", npm="basedpyright"),
        ),
        extensions=all_as("python", ".py", ".pyi", ".pyw"),
        file_names=all_as("python", "SConstruct", "SConscript", "wscript"),
        root_markers=(
            "pyproject.toml",
            "pyrightconfig.json",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
            "Pipfile",
        ),
        unit_markers={
            "pyrightconfig.json": (),
            "pyproject.toml": ("[tool.pyright", "[tool.basedpyright"),
        },
    ),
    LanguageEntry(
        language="ruby",
        candidates=(
            server("ruby-lsp", gem="ruby-lsp"),
            server("solargraph", "stdio", gem="solargraph"),
        ),
        extensions=all_as("ruby", ".rb", ".rake", ".gemspec", ".ru", ".rbi"),
        file_names=all_as("ruby", "Gemfile", "Rakefile", "Guardfile", "Vagrantfile", "Podfile", "Fastfile"),
        root_markers=("Gemfile", "*.gemspec", "Rakefile"),
    ),
    LanguageEntry(
        language="php",
        candidates=(
            server("intelephense", "--stdio", npm="intelephense"),
            server("phpactor", "language-server", composer="phpactor/phpactor"),
        ),
        extensions=all_as("php", ".php", ".phtml"),
        root_markers=("composer.json",),
    ),
    LanguageEntry(
        language="lua",
        candidates=(
            server(
                "lua-language-server",
                brew="lua-language-server",
                pacman="lua-language-server",
                apk="lua-language-server",
                other="unpack a release of lua-language-server and put its bin folder on the PATH",
            ),
        ),
        extensions=all_as("lua", ".lua"),
        file_names=all_as("lua", ".luacheckrc"),
        root_markers=(".luarc.json", ".luarc.jsonc", ".luacheckrc", "stylua.toml"),
    ),
    LanguageEntry(
        language="elixir",
        candidates=(
            server("expert", "--stdio", other="unpack a release of Expert and put expert on the PATH"),
            server(
                "elixir-ls",
                brew="elixir-ls",
                other="unpack a release of ElixirLS; put language_server.sh on the PATH as elixir-ls",
            ),
            server("nextls", "--stdio", brew="elixir-tools/tap/next-ls"),
        ),
        extensions={**all_as("elixir", ".ex", ".exs"), ".heex": "phoenix-heex", ".eex": "eex"},
        root_markers=("mix.exs",),
    ),
    LanguageEntry(
        language="sql",
        candidates=(
            server("sqruff", "lsp", pip="sqruff", brew="sqruff"),
            server("sqls", go="github.com/sqls-server/sqls", brew="sqls"),
        ),
        extensions=all_as("sql", ".sql"),
        root_markers=(".sqruff", ".sqlfluff"),
    ),
    LanguageEntry(
        language="bash",
        candidates=(server("bash-language-server", "start", npm="bash-language-server"),),
        extensions=all_as("shellscript", ".sh", ".bash", ".bats", ".ksh"),
        file_names=all_as(
            "shellscript", ".bashrc", ".bash_profile", ".bash_aliases", ".bash_logout", ".profile", "PKGBUILD"
        ),
    ),
)
