"""Compiled languages and their servers.

Owns: this part of the table. Never: how a server behaves once it runs.
"""

from __future__ import annotations

from app.bridges.lsp.language_entry import Candidate, LanguageEntry, all_as, server

_CLANGD_ARGUMENTS = (
    "--background-index",
    "--header-insertion=never",
    # Half a rename is worse than none, and lists are cut where they are shown.
    "--rename-file-limit=0",
    "--limit-references=0",
)
_NEWEST_CLANGD, _OLDEST_CLANGD = 24, 14


def _clangd(program: str) -> Candidate:
    packages = {"apt": "clangd", "dnf": "clang-tools-extra", "pacman": "clang", "brew": "llvm"}
    return server(program, *_CLANGD_ARGUMENTS, apk="clang-extra-tools", **packages)


LANGUAGES = (
    LanguageEntry(
        language="rust",
        candidates=(
            server(
                "rust-analyzer",
                rustup="rust-analyzer rust-src",
                apt="rust-analyzer rust-src",
                dnf="rust-analyzer rust-src",
                pacman="rust-analyzer rust-src",
                brew="rust-analyzer",
            ),
        ),
        extensions=all_as("rust", ".rs"),
        root_markers=("Cargo.toml", "rust-project.json"),
        unit_markers={"Cargo.toml": ("[package", "[workspace"), "rust-project.json": ()},
    ),
    LanguageEntry(
        language="go",
        candidates=(
            server("gopls", go="golang.org/x/tools/gopls", apt="gopls", brew="gopls", pacman="gopls"),
        ),
        extensions={".go": "go"},
        file_names={"go.mod": "go.mod", "go.sum": "go.sum", "go.work": "go.work"},
        root_markers=("go.work", "go.mod"),
        unit_markers={"go.mod": ()},
    ),
    LanguageEntry(
        language="cpp",
        candidates=tuple(
            _clangd(program)
            for program in (
                "clangd",
                *(f"clangd-{release}" for release in range(_NEWEST_CLANGD, _OLDEST_CLANGD - 1, -1)),
            )
        ),
        extensions={
            ".c": "c",
            **all_as("cpp", ".cpp", ".cc", ".cxx", ".c++", ".C", ".h", ".hpp", ".hh", ".hxx", ".h++"),
            **all_as("cpp", ".inl", ".ipp", ".tpp", ".cppm", ".ixx"),
            ".m": "objective-c",
            ".mm": "objective-cpp",
            ".cu": "cuda-cpp",
            ".cuh": "cuda-cpp",
        },
        root_markers=(
            "compile_commands.json",
            "compile_flags.txt",
            ".clangd",
            "CMakeLists.txt",
            "meson.build",
        ),
        unit_markers={"compile_commands.json": (), "build/compile_commands.json": ()},
    ),
    LanguageEntry(
        language="java",
        candidates=(
            server(
                "jdtls", brew="jdtls", pacman="jdtls", other="unpack Eclipse JDT LS; put jdtls on the PATH"
            ),
        ),
        extensions=all_as("java", ".java"),
        root_markers=("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "build.xml"),
    ),
    LanguageEntry(
        language="csharp",
        candidates=(
            server("csharp-ls", dotnet="csharp-ls"),
            server("OmniSharp", "-lsp", other="unpack a release of OmniSharp and put it on the PATH"),
            server("omnisharp", "-lsp", brew="omnisharp/omnisharp-roslyn/omnisharp-mono"),
        ),
        extensions={".cs": "csharp", ".csx": "csharp"},
        root_markers=("*.sln", "*.slnx", "*.csproj", "global.json"),
    ),
    LanguageEntry(
        language="zig",
        candidates=(
            server(
                "zls", brew="zls", pacman="zls", apk="zls", other="unpack the release of zls for your Zig"
            ),
        ),
        extensions={".zig": "zig", ".zon": "zig"},
        root_markers=("build.zig", "build.zig.zon"),
    ),
    LanguageEntry(
        language="kotlin",
        candidates=(
            server("kotlin-lsp", "--stdio", brew="JetBrains/utils/kotlin-lsp"),
            server(
                "kotlin-language-server",
                brew="kotlin-language-server",
                other="unpack a release of kotlin-language-server and put its bin folder on the PATH",
            ),
        ),
        extensions=all_as("kotlin", ".kt", ".kts"),
        root_markers=("settings.gradle.kts", "build.gradle.kts", "build.gradle", "pom.xml"),
    ),
    LanguageEntry(
        language="swift",
        candidates=(
            server("sourcekit-lsp", other="install a Swift toolchain: sourcekit-lsp is part of each"),
        ),
        extensions=all_as("swift", ".swift"),
        root_markers=("Package.swift", "*.xcodeproj", "buildServer.json"),
    ),
)
