"""At which speed each test runs: the one home of that rule.

`make test` runs what is not named here: all that shows a change right or wrong, in a few minutes.
`make test-all`, which the continuous integration runs, runs `SLOW` as well: kills, soaks, races, attacks,
fuzzing, every language server and debug adapter. `make test-nightly` runs `NIGHTLY` alone. A name is the
beginning of a test's id: a folder, a file or one test.
"""

from __future__ import annotations

from collections.abc import Iterable

SLOW: tuple[str, ...] = (
    "tests/attacks/test_attacks.py",
    "tests/e2e/test_kill.py",
    "tests/harness/delegation/test_tree.py",
    "tests/harness/compaction/test_soak.py",
    "tests/e2e/test_kill_tree.py",
    "tests/e2e/test_kill_workflow.py",
    "tests/e2e/test_kill_idempotency.py",
    "tests/bridges/dap/test_lifecycle.py",
    "tests/tools/code/test_every_server.py",
    "tests/bridges/lsp/test_freshness.py",
    "tests/harness/checkpoints/test_rollback_model.py",
    "tests/growth/test_growth.py",
    "tests/e2e/test_bench.py",
    "tests/e2e/test_fan_out.py",
    "tests/e2e/test_upload_memory.py",
    "tests/api/test_document_fuzz.py",
    "tests/api/test_document_fuzz_others.py",
    "tests/workspace/test_path_races.py",
    "tests/workspace/test_path_speed.py",
    "tests/bridges/sandbox/test_kill.py",
    "tests/bridges/sandbox/test_mount_races.py",
    "tests/bridges/sandbox/test_speed.py",
    "tests/bridges/sandbox/test_seccomp.py",
    "tests/bridges/network/test_proxy_speed.py",
    "tests/bridges/lsp/test_kills.py",
    "tests/bridges/lsp/test_old_headers.py",
    "tests/bridges/lsp/test_hostile.py",
    "tests/bridges/dap/test_hostile.py",
    "tests/bridges/plugins/test_hostile.py",
    "tests/tools/debug/test_matrix.py",
    "tests/tools/debug/test_actions.py",
    "tests/tools/debug/test_native.py",
    "tests/tools/debug/test_bun_stories.py",
    "tests/tools/debug/test_node_stories.py",
    "tests/tools/debug/test_caged.py",
    "tests/tools/debug/test_caged_adapters.py",
    "tests/tools/debug/test_hostile_answers.py",
    "tests/tools/code/test_loose_files.py",
    "tests/tools/code/test_masked.py",
    "tests/tools/code/test_servers.py",
    "tests/tools/code/test_caged.py",
    "tests/tools/test_fuzz.py",
    "tests/storage/test_crash.py",
    "tests/harness/compaction/test_estimates.py::test_ten_thousand_messages_are_compacted_without_holding_the_event_loop",
)
"""They begin in this order, the longest first, so that the processes which share the tests end together."""

NIGHTLY: tuple[str, ...] = ()

ONLY_NIGHTLY: dict[str, str] = {}
"""The requirements that nothing but a nightly test shows, each with the reason."""

FAST = "not slow and not nightly"
"""What `make test` gives to pytest as `-m`; `make test-all` gives `not nightly`."""


def speed(test: str) -> str | None:
    """Return the marker of a test, or of a file of tests, by its id: `slow`, `nightly` or None."""
    for marker, names in (("nightly", NIGHTLY), ("slow", SLOW)):
        if begins(test, names) is not None:
            return marker
    return None


def begins(test: str, names: Iterable[str]) -> int | None:
    """Return the place of the first of the names that a test's id begins with, None where there is none."""
    for place, name in enumerate(names):
        if test == name or (test.startswith(name) and (name[-1] in "/[" or test[len(name)] in ":[")):
            return place
    return None
