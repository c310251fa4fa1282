"""Paths that lead out by their text, from tools that take a path."""

from __future__ import annotations

from tests.attacks.case import Case, reading, tool
from tests.attacks.place import NEIGHBOUR

AREA = "paths"
GOOD = {"path": "src/a.txt"}

READS = {
    "above-the-root": "../outside/secret.txt",
    "above-in-the-middle": "src/../../outside/secret.txt",
    "above-many": "src/" + "../" * 40 + "etc/passwd",
    "absolute": "<outside>/secret.txt",
    "absolute-system": "/etc/passwd",
    "absolute-double-slash": "//etc/passwd",
    "absolute-with-root-prefix": "<project>/../outside/secret.txt",
    "absolute-sibling-with-same-beginning": "<project>-x/../outside/secret.txt",
    "daemon-data": "<data>/kept/secret.txt",
    "daemon-token": "<data>/token",
    "daemon-database": "<data>/kaged.db",
    "daemon-config": "<config>",
    "daemon-log": "<log>",
    "daemon-environment": "/proc/<daemon_pid>/environ",
    "own-environment": "/proc/self/environ",
    "through-proc-root": "/proc/self/root<outside>/secret.txt",
    "through-proc-cwd": "/proc/self/cwd/etc/passwd",
    "through-a-descriptor": "/dev/fd/3",
    "home-by-tilde": "~/.ssh/id_ed25519",
    "home-of-a-user": "~root/.ssh/id_ed25519",
    "home-by-variable": "$HOME/.ssh/id_ed25519",
    "home-absolute": "<home>/.ssh/id_ed25519",
    "other-project": "<other>/src/a.txt",
    "other-project-relative": "../other/src/a.txt",
    "nul-then-good": "../outside/secret.txt\0src/a.txt",
    "good-then-nul": "src/a.txt\0../../outside/secret.txt",
    "backslashes": "..\\outside\\secret.txt",
    "file-uri": "file://<outside>/secret.txt",
    "percent-encoded": "%2e%2e/outside/secret.txt",
    "double-encoded": "..%252foutside/secret.txt",
    "overlong-dots": "．．/outside/secret.txt",
    "surrogate": "src/\udcff/../../outside/secret.txt",
    "very-long": "a/" * 5000 + "../" * 5000 + "outside/secret.txt",
    "newline": "../outside/secret.txt\n",
    "empty": "",
    "ungranted-folder": "secret/key.txt",
    "denied-within-granted": "src/private/hidden.txt",
    "denied-with-dots": "src/./sub/../private/hidden.txt",
    "denied-with-slashes": "src//private///hidden.txt",
    "granted-as-a-beginning": "src-of-another/../secret/key.txt",
    "project-file": ".kaged/memory.txt",
    "named-pipe": "src/pipe",
}

WRITES = {
    "write-above": "../outside/made.txt",
    "write-absolute": "<outside>/made.txt",
    "write-data": "<data>/made.txt",
    "write-home": "<home>/.bashrc",
    "write-denied": "src/private/made.txt",
    "write-ungranted": "docs/made.txt",
    "write-hook": ".git/hooks/pre-commit",
    "write-nested-hook": "src/.git/hooks/pre-commit",
    "write-protected-new": "src/.vscode/tasks.json",
    "write-protected-case": "src/.GIT/config",
    "write-protected-compatible": "src/.ｇit/config",
    "write-protected-invisible": "src/.g\u200bit/config",
    "write-protected-trailing-dot": "src/.git./config",
    "write-protected-stream": "src/.git::$INDEX_ALLOCATION/config",
    "write-protected-short-name": "src/GIT~1/config",
    "write-project-file": ".kaged/project.yaml",
    "write-startup-file": "src/.bashrc",
    "write-envrc": "src/.envrc",
    "write-git-modules": "src/.gitmodules",
}

CASES: tuple[Case, ...] = (
    *(reading(AREA, name, path) for name, path in READS.items()),
    *(
        tool(
            AREA,
            name,
            "writer",
            "file.create",
            {"path": path, "content": "x"},
            {"path": f"src/made/{name}.txt", "content": "x"},
        )
        for name, path in WRITES.items()
    ),
    tool(
        AREA,
        "list-outside",
        "reader",
        "file.read",
        {"path": ".."},
        {"path": "src/sub"},
        shows="b.txt",
    ),
    tool(
        AREA,
        "glob-above",
        "reader",
        "search.glob",
        {"pattern": "../**/*.txt"},
        {"pattern": "**/a.txt"},
        shows="a.txt",
    ),
    tool(
        AREA,
        "glob-absolute",
        "reader",
        "search.glob",
        {"pattern": "<outside>/*"},
        {"pattern": "src/*.txt"},
        shows="a.txt",
    ),
    tool(
        AREA,
        "glob-in-outside",
        "reader",
        "search.glob",
        {"pattern": "*", "path": "../outside"},
        {"pattern": "*.txt", "path": "src"},
        shows="a.txt",
    ),
    tool(
        AREA,
        "second-name-reads",
        "reader",
        "read",
        {"path": "../outside/secret.txt"},
        GOOD,
        shows=NEIGHBOUR,
    ),
)
