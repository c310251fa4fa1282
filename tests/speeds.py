"""At which speed each test runs: the one home of that rule.

`make test` runs every test that is not named here: a complete check of a change, in a few minutes.
`make test-all`, which the continuous integration runs, adds `SLOW`: kills, soaks, races, attacks, fuzzing,
every language server and debug adapter. `make test-nightly` runs `NIGHTLY`, and `REPEATED` with more rounds.
A name is the beginning of a test's id: a folder, a file, one test, or one with the first of its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable

SLOW: tuple[str, ...] = (
    "tests/attacks/test_attacks.py",
    "tests/e2e/test_kill.py",
    "tests/harness/delegation/test_tree.py",
    "tests/harness/compaction/test_soak.py",
    "tests/e2e/test_kill_workflow.py",
    "tests/e2e/test_kill_idempotency.py",
    "tests/e2e/test_question_restart.py",
    "tests/bridges/dap/test_lifecycle.py",
    "tests/tools/code/test_every_server.py",
    "tests/bridges/lsp/test_freshness.py",
    "tests/harness/checkpoints/test_rollback_model.py",
    "tests/growth/test_growth.py",
    "tests/e2e/test_bench.py",
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
    "tests/bridges/lsp/test_failed_builds.py",
    "tests/bridges/lsp/test_old_headers.py",
    "tests/bridges/lsp/test_hostile.py",
    "tests/bridges/dap/test_hostile.py",
    "tests/bridges/plugins/test_hostile.py",
    "tests/tools/debug/test_matrix.py",
    "tests/tools/debug/test_actions.py",
    "tests/tools/debug/test_native.py",
    "tests/tools/debug/test_one_call.py",
    "tests/tools/debug/test_hang.py",
    "tests/tools/debug/test_ruby_stories.py",
    "tests/tools/debug/test_rust_values.py",
    "tests/tools/debug/test_project_tests.py",
    "tests/tools/debug/test_exceptions.py",
    "tests/tools/debug/test_small_actions.py",
    "tests/tools/debug/test_node_stories.py",
    "tests/tools/debug/test_caged.py",
    "tests/tools/debug/test_caged_adapters.py",
    "tests/tools/debug/test_tiers.py",
    "tests/tools/code/test_loose_files.py",
    "tests/tools/code/test_monorepos.py",
    "tests/tools/code/test_beyond_the_build.py",
    "tests/tools/code/test_check_changes.py",
    "tests/tools/code/test_svelte_and_php.py",
    "tests/tools/code/test_hierarchies.py",
    "tests/tools/code/test_generated_monorepos.py",
    "tests/tools/code/test_masked.py",
    "tests/tools/code/test_servers.py",
    "tests/tools/code/test_caged.py",
    "tests/tools/test_fuzz.py",
    "tests/storage/test_crash.py",
    "tests/e2e/test_forms_page.py",
    "tests/e2e/test_history_page.py",
    "tests/e2e/test_page_width.py",
    "tests/e2e/test_workflows_page.py",
    "tests/e2e/test_bound_issue_page.py",
    "tests/e2e/test_waiting_page.py",
    "tests/e2e/test_issue_story.py",
    "tests/e2e/test_stopping.py",
    "tests/cli/test_trust_restarts.py",
    "tests/cli/test_left_behind.py",
    "tests/e2e/test_consent_restart.py",
    "tests/cli/test_project_move.py",
    "tests/cli/test_scarce.py",
    "tests/cli/test_streams.py",
    "tests/cli/test_runs.py",
    "tests/cli/test_answers.py",
    "tests/cli/test_token_from_shell.py",
    "tests/e2e/test_killed_calls.py",
    "tests/bridges/lsp/test_ready.py",
    "tests/bridges/lsp/test_other_files.py",
    "tests/bridges/lsp/test_lifecycle.py",
    "tests/bridges/dap/test_stops.py",
    "tests/bridges/dap/test_sessions.py",
    "tests/bridges/dap/test_launching.py",
    "tests/bridges/dap/test_breakpoints.py",
    "tests/fakes/test_hostile_language_server.py",
    "tests/harness/checkpoints/test_files.py",
    "tests/harness/compaction/test_estimates.py::test_ten_thousand_messages_are_compacted_without_holding_the_event_loop",
)
"""They begin in this order, the longest first, so that the processes which share the tests end together."""

NIGHTLY: tuple[str, ...] = (
    # By day root attacks the tier full, and the ordinary user all three: the lower ones with a third of the
    # attacks, marked in the file. The Java adapter takes half as long as all others together.
    "tests/attacks/test_attacks.py::test_an_attack_comes_to_nothing[root-landlock-",
    "tests/attacks/test_attacks.py::test_an_attack_comes_to_nothing[root-none-",
    "tests/tools/debug/test_matrix.py::test_each_action_does_what_it_did[java]",
    "tests/tools/debug/test_matrix.py::test_each_kind_of_breakpoint_stops_as_it_did[java]",
    "tests/tools/code/test_generated_monorepos.py::test_no_rename_of_forty_leaves_an_error",
    # By day the matrix tries each of these adapters; their stories follow at night.
    "tests/tools/debug/test_native.py::test_a_hit_count_means_the_same_and_log_points_do_not_stop",
    "tests/tools/debug/test_native.py::test_a_condition_that_is_none_is_reported",
    "tests/tools/debug/test_native.py::test_a_process_is_attached_to_paused_and_left_running",
    "tests/tools/debug/test_native.py::test_a_pause_right_after_the_program_goes_on_stops_it",
    "tests/tools/debug/test_native.py::test_nothing_is_left_of_programs_that_do_not_want_to_end",
    "tests/tools/debug/test_native.py::test_breakpoints_bind_in_a_project_behind_a_link",
    "tests/tools/debug/test_bun_stories.py",
    "tests/tools/debug/test_hostile_answers.py",
    "tests/tools/debug/test_one_call_ends.py",
    # By day there are the monorepos of each language, a kill, and few clients of a stream.
    "tests/tools/code/test_beyond_the_build.py::test_packages_that_know_it_through_another_are_found_and_renamed[rust]",
    "tests/tools/code/test_beyond_the_build.py::test_a_rename_is_refused_for_rust_code_of_a_feature_that_is_off",
    "tests/tools/code/test_folder_interrupted.py",
    "tests/harness/test_monorepo_renames.py",
    "tests/e2e/test_kill_tree.py",
    "tests/e2e/test_question_restart.py::test_killed_at_any_moment_no_answer_is_lost_and_each_call_has_one_result",
    "tests/e2e/test_fan_out.py",
    "tests/e2e/test_page_network.py",
    "tests/growth/test_growth.py::test_four_times_the_text_takes_less_than_eight_times_the_cpu[readers]",
)

REPEATED: tuple[str, ...] = (
    "tests/e2e/test_kill.py",
    "tests/harness/delegation/test_tree.py",
    "tests/e2e/test_kill_workflow.py",
    "tests/e2e/test_kill_idempotency.py",
    "tests/bridges/dap/test_lifecycle.py",
    "tests/growth/test_growth.py",
    "tests/harness/compaction/test_soak.py",
    "tests/harness/checkpoints/test_rollback_model.py",
    "tests/workspace/test_path_races.py",
    "tests/bridges/sandbox/test_mount_races.py",
    "tests/bridges/lsp/test_kills.py",
    "tests/tools/test_fuzz.py",
    "tests/api/test_document_fuzz.py",
    "tests/api/test_document_fuzz_others.py",
)
"""`make test-nightly` runs these again, with all their rounds (`tests/driver/rounds.py`)."""

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
        if test == name or (test.startswith(name) and (name[-1] in "/[-" or test[len(name)] in ":[")):
            return place
    return None
