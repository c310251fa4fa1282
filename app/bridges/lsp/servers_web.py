"""Languages of the web and of configuration, and their servers.

Owns: this part of the table. Never: how a server behaves once it runs.
"""

from __future__ import annotations

from app.bridges.lsp.language_entry import LanguageEntry, all_as, server

LANGUAGES = (
    LanguageEntry(
        language="typescript",
        candidates=(
            server("typescript-language-server", "--stdio", npm="typescript@5 typescript-language-server"),
            server("tsc", "--lsp", "--stdio", npm="typescript@7"),
            server("tsgo", "--lsp", "--stdio", npm="@typescript/native-preview"),
        ),
        extensions={
            ".ts": "typescript",
            ".mts": "typescript",
            ".cts": "typescript",
            ".tsx": "typescriptreact",
            ".js": "javascript",
            ".mjs": "javascript",
            ".cjs": "javascript",
            ".jsx": "javascriptreact",
        },
        root_markers=("tsconfig.json", "jsconfig.json", "package.json"),
        unit_markers={"tsconfig.json": (), "jsconfig.json": ()},
    ),
    LanguageEntry(
        language="svelte",
        candidates=(server("svelteserver", "--stdio", npm="svelte-language-server"),),
        extensions=all_as("svelte", ".svelte"),
        root_markers=("svelte.config.js", "svelte.config.ts", "package.json"),
    ),
    LanguageEntry(
        language="vue",
        candidates=(
            server(
                "vue-language-server",
                "--stdio",
                npm="@vue/language-server typescript@5 typescript-language-server",
            ),
        ),
        extensions=all_as("vue", ".vue"),
        root_markers=("vue.config.js", "vite.config.ts", "vite.config.js", "package.json"),
    ),
    LanguageEntry(
        language="css",
        candidates=(server("vscode-css-language-server", "--stdio", npm="vscode-langservers-extracted"),),
        extensions={".css": "css", ".scss": "scss", ".less": "less"},
        root_markers=("package.json",),
    ),
    LanguageEntry(
        language="html",
        candidates=(server("vscode-html-language-server", "--stdio", npm="vscode-langservers-extracted"),),
        extensions=all_as("html", ".html", ".htm", ".xhtml"),
        root_markers=("package.json",),
    ),
    LanguageEntry(
        language="json",
        candidates=(server("vscode-json-language-server", "--stdio", npm="vscode-langservers-extracted"),),
        extensions={".json": "json", ".jsonc": "jsonc", ".webmanifest": "json"},
        file_names={
            **all_as("jsonc", "tsconfig.json", "jsconfig.json", ".eslintrc", ".babelrc", "devcontainer.json"),
            ".prettierrc": "json",
            "composer.lock": "json",
        },
        root_markers=("package.json",),
    ),
    LanguageEntry(
        language="yaml",
        candidates=(server("yaml-language-server", "--stdio", npm="yaml-language-server"),),
        extensions=all_as("yaml", ".yaml", ".yml"),
        file_names=all_as("yaml", ".clang-format", ".clang-tidy", ".clangd"),
    ),
    LanguageEntry(
        language="dockerfile",
        candidates=(
            server("docker-langserver", "--stdio", npm="dockerfile-language-server-nodejs"),
            server(
                "docker-language-server",
                "start",
                "--stdio",
                go="github.com/docker/docker-language-server/cmd/docker-language-server",
            ),
        ),
        extensions=all_as("dockerfile", ".dockerfile", ".containerfile"),
        file_names=all_as("dockerfile", "Dockerfile", "Containerfile", "Dockerfile.", "Containerfile."),
        root_markers=("Dockerfile", "Containerfile"),
    ),
    LanguageEntry(
        language="terraform",
        candidates=(
            server(
                "terraform-ls",
                "serve",
                brew="hashicorp/tap/terraform-ls",
                go="github.com/hashicorp/terraform-ls",
            ),
            server("tofu-ls", "serve", go="github.com/opentofu/tofu-ls"),
        ),
        extensions={".tf": "terraform", ".tfvars": "terraform-vars"},
        root_markers=(".terraform", ".terraform.lock.hcl"),
    ),
)
