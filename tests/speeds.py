"""At which speed each test runs: the one home of that rule.

`make test` runs every test that is not named here: a complete check of a change, in five minutes.
`make test-all`, which the continuous integration runs, adds `SLOW`: kills, soaks, races, attacks, fuzzing,
every language server and debug adapter, and each file that takes more than some five seconds of a core.
`make test-nightly` runs `NIGHTLY`, what `CASES_BY_DAY` leaves out, and `REPEATED` with more rounds.
A name is the beginning of a test's id: a folder, a file, one test, or one with the first of its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

SLOW: tuple[str, ...] = (
    "tests/attacks/test_attacks.py",
    "tests/harness/workspaces/",
    "tests/harness/attempts/",
    "tests/e2e/test_kill_attempts.py",
    "tests/cli/test_workspace.py",
    "tests/cli/test_attempts.py",
    "tests/e2e/test_replicas.py",
    "tests/e2e/test_replicas_forwarding.py",
    "tests/api/test_forwarding.py",
    "tests/storage/test_leases.py",
    "tests/bridges/test_guardian_deadline.py",
    "tests/e2e/test_kill.py",
    "tests/e2e/test_git_kills.py",
    "tests/bridges/dap/test_lifecycle.py",
    "tests/cli/test_trust.py",
    "tests/cli/test_editor.py",
    "tests/cli/test_editor_permissions.py",
    "tests/cli/test_editor_failures.py",
    "tests/cli/test_editor_sdk.py",
    "tests/bridges/lsp/test_ready.py",
    "tests/cli/test_local_commands.py",
    "tests/harness/test_caged_root_agent.py",
    "tests/tools/code/test_every_server.py",
    "tests/tools/code/test_protocol_types.py::test_every_message_to_basedpyright",
    "tests/bridges/mcp/",
    "tests/harness/servers/",
    "tests/clients/",
    "tests/cli/test_mcp_servers.py",
    "tests/cli/test_mcp_login.py",
    "tests/e2e/test_mcp_sign_in.py",
    "tests/cli/test_mcp.py",
    "tests/api/mcp/test_npm_clients.py",
    "tests/api/mcp/test_conformance.py",
    "tests/tools/debug/test_matrix.py",
    "tests/tools/debug/test_actions.py",
    "tests/cli/test_serve.py",
    "tests/e2e/test_kill_idempotency.py",
    "tests/cli/test_issues.py",
    "tests/workspace/test_path_races.py",
    "tests/cli/test_conversation.py",
    "tests/bridges/lsp/test_other_files.py",
    "tests/growth/test_growth.py",
    "tests/cli/test_scarce.py",
    "tests/tools/code/test_monorepos.py",
    "tests/bridges/lsp/test_freshness.py",
    "tests/tools/debug/test_exceptions.py",
    "tests/tools/debug/test_one_call.py",
    "tests/tools/debug/test_tiers.py",
    "tests/tools/code/test_rename.py",
    "tests/migrations/test_every_earlier_schema.py",
    "tests/storage/test_backup.py",
    "tests/e2e/test_kill_workflow.py",
    "tests/harness/changes/",
    "tests/cli/test_changes.py",
    "tests/e2e/test_plan_restart.py",
    "tests/e2e/test_composer_page.py",
    "tests/e2e/test_modes_page.py",
    "tests/e2e/test_hooks_page.py",
    "tests/e2e/test_changes_page.py",
    "tests/e2e/test_reverts_page.py",
    "tests/e2e/test_workspace_page.py",
    "tests/e2e/test_interop_editors.py",
    "tests/e2e/test_interop_mcp.py",
    "tests/e2e/test_documented_examples.py",
    "tests/e2e/test_documented_web.py",
    "tests/e2e/test_recipes.py",
    "tests/e2e/test_recipes_ci.py",
    "tests/e2e/test_recipes_nginx.py",
    "tests/e2e/test_wheel.py",
    "tests/cli/test_status.py",
    "tests/cli/test_logs.py",
    "tests/cli/test_completion.py",
    "tests/e2e/test_one_address.py",
    "tests/e2e/test_base_path_page.py",
    "tests/cli/test_base_path.py",
    "tests/cli/test_answer_all.py",
    "tests/cli/test_costs.py",
    "tests/cli/test_editor_hooks.py",
    "tests/cli/test_modes.py",
    "tests/bridges/dap/test_stops.py",
    "tests/tools/code/test_diagnostics.py",
    "tests/bridges/lsp/test_lifecycle.py",
    "tests/harness/checkpoints/test_inspection_and_fork.py",
    "tests/tools/debug/test_stories.py",
    "tests/e2e/test_page_content.py",
    "tests/e2e/test_page_people.py",
    "tests/e2e/test_page_keyboard.py",
    "tests/tools/code/test_loose_files.py",
    "tests/tools/code/test_rename_check.py",
    "tests/bridges/dap/test_launching.py",
    "tests/cli/test_streams.py",
    "tests/bridges/dap/test_sessions.py",
    "tests/bridges/dap/test_hostile.py",
    "tests/bridges/plugins/test_hostile.py",
    "tests/e2e/test_issue_story.py",
    "tests/tools/test_protected_paths.py",
    "tests/e2e/test_questions_page.py",
    "tests/bridges/dap/test_connection.py",
    "tests/tools/debug/test_caged_adapters.py",
    "tests/tools/code/test_generated_monorepos.py",
    "tests/cli/test_project_move.py",
    "tests/harness/test_wires_in_the_loop.py",
    "tests/cli/test_answers.py",
    "tests/tools/debug/test_project_tests.py",
    "tests/tools/code/test_servers.py",
    "tests/harness/issues/test_machine.py",
    "tests/cli/test_token_from_shell.py",
    "tests/harness/hooks/test_hostile_in_session.py",
    "tests/harness/hooks/test_hostile_hooks.py",
    "tests/harness/hooks/test_documented_hooks.py",
    "tests/cli/test_hooks.py",
    "tests/cli/test_runs.py",
    "tests/harness/test_busy_daemon.py",
    "tests/tools/code/test_masked.py",
    "tests/e2e/test_forms_page.py",
    "tests/e2e/test_history_page.py",
    "tests/harness/test_transfer.py",
    "tests/e2e/test_page_views.py",
    "tests/e2e/test_reference_page.py::test_every_operation_is_shown_and_nothing_is_too_wide",
    "tests/cli/test_tokens.py",
    "tests/bridges/lsp/test_failed_builds.py",
    "tests/e2e/test_stopping.py",
    "tests/container/test_layout.py",
    "tests/bridges/sandbox/test_mount_races.py",
    "tests/e2e/test_bound_issue_page.py",
    "tests/harness/issues/test_search.py",
    "tests/tools/debug/test_caged.py",
    "tests/harness/interactions/test_waiting_sessions.py",
    "tests/bridges/test_peer.py",
    "tests/e2e/test_workflows_page.py",
    "tests/tools/test_fuzz.py",
    "tests/tools/debug/test_hang.py",
    "tests/e2e/test_waiting_page.py",
    "tests/bridges/dap/test_breakpoints.py",
    "tests/cli/test_wrong_input.py",
    "tests/harness/checkpoints/test_rollback_model.py",
    "tests/e2e/test_issues_page.py",
    "tests/workspace/test_path_model.py",
    "tests/bridges/sandbox/test_holder.py",
    "tests/e2e/test_consent_restart.py",
    "tests/api/test_close_codes.py",
    "tests/cli/test_left_behind.py",
    "tests/harness/dsl/test_fuzz.py",
    "tests/bridges/test_guardian.py",
    "tests/tools/debug/test_native.py",
    "tests/e2e/test_readme.py",
    "tests/harness/compaction/test_summary_paths.py",
    "tests/bridges/dap/test_peer.py",
    "tests/bridges/test_terminals.py",
    "tests/tools/code/test_beyond_the_build.py",
    "tests/harness/hooks/test_session_start.py",
    "tests/harness/workflows/test_inputs.py",
    "tests/storage/test_crash.py",
    "tests/e2e/test_bench.py",
    "tests/bridges/lsp/test_kills.py",
    "tests/harness/hooks/test_compaction_hooks.py",
    "tests/harness/test_session_machine.py",
    "tests/tools/planning/test_issue.py",
    "tests/tools/test_slow_files.py",
    "tests/tools/code/test_svelte_and_php.py",
    "tests/tools/code/test_vue.py",
    "tests/tools/code/test_vue_3.py",
    "tests/tools/code/test_sql.py",
    "tests/tools/debug/test_why_of_node_tests.py",
    "tests/tools/debug/test_dead_programs.py",
    "tests/tools/debug/test_each_language.py",
    "tests/tools/debug/test_runner_commands.py::test_it_is_what_the_runner_reports",
    "tests/tools/debug/test_runner_commands.py::test_modules_of_python_run_in_the_folder_of_the_call",
    "tests/e2e/test_page_failures.py",
    "tests/tools/code/test_check_changes.py",
    "tests/harness/issues/test_reminder.py",
    "tests/api/test_stream_fanout.py",
    "tests/harness/compaction/test_reactive.py",
    "tests/harness/test_content_gates.py",
    "tests/contracts/test_stored_rows.py",
    "tests/harness/compaction/test_operators.py",
    "tests/observability/test_structured_log.py",
    "tests/harness/checkpoints/test_source_notes.py",
    "tests/observability/test_traces.py",
    "tests/harness/checkpoints/test_files.py",
    "tests/harness/compaction/test_soak.py",
    "tests/bridges/sandbox/test_mounts.py",
    "tests/e2e/test_trust_page.py",
    "tests/harness/workflows/test_assignment.py",
    "tests/e2e/test_subagents_page.py",
    "tests/tools/code/test_hierarchies.py",
    "tests/bridges/lsp/test_hostile.py",
    "tests/harness/compaction/test_delegate.py",
    "tests/harness/delegation/test_hooks.py",
    "tests/harness/test_pictures.py",
    "tests/cli/test_questions.py",
    "tests/tools/test_project_cage.py",
    "tests/api/test_slow_reads.py",
    "tests/harness/hooks/test_declared_plugins.py",
    "tests/cli/test_doctor_cages.py",
    "tests/harness/checkpoints/test_rollback.py",
    "tests/fakes/test_hostile_language_server.py",
    "tests/api/test_interactions.py",
    "tests/harness/test_pause_and_resume.py",
    "tests/e2e/test_question_restart.py",
    "tests/harness/test_commands_at_once.py",
    "tests/tools/debug/test_small_actions.py",
    "tests/tools/code/test_hostile_answers.py",
    "tests/e2e/test_killed_calls.py",
    "tests/harness/test_recovery.py",
    "tests/harness/interactions/test_consent_kept.py",
    "tests/harness/workflows/test_workflow_tools.py",
    "tests/harness/compaction/test_summary_kept.py",
    "tests/e2e/test_upload_memory.py",
    "tests/cli/test_settings_not_in_effect.py",
    "tests/harness/interactions/test_ends.py",
    "tests/harness/test_project_trust.py",
    "tests/harness/test_cage_lifecycle.py",
    "tests/tools/code/test_caged.py",
    "tests/api/test_document_fuzz.py",
    "tests/harness/delegation/test_tree.py",
    "tests/harness/compaction/test_estimates.py::test_ten_thousand_messages_are_compacted_without_holding_the_event_loop",
    "tests/bridges/lsp/test_old_headers.py",
    "tests/tools/debug/test_rust_values.py",
    "tests/api/test_document_fuzz_others.py",
    "tests/bridges/sandbox/test_seccomp.py",
    "tests/tools/debug/test_node_stories.py",
    "tests/tools/debug/test_ruby_stories.py",
    "tests/bridges/network/test_proxy_speed.py",
    "tests/bridges/sandbox/test_kill.py",
    "tests/bridges/sandbox/test_speed.py",
    "tests/workspace/test_path_speed.py",
    "tests/cli/test_trust_restarts.py",
    "tests/tools/debug/test_why_of_tests.py",
    "tests/tools/debug/test_short_answers.py",
    "tests/harness/test_debug_runs.py",
    "tests/architecture/test_machine.py",
    "tests/tools/code/test_unloaded_crates.py",
    "tests/harness/test_history.py",
    "tests/harness/guidance/test_in_a_run.py",
    "tests/api/test_bad_input.py",
    "tests/storage/test_file_failures.py",
    "tests/tools/code/test_reading.py",
    "tests/tools/code/test_whole_project.py",
    "tests/harness/compaction/test_summarize.py",
    "tests/harness/test_budgets.py",
    "tests/tools/test_concurrency.py",
    "tests/harness/dsl/test_widening.py",
    "tests/bridges/plugins/test_supervision.py",
    "tests/bridges/lsp/test_whole_project.py",
    "tests/harness/workflows/test_outage.py",
    "tests/api/test_keyed_effects.py",
    "tests/api/test_abuse.py",
    "tests/tools/test_caged_search.py",
    "tests/harness/test_after_edit.py",
    "tests/harness/test_queue_and_steer.py",
    "tests/api/test_issue_events.py",
    "tests/api/test_uploads.py",
    "tests/harness/test_sent_request.py",
    "tests/harness/delegation/test_waiting.py",
    "tests/harness/test_retention.py",
    "tests/bridges/sandbox/test_limits.py",
    "tests/harness/hooks/test_session_idle.py",
    "tests/harness/workflows/test_queue.py",
    "tests/harness/test_pipeline.py",
    "tests/observability/test_span_export.py",
    "tests/harness/test_unretrieved.py",
    "tests/harness/hooks/test_injection.py",
    "tests/tools/test_after_edit.py",
    "tests/api/test_issues.py",
    "tests/tools/test_caged_commands.py",
    "tests/harness/test_tool_limits.py",
    "tests/harness/interactions/test_forms.py",
    "tests/tools/test_file_read_kinds.py",
    "tests/harness/issues/test_checklist_writers.py",
    "tests/harness/delegation/test_background.py",
    "tests/harness/hooks/test_plugin_tools.py",
    "tests/storage/test_writer.py",
    "tests/e2e/test_web_page.py::test_the_page_comes_back_by_itself_after_the_daemon_was_killed_in_a_run",
    "tests/e2e/test_web_page.py::test_a_plugin_that_is_disabled_is_shown_with_the_reason_and_enabled_again",
    "tests/e2e/test_web_page.py::test_a_project_file_that_broke_while_the_daemon_runs_is_reported_on_the_page",
    "tests/e2e/test_web_page.py::test_a_reload_in_the_middle_of_an_answer_misses_nothing",
    "tests/cli/test_first_use.py::test_check_reports_a_model_whose_provider_has_no_key",
    "tests/harness/test_hot_reload_in_sessions.py",
    "tests/harness/checkpoints/test_prompt_edits.py",
    "tests/harness/compaction/test_in_the_loop.py",
    "tests/observability/test_stored_log.py",
    "tests/storage/test_open.py",
    "tests/harness/workflows/test_schedule.py",
    "tests/harness/workflows/test_timeout.py",
    "tests/bridges/lsp/test_caged_servers.py",
    "tests/harness/compaction/test_interrupted.py",
    "tests/harness/test_queue_changes.py",
    "tests/tools/web/test_fetch_hostile.py",
    "tests/api/mcp/test_consent.py",
    "tests/harness/interactions/test_plans.py",
    "tests/bridges/mcp/test_connections.py",
    "tests/harness/servers/test_server_tools.py",
    "tests/api/chat/test_ends.py",
    "tests/bridges/mcp/test_hostile.py",
    "tests/api/mcp/test_hostile.py",
    "tests/harness/test_tool_loading.py",
    "tests/deployment/test_stop.py",
)
"""They begin in this order, the longest first, so that the processes which share the tests end together."""

NIGHTLY: tuple[str, ...] = (
    # By day the ordinary user tries every attack on the tier full, and a third of them, marked in the file,
    # on the lower ones. Root tries them at night.
    "tests/attacks/test_attacks.py::test_an_attack_comes_to_nothing[root-",
    # By day `test_replicas.py` ends an owner once in each way.
    "tests/e2e/test_replicas_kills.py",
    # By day `tests/harness/workspaces` begins again where a kill has left each step.
    "tests/e2e/test_kill_workspaces.py",
    # By day `tests/harness/workspaces/test_takeover.py` does so for each of them once.
    "tests/e2e/test_replicas_workspaces.py",
    "tests/e2e/test_kill_locks.py",
    # By day the matrix tries the actions of four adapters. The others, and kinds of breakpoints but for
    # Python, follow at night.
    # Generators of clients are installed in no other run.
    "tests/api/test_client_generators.py",
    # LiteLLM's proxy is installed in no other run, and takes half a minute to start.
    "tests/harness/providers/vendors/test_independent_server.py",
    "tests/tools/debug/test_native.py::test_a_hit_count_means_the_same_and_log_points_do_not_stop",
    "tests/tools/debug/test_native.py::test_a_condition_that_is_none_is_reported",
    "tests/tools/debug/test_native.py::test_a_process_is_attached_to_paused_and_left_running",
    "tests/tools/debug/test_native.py::test_a_pause_right_after_the_program_goes_on_stops_it",
    "tests/tools/debug/test_native.py::test_nothing_is_left_of_programs_that_do_not_want_to_end",
    "tests/tools/debug/test_native.py::test_breakpoints_bind_in_a_project_behind_a_link",
    "tests/tools/debug/test_native.py::test_programs_in_other_languages_stop_at_their_beginning",
    "tests/tools/debug/test_bun_stories.py",
    "tests/tools/debug/test_hostile_answers.py",
    "tests/tools/debug/test_one_call_ends.py",
    # By day one adapter or runner of a language shows a story of the debugger; the others, and further ends
    # of the same program, follow.
    "tests/tools/debug/test_one_call.py::test_trace_in_other_languages",
    "tests/tools/debug/test_stories.py::test_a_server_can_be_attached_to_again",
    "tests/tools/debug/test_stories.py::test_of_a_flood_of_output_the_end_is_reported",
    "tests/tools/debug/test_short_answers.py::test_long_values_wide_objects_and_many_hits",
    "tests/tools/debug/test_why_of_tests.py::test_a_program_that_throws_hundreds_of_exceptions_is_run_to_its_end",
    "tests/tools/debug/test_exceptions.py::test_a_caged_agent_gets_the_exception_too",
    "tests/tools/debug/test_hang.py::test_a_script_that_spins_and_one_that_waits_are_told_apart",
    "tests/tools/debug/test_stories.py::test_a_child_with_a_session_of_its_own_is_gone_after_disconnect",
    "tests/bridges/dap/test_launching.py::test_a_launch_that_is_called_off_leaves_nothing",
    "tests/bridges/dap/test_sessions.py::test_sessions_that_end_at_any_moment_leave_nothing",
    "tests/bridges/dap/test_breakpoints.py::test_edits_of_a_file_that_is_loaded_later_are_followed_while_the_program_stands",
    # By day Python, Node, Go, C++ and Rust show each action of the debugger once, uncaged or caged; the other
    # half, and further ends of the same story in Python, follow.
    "tests/tools/debug/test_matrix.py::test_each_kind_of_breakpoint_stops_as_it_did",
    "tests/tools/debug/test_exceptions.py::test_the_choice_is_kept_over_restarts",
    "tests/tools/debug/test_why_of_tests.py::test_an_exception_among_the_first_is_answered_with_a_note",
    "tests/tools/debug/test_why_of_tests.py::test_of_many_failing_tests_one_is_told",
    "tests/tools/debug/test_one_call.py::test_why_leaves_the_agents_own_session_alone",
    "tests/tools/debug/test_actions.py::test_a_program_that_does_not_stop_in_time_goes_on",
    "tests/tools/debug/test_tiers.py::test_a_caged_agent_debugs_tests_of_a_runner_of_the_project",
    "tests/tools/debug/test_runner_commands.py::test_modules_of_python_run_in_the_folder_of_the_call",
    "tests/bridges/dap/test_stops.py::test_a_caller_that_is_called_off_leaves_the_program_running",
    "tests/bridges/dap/test_launching.py::test_one_session_for_each_agent_and_agents_beside_each_other",
    "tests/bridges/dap/test_sessions.py::test_a_program_that_is_let_go_lives_until_its_run_ends",
    "tests/bridges/dap/test_connection.py::test_cancelling_at_any_moment_of_a_start_leaves_nothing",
    # By day each language server answers in `test_every_server.py` and `test_ready.py`; the slow ones (Rust),
    # a second server of a language, and further files and encodings follow.
    "tests/tools/code/test_generated_monorepos.py::test_no_rename_of_forty_leaves_an_error",
    "tests/tools/code/test_unloaded_crates.py",
    "tests/tools/code/test_svelte_and_php.py::test_a_killed_php_server_is_restarted",
    "tests/tools/code/test_vue.py::test_a_killed_server_is_restarted",
    "tests/tools/code/test_diagnostics.py::test_a_folder_of_many_files_is_looked_at_within_its_bounds",
    "tests/tools/code/test_rename.py::test_a_moved_file_has_its_own_imports_corrected",
    "tests/tools/code/test_check_changes.py::test_a_folder_with_too_many_files_begins_with_those_that_changed",
    "tests/tools/code/test_check_changes.py::test_a_file_that_is_gone_breaks_those_that_import_it",
    "tests/tools/code/test_beyond_the_build.py::test_packages_that_know_it_through_another_are_found_and_renamed[rust]",
    "tests/tools/code/test_beyond_the_build.py::test_a_rename_is_refused_for_rust_code_of_a_feature_that_is_off",
    "tests/tools/code/test_folder_interrupted.py",
    "tests/bridges/lsp/test_failed_builds.py::test_rust_errors_arrive_in_the_default_cage_and_a_missing_lock_file_is_named",
    "tests/tools/code/test_vue_3.py::test_both_start_again_when_one_is_killed",
    "tests/tools/code/test_svelte_and_php.py::test_a_killed_svelte_server_is_restarted",
    "tests/tools/code/test_masked.py::test_agents_that_read_the_same_share_a_server_and_at_most_three_run",
    "tests/tools/code/test_loose_files.py::test_where_only_flags_are_given_a_rename_of_too_much_is_refused_and_references_are_not",
    # By day there are the monorepos of each language but Rust, a few kills, and few clients of a stream.
    "tests/harness/test_monorepo_renames.py",
    "tests/e2e/test_kill_tree.py",
    "tests/e2e/test_question_restart.py::test_killed_at_any_moment_no_answer_is_lost_and_each_call_has_one_result",
    "tests/e2e/test_fan_out.py",
    "tests/e2e/test_page_network.py",
    "tests/e2e/test_page_pictures.py",
    "tests/e2e/test_page_people.py::test_an_answer_that_a_kill_cuts_off_is_shown_once_and_the_page_goes_on",
    "tests/growth/test_growth.py::test_four_times_the_text_takes_less_than_eight_times_the_cpu[readers]",
    # By day each command and page has its story; further ends of the same one, and the same for another
    # client, disk or address, follow.
    "tests/cli/test_trust.py::test_trust_works_on_the_data_folder_that_it_is_given",
    "tests/cli/test_trust.py::test_a_changed_version_that_is_declined_at_the_terminal_leaves_the_trusted_one",
    "tests/cli/test_local_commands.py::test_doctor_sees_a_running_daemon",
    "tests/cli/test_local_commands.py::test_doctor_fails_when_something_keeps_kaged_from_working",
    "tests/cli/test_local_commands.py::test_init_writes_a_cage_and_disables_it_where_this_machine_holds_none",
    "tests/cli/test_serve.py::test_a_project_that_does_not_compile_is_named_with_its_place",
    "tests/cli/test_serve.py::test_a_start_that_fails_turns_away_who_waits_for_it",
    "tests/cli/test_issues.py::test_what_subagents_propose_is_put_on_the_list_or_refused",
    "tests/cli/test_issues.py::test_files_are_attached_fetched_and_taken_away",
    "tests/cli/test_first_use.py::test_check_reports_a_model_whose_provider_has_no_key",
    "tests/cli/test_wrong_input.py::test_an_id_that_is_none_leads_to_nothing_else",
    "tests/cli/test_modes.py::test_a_plan_is_rejected_and_the_mode_is_set_by_hand",
    "tests/cli/test_editor_failures.py::test_the_daemon_that_it_started_ends_with_it",
    "tests/cli/test_trust.py::test_a_command_says_that_a_changed_version_waits_and_which_one_is_used",
    "tests/cli/test_trust.py::test_a_question_at_the_terminal_does_not_hinder_the_end",
    "tests/cli/test_trust.py::test_what_init_wrote_is_trusted_and_what_lay_there_before_is_not",
    "tests/cli/test_trust_restarts.py::test_the_schedule_of_a_project_runs_after_an_upgrade_as_before",
    "tests/cli/test_trust_restarts.py::test_serve_with_trust_trusts_what_it_loads_as_it_is_then",
    "tests/cli/test_serve.py::test_a_second_sigterm_stops_at_once",
    "tests/cli/test_local_commands.py::test_openapi_writes_both_files",
    "tests/cli/test_local_commands.py::test_check_knows_the_model_aliases_of_the_config",
    "tests/cli/test_editor_failures.py::test_without_a_key_the_editor_is_asked_to_authenticate",
    "tests/cli/test_editor_failures.py::test_a_session_survives_an_editor_that_leaves",
    "tests/cli/test_editor_permissions.py::test_an_edit_is_rejected_for_the_session",
    "tests/cli/test_project_move.py::test_without_a_daemon_the_next_one_goes_on_and_an_empty_project_makes_room",
    "tests/cli/test_project_move.py::test_a_project_at_work_and_a_place_that_is_taken_are_refused",
    "tests/cli/test_left_behind.py::test_archiving_a_session_ends_all_that_it_left_behind",
    "tests/cli/test_left_behind.py::test_cancelling_a_run_ends_all_that_its_call_has_started",
    "tests/cli/test_hooks.py::test_the_hooks_of_claude_code_are_shown_and_written_and_never_run",
    "tests/e2e/test_interop_mcp.py::test_a_server_from_a_package_is_installed_tested_used_and_removed",
    "tests/e2e/test_interop_mcp.py::test_the_settings_of_clients_over_http_work",
    "tests/cli/test_trust_restarts.py::test_trust_is_stored_without_a_daemon_and_taken_back_without_one",
    "tests/cli/test_mcp_login.py::test_servers_without_a_sign_in_say_so",
    "tests/cli/test_mcp_login.py::test_removing_a_server_removes_its_sign_in",
    "tests/cli/test_mcp_servers.py::test_servers_of_other_programs_files_are_taken_over_after_trust",
    "tests/cli/test_editor.py::test_mcp_servers_of_the_editor_are_not_started",
    "tests/cli/test_conversation.py::test_a_recorded_session_replays_the_same_answers",
    "tests/cli/test_serve.py::test_insecure_mode_beyond_this_machine_starts_with_the_second_flag",
    "tests/cli/test_token_from_shell.py::test_a_connection_from_elsewhere_is_of_no_process_here",
    "tests/e2e/test_waiting_page.py::test_stop_ends_the_waiting_run_and_holds_what_was_queued",
    "tests/e2e/test_composer_page.py::test_a_new_session_works_in_a_worktree_or_in_several_attempts",
    # By day `tests/harness/attempts` picks, and the page merges a workspace.
    "tests/e2e/test_workspace_page.py::test_attempts_stand_side_by_side_and_one_is_picked",
    "tests/e2e/test_modes_page.py::test_a_rejected_plan_leaves_the_session_in_plan_mode",
    "tests/e2e/test_issues_page.py::test_what_others_do_is_shown_and_takes_nothing_from_the_one_who_writes",
    "tests/harness/workflows/test_outage.py::test_an_outage_while_a_tool_runs_leaves_nothing_open_once_it_is_over",
    "tests/bridges/test_guardian.py::test_a_guardian_that_does_not_listen_is_replaced",
    "tests/storage/test_crash.py",
    "tests/e2e/test_stopping.py::test_a_second_daemon_on_the_data_folder_is_refused_by_the_name_of_the_first",
    "tests/e2e/test_consent_restart.py",
    "tests/e2e/test_plan_restart.py",
    "tests/e2e/test_issue_story.py::test_a_run_without_an_issue_or_without_a_bug_says_so",
    "tests/e2e/test_forms_page.py::test_a_question_outlives_the_daemon_and_is_answered_after_it",
    "tests/bridges/sandbox/test_holder.py::test_a_hundred_cages_leave_nothing_behind",
    "tests/e2e/test_issue_story.py::test_from_a_terminal_the_question_outlives_a_daemon_that_is_killed",
    "tests/container/test_image.py",
    "tests/container/test_cages.py",
    "tests/container/test_kills.py",
    "tests/container/test_attacks.py",
    # By day others show what these show once more, or with more data.
    "tests/bridges/lsp/test_whole_project.py::test_a_flood_of_parts_neither_blocks_nor_stays",
    "tests/storage/test_backup.py::test_rows_of_many_megabytes_are_not_all_held_at_once",
    "tests/cli/test_mcp_login.py::test_the_list_shows_the_state_of_a_sign_in",
    "tests/e2e/test_base_path_page.py::test_two_daemons_on_one_host_keep_their_sign_ins_apart",
    "tests/e2e/test_kill_workflow.py",
    "tests/tools/debug/test_exceptions.py::test_the_choice_is_an_action_and_kept_for_the_next_launch",
    "tests/tools/debug/test_one_call.py::test_why_is_ended_in_time_and_its_answer_is_short",
    "tests/clients/python/test_kill.py::test_a_request_waits_for_the_daemon_and_is_executed_once",
    # By day each adapter, runner and language of the debugger has one whole path; the same story in another
    # one, in another tier, or a further end of it, follows.
    "tests/tools/debug/test_why_of_tests.py::test_expected_failures_and_skips_are_none",
    "tests/tools/debug/test_node_stories.py::test_a_program_that_never_stops_is_paused",
    "tests/tools/debug/test_hang.py::test_a_process_is_looked_at_and_left_running",
    "tests/tools/debug/test_caged.py::test_without_a_sandbox_a_caged_agent_attaches_to_what_it_has_started_only",
    "tests/tools/debug/test_actions.py::test_each_agent_has_one_session_of_its_own",
    # By day a server of each shape answers, fails and is silent once.
    "tests/bridges/lsp/test_old_headers.py::test_a_header_that_is_open_too_is_as_new",
    "tests/bridges/lsp/test_whole_project.py::test_what_changes_meanwhile_is_not_fresh",
    "tests/tools/code/test_whole_project.py::test_where_the_files_can_be_asked_about_the_missing_answer_costs_nothing",
    # By day one hook, plugin and run of a workflow ends at each limit of time; the others follow.
    "tests/harness/hooks/test_session_idle.py::test_a_plugin_that_does_not_answer_keeps_nobody",
    "tests/harness/workflows/test_timeout.py::test_a_pause_does_not_count",
    "tests/harness/workflows/test_timeout.py::test_waiting_for_consent_does_not_count",
    "tests/harness/test_after_edit.py::test_a_note_that_comes_after_the_run_waits_for_the_next_one",
    # By day daemons that share a database are stopped and killed, and their owners answer through each other.
    "tests/e2e/test_replicas_forwarding.py::test_daemons_that_name_wrong_addresses_do_not_send_requests_round",
    "tests/e2e/test_replicas_forwarding.py::test_a_request_that_waits_for_a_stopped_owner_ends_with_the_takeover",
    "tests/e2e/test_replicas_forwarding.py::test_a_browser_that_is_signed_in_at_one_daemon_is_signed_in_at_the_owner",
    "tests/e2e/test_replicas.py::test_after_a_restart_of_the_database_one_daemon_owns_the_project",
    "tests/e2e/test_replicas.py::test_a_project_whose_files_are_elsewhere_is_not_served",
    # By day each command, page, client and page of the documents has its story; further ends of the same one,
    # and the same for another client or address, follow.
    "tests/e2e/test_base_path_page.py::test_a_browser_that_is_signed_in_at_the_root_is_not_below_the_prefix",
    "tests/e2e/test_documented_examples.py::test_the_commands_of_the_page_on_modes",
    "tests/e2e/test_documented_examples.py::test_the_commands_of_the_page_on_changes",
    "tests/e2e/test_documented_web.py::test_without_the_rule_the_page_is_refused",
    "tests/e2e/test_recipes.py::test_all_sessions_are_watched",
    "tests/e2e/test_recipes.py::test_a_message_is_posted_and_its_answer_awaited",
    "tests/e2e/test_recipes.py::test_a_failed_run_is_a_failed_command",
    "tests/e2e/test_recipes.py::test_all_questions_of_a_kind_are_approved_or_refused",
    "tests/e2e/test_workflows_page.py::test_a_run_whose_session_waits_for_a_person_says_so_and_links_to_it",
    "tests/e2e/test_issues_page.py::test_lists_are_searched_and_the_way_back_leads_where_one_was",
    "tests/e2e/test_web_page.py::test_a_reload_in_the_middle_of_an_answer_misses_nothing",
    "tests/e2e/test_bench.py::test_a_benchmark_beside_another_product_says_how_to_install_it",
    "tests/e2e/test_mcp_sign_in.py",
    "tests/clients/typescript/test_base_path.py",
    "tests/clients/python/test_kill.py::test_a_stream_goes_on_after_the_restart",
    "tests/cli/test_mcp_login.py::test_an_untrusted_project_gets_no_sign_in_and_a_changed_address_a_new_one",
    "tests/cli/test_mcp_login.py::test_without_a_browser_the_page_is_printed_and_the_time_is_bounded",
    "tests/cli/test_workspace.py::test_a_kept_branch_is_in_the_repository",
    "tests/cli/test_scarce.py::test_readyz_gives_no_answer_of_a_look_that_nobody_waited_for",
    "tests/cli/test_scarce.py::test_what_is_stored_can_be_listed_while_the_disk_is_full",
    "tests/cli/test_left_behind.py::test_deleting_a_command_ends_all_that_it_left_behind",
    # By day the rules of the house look at every regular expression.
    "tests/growth/test_growth.py::test_four_times_the_text_takes_less_than_eight_times_the_cpu",
    # By day one of these runs of pytest inside a test shows what it says.
    "tests/architecture/test_machine.py::test_what_is_missing_is_skipped_and_the_end_says_how_to_get_it",
    "tests/architecture/test_machine.py::test_in_ci_nothing_is_left_out",
    "tests/e2e/test_recipes.py::test_costs_are_exported",
    # By day the tests of each part of the page do these jobs, without counting.
    "tests/e2e/test_jobs_page.py",
    "tests/e2e/test_history_page.py::test_what_is_taken_out_is_folded_with_the_reason_and_comes_back",
    "tests/e2e/test_web_page.py::test_two_pages_show_the_same_session_and_each_others_messages",
    "tests/e2e/test_wheel.py::test_a_commit_builds_the_same_files_anywhere",
    "tests/cli/test_answer_all.py::test_wrong_use_answers_nothing",
    "tests/clients/python/test_runs.py::test_files_go_up_and_come_down_as_they_are",
    # By day each command, route and setting of the documentation has a test of its own. At night its
    # examples, recipes and settings for other programs are carried out as they are written.
    "tests/e2e/test_documented_examples.py::test_the_first_steps_in_a_project",
    "tests/e2e/test_documented_examples.py::test_an_agent_gets_the_instructions_and_loads_the_skill",
    "tests/e2e/test_documented_web.py",
    "tests/e2e/test_recipes.py",
    "tests/e2e/test_recipes_ci.py",
    "tests/e2e/test_recipes_nginx.py",
    "tests/e2e/test_interop_mcp.py",
    "tests/e2e/test_interop_editors.py",
    "tests/e2e/test_bench.py::test_a_benchmark_prints_a_figure_its_goal_and_their_ratio",
    # By day the page itself follows its sessions with this package, over kills and retries.
    "tests/clients/typescript/test_stream.py",
    "tests/clients/typescript/test_retries.py",
    "tests/clients/typescript/test_readme.py",
    "tests/clients/typescript/test_package.py::test_wrong_calls_are_errors_of_the_compiler",
    # By day the server is tried by the suite of the newest version of the protocol.
    "tests/api/mcp/test_conformance.py::test_the_client_fails_what_the_documentation_lists",
    "tests/api/mcp/test_conformance.py::test_the_server_fails_what_the_documentation_lists[2025-",
    "tests/cli/test_mcp_login.py::test_requests_that_are_no_redirect_do_no_harm",
    "tests/cli/test_mcp_login.py::test_a_client_that_is_registered_already_is_used",
    "tests/cli/test_editor_hooks.py::test_a_hook_that_asks_is_a_permission_request_of_the_editor[reject_once]",
    "tests/cli/test_editor_hooks.py::test_hooks_know_the_mode_that_the_editor_chose_and_are_not_asked_what_it_denies",
    # By day every action of the debugger is tried once with real programs, alone and in a cage.
    "tests/bridges/dap/test_stops.py::test_output_is_reported_while_the_program_runs",
    "tests/bridges/dap/test_stops.py::test_the_death_of_the_adapter_ends_the_session",
    "tests/bridges/dap/test_stops.py::test_of_two_that_continue_at_once_one_is_refused",
    "tests/bridges/dap/test_stops.py::test_after_the_end_of_the_program_each_action_says_so",
    "tests/bridges/dap/test_stops.py::test_a_stop_that_was_looked_at_is_not_reported_again",
    "tests/bridges/dap/test_stops.py::test_a_stop_after_the_wait_is_reported_by_the_next_continue",
    "tests/bridges/dap/test_launching.py::test_a_program_that_is_over_at_once",
    "tests/bridges/dap/test_launching.py::test_a_child_process_is_debugged_in_the_same_session",
    "tests/bridges/dap/test_launching.py::test_an_exited_program_is_launched_again_with_its_breakpoints",
    "tests/bridges/dap/test_launching.py::test_a_program_that_does_not_compile_says_where",
    "tests/bridges/dap/test_launching.py::test_a_program_that_wants_a_terminal_gets_one",
    "tests/bridges/dap/test_connection.py",
    "tests/bridges/dap/test_hostile.py::test_a_launch_that_fails_says_why_and_leaves_nothing",
    "tests/bridges/dap/test_hostile.py::test_a_flood_of_output_is_bounded_and_lets_others_have_the_loop",
    "tests/tools/debug/test_stories.py::test_a_child_process_stops_at_a_breakpoint_of_its_own",
    "tests/tools/debug/test_stories.py::test_a_program_that_ignores_every_hint_is_gone_after_disconnect",
    "tests/tools/debug/test_stories.py::test_a_running_server_is_attached_to_looked_at_and_left_running",
    "tests/tools/debug/test_tiers.py::test_a_caged_agent_stops_at_a_breakpoint_and_asks_why[full-node]",
    "tests/tools/debug/test_dead_programs.py::test_a_program_of_python_that_dies_after_its_launcher",
    "tests/tools/debug/test_dead_programs.py::test_likewise_in_a_cage",
    "tests/tools/debug/test_dead_programs.py::test_other_interpreters_that_die_at_their_start",
    "tests/tools/debug/test_hang.py::test_a_caged_agent_sees_its_own_programs_only",
    # By day every kind of question is asked of every server once, and renames are tried in full.
    "tests/bridges/lsp/test_other_files.py::test_a_change_of_one_file_shows_in_another[typescript-",
    "tests/bridges/lsp/test_other_files.py::test_a_change_of_one_file_shows_in_another[clangd]",
    "tests/bridges/lsp/test_other_files.py::test_files_that_come_and_go_show_in_others[typescript-",
    "tests/bridges/lsp/test_whole_project.py",
    "tests/bridges/lsp/test_failed_builds.py::test_a_check_that_ends_by_failure_is_no_answer",
    "tests/bridges/lsp/test_ready.py",
    "tests/tools/code/test_loose_files.py",
    "tests/tools/code/test_rename_check.py::test_errors_that_were_there_before_stop_nothing_though_they_name_the_symbol",
    "tests/tools/code/test_rename_check.py::test_a_file_that_changed_meanwhile_is_checked_as_it_is",
    "tests/tools/code/test_rename_check.py::test_two_refusals_are_confirmed_together",
    "tests/tools/code/test_vue_3.py",
    # By day one kill at random moments shows that nothing acknowledged is lost; `tests/harness` begins again
    # where a kill has left each step.
    "tests/e2e/test_kill_attempts.py",
    "tests/container/test_layout.py::test_nothing_acknowledged_is_lost_when_they_are_killed",
    "tests/e2e/test_replicas_forwarding.py::test_while_the_owner_cannot_be_reached_reads_go_on_and_commands_are_refused",
    "tests/e2e/test_replicas_forwarding.py::test_a_command_with_a_key_takes_effect_once_before_and_after_a_takeover",
    "tests/e2e/test_replicas.py::test_the_command_of_a_stopped_owner_writes_nothing_after_the_takeover",
    "tests/bridges/test_guardian_deadline.py::test_the_commands_of_a_stopped_daemon_end_at_its_deadline_and_not_before",
    "tests/harness/workspaces/test_takeover.py::test_what_the_owner_before_had_begun_is_ended[other-machines]",
    "tests/harness/workspaces/test_tiers.py::test_a_workspace_lives_from_its_start_to_its_end[landlock]",
    "tests/harness/workspaces/test_hostile_trees.py::test_a_pipe_that_git_waits_for_is_named[inner/",
    "tests/harness/workspaces/test_hostile_trees.py::test_a_pipe_that_git_waits_for_is_named[src/",
    "tests/harness/changes/test_large.py",
    "tests/harness/workflows/test_inputs.py::test_no_value_ends_the_block_that_it_stands_in",
    "tests/harness/workflows/test_queue.py::test_too_many_waiting_runs_are_refused",
    "tests/harness/issues/test_search.py::test_texts_as_large_as_they_may_be_are_found[postgresql]",
    # By day the tests that begin daemons in a warm process use it all the time.
    "tests/cli/test_warm_starts.py",
    "tests/cli/test_streams.py::test_a_reader_that_has_gone_is_no_news",
    "tests/cli/test_status.py::test_a_daemon_that_hangs_is_told_from_one_that_runs_and_can_be_killed",
    "tests/cli/test_serve.py::test_a_project_file_does_not_steer_the_terminal_of_who_serves_it",
    "tests/growth/test_growth.py",
    "tests/harness/hooks/test_injection.py::test_no_text_takes_long",
    "tests/workspace/test_tree_watch.py::test_callers_share_a_watch_and_nothing_is_left_of_a_thousand",
)

CASES_BY_DAY: dict[str, dict[str, tuple[str, ...]]] = {
    "tests/api/mcp/test_npm_clients.py": {
        "test_the_root_agents_tools_work": ("sdk-http",),
        "test_what_is_outside_the_cage_is_denied": ("sdk-stdio",),
    },
    "tests/bridges/dap/test_connection.py": {
        "test_an_adapter_that_never_listens_is_given_up": ("announced",),
    },
    "tests/bridges/dap/test_hostile.py": {
        "test_answers_of_any_shape_do_no_harm": ("deep",),
        "test_a_request_without_an_answer_is_given_up": ("stackTrace",),
        "test_what_moves_the_program_and_is_not_answered_is_given_up": ("continue",),
        "test_a_launch_that_fails_says_why_and_leaves_nothing": (
            "--crash-at-start-",
            "--crash-at initialize-",
            "--crash-at launch-",
            "--crash-at configurationDone-",
            "--crash-at configurationDone --early-launch-",
            "--crash-at launch --half-answer-",
            "--no-initialized-",
            "--never-answer configurationDone-",
            "--launch-error there is no such program-",
            "--refuse initialize=not today-",
            "--refuse launch=not today-",
            "--refuse configurationDone=not today-",
            "--garbage-at initialize --garbage text-",
            "--garbage-at initialize --garbage binary-",
            "--garbage-at launch --garbage endless-",
            "--garbage-at launch --garbage huge-",
            "--close-input initialize --deaf-",
        ),
        "test_however_an_adapter_takes_its_end_all_of_it_is_gone": (
            "good",
            "--exit late --exit-seconds 60",
            "--exit never",
            "--exit crash",
            "--never-answer disconnect",
            "--hang-at disconnect",
            "--crash-at disconnect",
            "--garbage-at disconnect",
            "--no-mark --exit never",
        ),
    },
    "tests/bridges/dap/test_launching.py": {
        "test_a_program_that_is_over_at_once": ("True",),
    },
    "tests/bridges/dap/test_lifecycle.py": {
        "test_a_killed_daemon_leaves_no_program_that_takes_no_hint": (
            "debugpy",
            "delve",
        ),
        "test_an_adapter_that_is_killed_takes_the_program_with_it": ("debugpy",),
        "test_the_end_of_the_run_ends_it_too": ("debugpy",),
        "test_what_was_attached_to_runs_on": ("codelldb-disconnect",),
        "test_disconnect_ends_a_program_that_takes_no_hint_and_its_children": (
            "debugpy",
            "js-debug",
            "lldb-dap",
            "delve",
        ),
    },
    "tests/bridges/dap/test_peer.py": {
        "test_garbage_and_the_end_fail_every_request_at_once": (
            "Content-Length: 5\\\\r\\\\n\\\\r\\\\n{{{{{-no JSON",
            "Content-Le-within a header",
        ),
    },
    "tests/bridges/dap/test_stops.py": {
        "test_an_unreported_stop_is_recorded_when_it_comes": ("True-launch",),
        "test_the_death_of_the_adapter_ends_the_session": ("True",),
    },
    "tests/bridges/lsp/test_caged_servers.py": {
        "test_each_server_finds_errors_inside_its_cage": (
            "pyright",
            "typescript-7",
            "gopls",
            "bash",
            "json",
        ),
    },
    "tests/bridges/lsp/test_freshness.py": {
        "test_a_file_that_was_just_created_is_in_the_references": ("pyright",),
        "test_diagnostics_are_for_what_the_file_holds": (
            "pyright",
            "gopls",
            "json",
        ),
    },
    "tests/bridges/lsp/test_hostile.py": {
        "test_garbage_ends_the_server_and_the_next_one_is_asked": (
            "length",
            "binary",
        ),
        "test_wrong_types_are_answers_or_defined_errors": (
            "deep",
            "mixed",
            "null",
            "uris",
        ),
    },
    "tests/bridges/lsp/test_old_headers.py": {
        "test_what_is_included_further_down_is_read_too": ("values.cpp",),
    },
    "tests/bridges/lsp/test_other_files.py": {
        "test_a_change_of_one_file_shows_in_another": (
            "pyright",
            "typescript-language-server",
            "typescript-7",
            "gopls",
            "clangd",
        ),
        "test_an_edit_that_a_status_does_not_show_is_seen": ("typescript-language-server",),
        "test_files_that_come_and_go_show_in_others": (
            "pyright",
            "typescript-language-server",
        ),
    },
    "tests/bridges/lsp/test_ready.py": {
        "test_the_first_references_of_a_cold_server_are_complete": (
            "pyright",
            "typescript-7",
            "gopls",
        ),
    },
    "tests/bridges/lsp/test_whole_project.py": {
        "test_an_answer_without_an_end_is_given_up_and_not_taken_for_whole": (
            "never-0",
            "refuse-0",
        ),
    },
    "tests/bridges/plugins/test_hostile.py": {
        "test_a_broken_conversation_is_an_error_and_the_next_process_works": (
            "behaviour0",
            "behaviour3",
            "behaviour6",
        ),
        "test_a_plugin_that_lies_is_refused_and_not_tried_again": (
            'version="1.0.1"-version',
            'capabilities_used=["net:*"]-net:*',
            'capabilities_used="net:*"-no list',
            "methods=[]-promises",
        ),
        "test_a_useless_answer_is_an_error_and_the_plugin_goes_on": (
            "behaviour0-neither an object nor null",
            "behaviour4-without a message",
            "behaviour7-bytes",
        ),
        "test_no_answer_is_a_timeout_and_a_late_one_is_dropped": ("behaviour0",),
        "test_only_what_the_manifest_allows_is_answered": (
            "kaged.storage.set-params0--32001",
            "kaged.storage.list-params4--32602",
            "file.read-params9--32601",
        ),
        "test_a_flood_is_held_back_and_others_do_not_notice": ("--flood-stdout-1000",),
    },
    "tests/cli/test_editor_failures.py": {
        "test_files_in_place_of_pipes_are_refused": ("/dev/null",),
    },
    "tests/cli/test_editor_permissions.py": {
        "test_an_edit_is_rejected": ("reject_once",),
    },
    "tests/cli/test_first_use.py": {
        "test_an_address_of_ipv6_may_stand_in_brackets": ("::1",),
    },
    "tests/cli/test_mcp.py": {
        "test_an_agent_with_a_cage_is_kept_to_it": ("2026-07-28",),
        "test_the_user_of_the_client_is_asked": (
            "allow-2026-07-28",
            "deny-legacy",
        ),
    },
    "tests/cli/test_mcp_login.py": {
        "test_a_client_that_is_registered_already_is_used": ("client_secret_basic",),
    },
    "tests/cli/test_mcp_servers.py": {
        "test_what_cannot_be_added_is_refused_with_the_reason": ("name",),
    },
    "tests/cli/test_scarce.py": {
        "test_serve_on_a_full_disk_says_so_at_once": ("40960",),
    },
    "tests/cli/test_serve.py": {
        "test_a_project_file_does_not_steer_the_terminal_of_who_serves_it": ("json",),
        "test_commands_and_links_reach_a_daemon_that_listens_everywhere": ("0.0.0.0",),
    },
    "tests/cli/test_streams.py": {
        "test_a_full_disk_is_reported_without_a_traceback": (
            "check",
            "--version",
            "--help",
            "check --json",
        ),
        "test_a_locale_without_a_character_ends_no_command": ("ascii",),
        "test_a_reader_that_has_gone_is_no_news": ("openapi",),
    },
    "tests/cli/test_token_from_shell.py": {
        "test_the_daemons_token_is_refused_from_what_an_agents_shell_started": (
            "127.0.0.1-read",
            "127.0.0.1-write",
            "127.0.0.1-left",
            "127.0.0.1-launch",
            "::-read",
            "::-write",
            "::-left",
            "::-launch",
        ),
    },
    "tests/e2e/test_git_kills.py": {
        "test_a_commit_that_is_killed_in_a_hook_is_undone_or_completed": ("pre-commit",),
    },
    "tests/e2e/test_interop_editors.py": {
        "test_a_session_by_the_setting_of_an_editor": ("zed",),
    },
    "tests/e2e/test_kill_idempotency.py": {
        "test_a_request_that_a_kill_cut_off_is_answered_with_what_it_made_when_it_is_sent_again": ("sqlite",),
    },
    "tests/e2e/test_one_address.py": {
        "test_the_page_works_below_each_prefix": ("nginx",),
    },
    "tests/e2e/test_page_views.py": {
        "test_every_view_fits_its_window_and_can_be_used_by_everybody": ("light-390",),
    },
    "tests/e2e/test_recipes_ci.py": {
        "test_the_job_passes_or_fails_with_the_workflow": (
            "pass-github",
            "fail-gitlab",
        ),
    },
    "tests/e2e/test_reference_page.py": {
        "test_every_operation_is_shown_and_nothing_is_too_wide": ("1280",),
    },
    "tests/harness/compaction/test_soak.py": {
        "test_ten_thousand_messages_through_sixty_compactions": ("summarize",),
    },
    "tests/harness/hooks/test_hostile_in_session.py": {
        "test_the_run_and_the_requests_are_as_without_it": (
            "--at kaged.hook.on_session_start --hang",
            '--at initialize --lie capabilities_used=["net:*"]',
            "--at kaged.hook.on_session_start --die",
        ),
    },
    "tests/harness/hooks/test_session_start.py": {
        "test_a_hook_that_fails_is_reported_and_nothing_else": (
            "config0-manifest0-plugin.hook.failed",
            "config1-manifest1-plugin.hook.failed",
            "config2-manifest2-plugin.hook.failed",
            "config4-manifest4-plugin.hook.fired",
            "config5-manifest5-plugin.hook.fired",
        ),
    },
    "tests/harness/servers/test_changing_lists.py": {
        "test_each_request_begins_with_the_one_before_it_across_searches_and_changes_of_the_list": (
            "openai-deferred",
            "openai-responses-deferred",
            "anthropic-deferred",
            "google-eager",
        ),
    },
    "tests/harness/test_caged_root_agent.py": {
        "test_a_registry_that_the_cage_does_not_reach_is_named_with_the_line_for_it": (
            "npm",
            "cargo",
            "go",
        ),
        "test_it_installs_builds_tests_and_debugs": (
            "npm",
            "cargo",
        ),
        "test_the_same_project_where_no_cage_can_be_held": (
            "npm",
            "go",
        ),
    },
    "tests/migrations/test_every_earlier_schema.py": {
        "test_rows_of_an_earlier_schema_are_all_there_after_an_upgrade": (
            "sqlite-0001",
            "sqlite-0003",
            "sqlite-0006",
            "sqlite-0009",
            "sqlite-0012",
            "sqlite-0013",
            "postgresql-0001",
            "postgresql-0012",
        ),
    },
    "tests/storage/test_backup.py": {
        "test_a_damaged_backup_is_refused_and_changes_nothing": (
            "sqlite-cut_short",
            "sqlite-cut_bytes",
            "sqlite-bent_at_the_beginning",
            "sqlite-without_a_schema",
            "sqlite-of_a_newer_release",
            "sqlite-breaks_a_key",
            "sqlite-<lambda>0",
            "sqlite-<lambda>1",
            "postgresql-breaks_a_key",
        ),
    },
    "tests/harness/workspaces/test_kinds.py": {
        "test_a_repository_goes_through_everything": (
            "sha256",
            "link",
            "bare",
            "no_repository",
        ),
    },
    "tests/storage/test_crash.py": {
        "test_a_killed_process_lost_nothing_that_it_acknowledged": ("sqlite",),
    },
    "tests/storage/test_file_failures.py": {
        "test_a_restore_that_is_killed_leaves_the_old_content_or_the_new": ("killed",),
    },
    "tests/tools/code/test_beyond_the_build.py": {
        "test_files_that_the_build_leaves_out_are_found_and_renamed": (
            "typescript-7",
            "pyright",
            "clangd",
            "gopls",
        ),
    },
    "tests/tools/code/test_every_server.py": {
        "test_status_and_reload": (
            "pyright",
            "typescript-language-server",
            "bash",
        ),
        "test_rename_changes_every_file_on_disk": (
            "pyright",
            "typescript-language-server",
            "typescript-7",
            "gopls",
            "clangd",
        ),
        "test_rename_file_corrects_what_refers_to_it": (
            "pyright",
            "typescript-language-server",
            "gopls",
        ),
    },
    "tests/tools/code/test_generated_monorepos.py": {
        "test_a_rename_leaves_no_error": ("go",),
    },
    "tests/tools/code/test_hierarchies.py": {
        "test_a_path_of_names_stands_for_a_position": ("pyright",),
    },
    "tests/tools/code/test_loose_files.py": {
        "test_a_rename_is_whole_where_only_flags_are_given": ("flags-main.cpp",),
        "test_sources_that_no_database_lists_are_known_too": ("main.cpp",),
    },
    "tests/tools/code/test_masked.py": {
        "test_without_masks_the_words_of_a_server_are_withheld": ("landlock",),
    },
    "tests/tools/code/test_monorepos.py": {
        "test_a_caged_agent_renames_no_half_and_hears_of_nothing_outside": ("mark",),
        "test_references_and_renames_reach_the_package_beside": (
            "npm-workspaces",
            "two-pyprojects",
            "two-go-modules",
        ),
        "test_the_first_question_may_be_the_rename_at_a_use": (
            "npm-workspaces",
            "two-go-modules",
        ),
    },
    "tests/tools/code/test_rename.py": {
        "test_what_cannot_be_renamed_is_refused_with_the_reason": ("place0",),
    },
    "tests/tools/code/test_rename_check.py": {
        "test_a_caged_agent_reads_no_words_about_what_it_may_not_read": ("mark",),
        "test_a_rename_that_leaves_an_error_is_refused_until_it_is_confirmed": (
            "pyright-structural",
            "typescript-structural",
        ),
    },
    "tests/tools/code/test_servers.py": {
        "test_files_that_the_server_would_read_otherwise_are_renamed_too": ("pyright-gb18030",),
        "test_the_first_question_may_be_the_rename_of_an_imported_name": ("pyright",),
    },
    "tests/tools/code/test_svelte_and_php.py": {
        "test_php_errors_are_for_the_present_content": ("0",),
    },
    "tests/tools/code/test_whole_project.py": {
        "test_an_answer_that_does_not_end_is_no_answer": (
            "parts",
            "refuse",
        ),
    },
    "tests/tools/debug/test_actions.py": {
        "test_what_the_adapter_cannot_do_is_not_sent": ("read_memory-",),
    },
    "tests/tools/debug/test_caged.py": {
        "test_sources_outside_the_cage_are_shown_by_path_only": ("mark",),
    },
    "tests/tools/debug/test_caged_adapters.py": {
        "test_each_adapter_and_its_program_run_in_the_cage": (
            "lldb-dap",
            "js-debug",
            "codelldb",
            "delve",
            "gdb",
            "rdbg",
            "bash-dap",
            "perl",
            "java",
            "bun",
        ),
    },
    "tests/tools/debug/test_each_language.py": {
        "test_exceptions_in_each_language": (
            "free-rust",
            "caged-node",
            "caged-go",
        ),
        "test_one_call_in_each_language": (
            "caged-rust",
            "caged-cpp",
            "free-node",
            "free-go",
        ),
    },
    "tests/tools/debug/test_exceptions.py": {
        "test_a_stop_at_an_exception_has_its_message_and_its_place_in_the_project": (
            "debugpy-python-uncaught",
            "js-debug-node-uncaught",
            "delve-go-uncaught",
            "lldb-dap-rust-uncaught",
            "gdb-cpp-raised",
        ),
        "test_the_choice_is_kept_over_restarts": ("go",),
    },
    "tests/tools/debug/test_hang.py": {
        "test_a_caged_agent_sees_its_own_programs_only": ("python",),
        "test_a_session_tells_who_waits_for_whom_and_runs_on": ("python",),
        "test_threads_have_their_first_frame_in_the_project": ("go",),
    },
    "tests/tools/debug/test_matrix.py": {
        "test_each_action_does_what_it_did": ("debugpy",),
        "test_each_kind_of_breakpoint_stops_as_it_did": ("debugpy",),
    },
    "tests/tools/debug/test_one_call.py": {
        "test_why_answers_with_what_fails_it": (
            "pytest",
            "node",
            "go",
            "cargo",
        ),
    },
    "tests/tools/debug/test_project_tests.py": {
        "test_one_test_is_launched_by_its_runner": (
            "pytest",
            "node",
            "vitest",
            "go",
            "cargo",
        ),
        "test_why_a_test_of_a_runner_of_the_project_fails": ("vitest",),
    },
    "tests/tools/debug/test_runner_commands.py": {
        "test_it_is_what_the_runner_reports": (
            "node-file",
            "vitest",
        ),
    },
    "tests/tools/debug/test_rust_values.py": {
        "test_values_of_rust_are_readable": ("lldb-dap",),
    },
    "tests/tools/debug/test_stories.py": {
        "test_a_program_that_exits_at_once_has_exited": ("True",),
    },
    "tests/tools/debug/test_tiers.py": {
        "test_a_caged_agent_debugs_tests_of_a_runner_of_the_project": ("vitest",),
        "test_a_caged_agent_stops_at_a_breakpoint_and_asks_why": (
            "full-python",
            "full-node",
        ),
        "test_what_a_tier_cannot_hold_is_refused_before_anything_starts": (
            "landlock-python",
            "none-go",
        ),
    },
    "tests/tools/debug/test_why_of_node_tests.py": {
        "test_a_failure_after_few_errors_has_locals": ("node",),
        "test_a_file_of_tests_that_cannot_be_loaded_is_the_failure": ("jest",),
        "test_it_is_what_the_runner_reports": ("node",),
        "test_what_is_caught_fails_no_test": ("node",),
    },
    "tests/tools/debug/test_why_of_tests.py": {
        "test_it_is_what_the_runner_reports": (
            "pytest",
            "unittest",
        ),
    },
    "tests/tools/test_protected_paths.py": {
        "test_a_link_swapped_between_check_and_use_does_not_escape": (
            "cage",
            "outside",
        ),
    },
}
"""Of the cases of these tests the named ones run by day, the others at night: a further adapter, runner or
server of a language, a further tier, database, client or address, a further shape of an attack."""

REPEATED: tuple[str, ...] = (
    "tests/harness/test_busy_daemon.py",
    "tests/tools/debug/test_ruby_stories.py",
    "tests/e2e/test_kill_attempts.py",
    "tests/harness/changes/test_kills.py",
    "tests/e2e/test_kill.py",
    "tests/e2e/test_git_kills.py",
    "tests/harness/delegation/test_tree.py",
    "tests/e2e/test_kill_workflow.py",
    "tests/e2e/test_kill_idempotency.py",
    "tests/container/test_layout.py",
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
    "tests/harness/issues/test_machine.py",
    "tests/harness/test_session_machine.py",
    "tests/workspace/test_path_model.py",
)
"""`make test-nightly` runs these again, with all their rounds (`tests/driver/rounds.py`)."""

COLD_STARTS: tuple[str, ...] = (
    "tests/cli/test_serve.py",
    "tests/cli/test_first_use.py",
    "tests/cli/test_scarce.py",
    "tests/cli/test_status.py",
    "tests/cli/test_version.py",
    "tests/cli/test_streams.py",
    "tests/e2e/test_kill.py",
    "tests/e2e/test_kill_tree.py",
    "tests/e2e/test_stopping.py",
    "tests/e2e/test_demo.py",
    "tests/e2e/test_upload_memory.py",
)
"""By day too, their daemons and commands load their code as a user's do: they show what a start needs and
does, kill it in the middle, or show how much memory a daemon has. By day those of other tests are forks of a
process that has loaded all of it (`tests/driver/warm_start.py`); by night each start is a real one."""

ONLY_NIGHTLY: dict[str, str] = dict.fromkeys(
    ("image.demo", "image.restart", "image.contents", "image.cages", "image.attacks"),
    "needs an image, whose build takes minutes",
) | dict.fromkeys(
    (
        "acp.documented",
        "guidance.documented",
        "mcp.client.documented",
        "mcp.server.documented",
        "recipes",
        "recipes.ci",
        "recipes.nginx",
        "web.documented",
    ),
    "carries out a document with other people's programs; by day each of its steps is tested",
)
"""The requirements that nothing but a nightly test shows, each with the reason."""

FAST = "not slow and not nightly"
ALL = "not nightly"
"""What `make test` and `make test-all` give to pytest as `-m`."""


def speed(test: str) -> str | None:
    """Return the marker of a test, or of a file of tests, by its id: `slow`, `nightly` or None."""
    place, _, rest = test.partition("::")
    name, _, case = rest.partition("[")
    if case and case[:-1] not in CASES_BY_DAY.get(place, {}).get(name, (case[:-1],)):
        return "nightly"
    for marker, names in (("nightly", NIGHTLY), ("slow", SLOW)):
        if begins(test, names) is not None:
            return marker
    return None


def absent_cases(tests: Iterable[str]) -> list[str]:
    """Return the cases of `CASES_BY_DAY` that are missing where others of their test are collected."""
    found = set(tests)
    known = {test.partition("[")[0] for test in found if "[" in test}
    return [
        case
        for place, names in CASES_BY_DAY.items()
        for name, cases in names.items()
        if f"{place}::{name}" in known
        for case in (f"{place}::{name}[{one}]" for one in cases)
        if case not in found
    ]


def without_tests(tests: Iterable[str], programs: Mapping[tuple[str, ...], Iterable[str]]) -> list[str]:
    """Return the programs that no test in their files or folders names, by its case or its own name."""
    found = list(tests)
    return [
        f"{name} ({', '.join(places)})"
        for places, names in programs.items()
        for words in [[_words(test) for test in found if test.startswith(places)]]
        for name in names
        if not any(f"-{name}-" in one for one in words)
    ]


def _words(test: str) -> str:
    return f"-{re.sub(r'[^A-Za-z0-9]+', '-', test)}-"


def begins(test: str, names: tuple[str, ...]) -> int | None:
    """Return the place of the first of the names that a test's id begins with, None where there is none."""
    for place, name in _near(test.partition("::")[0], names):
        if test == name or (test.startswith(name) and (name[-1] in "/[-" or test[len(name)] in ":[")):
            return place
    return None


@cache
def _near(file: str, names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the names that tests of a file may begin with, each with its place."""
    return [
        (place, name) for place, name in enumerate(names) if name.startswith(file) or file.startswith(name)
    ]
