// Written by `make clients-typescript`. Do not edit.

export interface paths {
    "/api/v1/attempts/{attempt_group_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare attempts
         * @description Shows the state of each attempt, its changes, check, tokens, cost and duration.
         */
        get: operations["get_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/attempts/{attempt_group_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel attempts
         * @description Cancels the runs and checks that are in progress or queued. The workspaces stay: each attempt can be
         *     picked, or continue with another message.
         */
        post: operations["cancel_attempts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/attempts/{attempt_group_id}/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard attempts
         * @description Cancels all attempts and discards their workspaces, which `undo` restores. None can be picked any more.
         *     Repeating it changes nothing. A group of which one is picked is a `conflict` (`already_picked`).
         */
        post: operations["discard_attempts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/attempts/{attempt_group_id}/pick": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge one attempt and discard the others
         * @description Merges the attempt, cancels the others and discards their workspaces, which `undo` restores. Refused
         *     for the reasons of a merge; a refused pick discards nothing. With `dry_run` conflicts and blocked files
         *     are no error: the answer is 200 with both. Picking the same attempt again changes nothing. Picking
         *     another one is a `conflict` (`already_picked`), and so is any pick while one is in progress
         *     (`pick_in_progress`).
         */
        post: operations["pick_attempt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the audit trail, newest first */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dsl/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the JSON Schema of project files
         * @description For editors. No token is needed.
         */
        get: operations["get_dsl_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dsl/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a project file
         * @description The body is the YAML text. With `project_id` it is checked as the project file of that project,
         *     including the prompts and projects that it names. Without `project_id` no file is read, and a reference to
         *     another project is an error (`reference_unchecked`). The status is 200 also when there are errors.
         */
        post: operations["validate_dsl"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/folders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the folders in a folder of the daemon's machine
         * @description For operators, to choose a folder for `POST /projects/load`. Names of folders alone, no files. The
         *     daemon's own folders are not shown, nor names that are not printable.
         */
        get: operations["list_machine_folders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what waits for a person, oldest first
         * @description Open questions, proposals for the checklist, compactions that wait for approval, the runs that a limit
         *     has paused, those that have used 80 % of one, and the newest run of each idle session that failed, or that
         *     succeeded, while nobody has seen its end. Runs that ended stay for 14 days.
         *     Sessions without people (`headless`) and those of workflows are not listed when they succeed.
         */
        get: operations["list_inbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the daemon's log, newest first
         * @description Entries appear here within a second, without secrets. `storage.log_retention_days` and
         *     `storage.log_retention_entries` limit how long they stay.
         */
        get: operations["list_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the metrics in the Prometheus format
         * @description Counters start at zero with the daemon. Names begin with `kaged_`.
         */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the model aliases
         * @description The aliases of the local configuration, by name. A project file may also use `provider:model`.
         */
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/modes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the modes of a session
         * @description Each mode with its permission rules, the strictest mode first. The rules of a mode apply beside all
         *     others: a denial of any rule stays, and so does a question that the project file pins.
         */
        get: operations["list_modes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List loaded projects */
        get: operations["list_projects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Load a project from its folder
         * @description Loading a folder again returns the same project. A project file with errors is refused with 422 and
         *     every diagnostic.
         */
        post: operations["load_project"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a project */
        get: operations["get_project"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/agents/{agent_path}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tools of an agent
         * @description The tools by name, each with the rule that decided and the parameters that the model gets.
         */
        get: operations["list_agent_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's attempts, newest first
         * @description The items have no `changes` and no output of checks.
         */
        get: operations["list_attempts"];
        put?: never;
        /**
         * Start attempts at a task
         * @description Opens `n` sessions with the message, each in a workspace, all from the same commit. To start attempts
         *     as forks of a session, post a message with `attempts`; as runs of a workflow, invoke it with
         *     `attempts`.
         */
        post: operations["start_attempts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what the machine offers a project
         * @description Which cages, language servers, debug adapters and programs are available on this machine.
         */
        get: operations["get_capabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/dsl": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the project file and its overlay
         * @description The project file and its overlay, as they are on disk now.
         */
        get: operations["get_project_dsl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/dsl/synthesized": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the compiled project
         * @description The project as agents run it, with defaults, overlays and references resolved.
         */
        get: operations["get_synthesized_dsl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a folder of a project
         * @description Symbolic links are listed and not followed. Sizes and times are current. An ignored folder is listed
         *     with all its content when `path` names it.
         */
        get: operations["list_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/files/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file of a project
         * @description The bytes as they are. `Range` may request one range, `If-None-Match` and `If-Range` take the `ETag`.
         *     The connection breaks when the file changes during the download, unless it only grows. A read-only token
         *     does not get files that usually hold credentials (403, `secret_file`).
         */
        get: operations["get_file_content"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/files/problems": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what language servers find in a file
         * @description Starts the language server of the file if it does not run, as the tools of agents do. At most 500
         *     problems, the most serious ones, by position; `total` counts all. For read-only tokens the rules of the
         *     content hold, and the server's words are withheld.
         */
        get: operations["get_file_problems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/files/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search files of a project by name
         * @description Ignored files are not found. Consecutive letters, and letters at word starts and in the file's own
         *     name, score higher. Among equal scores the shorter path is first, then the file changed last. The first
         *     search of a project takes longer, because it lists the files.
         */
        get: operations["search_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/files/text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read lines of a text file of a project
         * @description At most 256 KiB of lines. The encoding is detected. A file that is not text is a conflict
         *     (`binary_file`). For read-only tokens the rules of the content hold.
         */
        get: operations["get_file_text"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/branches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the branches
         * @description Lists local branches by name, then remote-tracking branches.
         */
        get: operations["list_git_branches"];
        put?: never;
        /**
         * Create a branch
         * @description With `switch` the branch is created and checked out, or neither. It gets no upstream. 409:
         *     `branch_exists`, `no_commits`, and the reasons of a switch.
         */
        post: operations["create_git_branch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/commit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Commit
         * @description The author comes from git's settings. Hooks run only with `hooks`. 409: `nothing_to_commit`,
         *     `index_locked`, `operation_in_progress`, `identity_missing`, `signing_required`, `conflicts`,
         *     `daemon_file`, `filtered`, `hook_failed` (with `output`), `git_failed`.
         */
        post: operations["commit_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the difference of one file
         * @description From the index to the working tree; with `staged` from the last commit to the index.
         */
        get: operations["get_git_diff"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/stage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stage files or hunks
         * @description Stages all of it or nothing. A missing file is staged as deleted. 409: `index_locked`,
         *     `changed_since`, `conflicts`, `daemon_file`, `filtered`, `git_failed`.
         */
        post: operations["stage_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what has changed since the last commit
         * @description Shows the branch, an operation in progress, and the files that differ, sorted by path. Ignored files
         *     are left out.
         */
        get: operations["get_git_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/switch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Switch to a branch
         * @description Uncommitted changes stay if the switch does not touch their files. 409: `would_overwrite` (with
         *     `paths`), `index_locked`, `operation_in_progress`, `filtered`, `git_failed`.
         */
        post: operations["switch_git_branch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/git/unstage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unstage files or hunks
         * @description Files of the working tree stay as they are. 409: `index_locked`, `changed_since`, `git_failed`.
         */
        post: operations["unstage_files"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/hooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the hooks of a project
         * @description The operator's hooks first, which run in every project, then those of the project file.
         */
        get: operations["list_hooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/hooks/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a hook on an example
         * @description Runs the command in its cage with the JSON that it would get, and answers what would follow. `match`
         *     and `agents` do not count here. A project's hook goes before the operator's of the same name.
         */
        post: operations["test_hook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the issues of a project, newest first */
        get: operations["list_issues"];
        put?: never;
        /** File an issue */
        post: operations["create_issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an issue with its history, links, files and checklist counts
         * @description Comments for operators only are shown to operators.
         */
        get: operations["get_issue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change title, text or assignment of an issue
         * @description An assignment starts the work: `primary` starts a session, `workflow:<name>` starts a run of the
         *     workflow, `session:<id>` binds that session. The issue becomes `assigned`, unless it is in progress.
         */
        patch: operations["edit_issue"];
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/attachments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the files of an issue
         * @description Their contents are at `/uploads/{id}/content`.
         */
        get: operations["list_issue_attachments"];
        put?: never;
        /**
         * Attach uploaded files to an issue
         * @description Upload them first with `POST /uploads`.
         */
        post: operations["attach_files_to_issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/attachments/{upload_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a file from an issue
         * @description The file is deleted later, because nothing uses it any more.
         */
        delete: operations["detach_file_from_issue"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add a comment to an issue */
        post: operations["comment_on_issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the links from and to an issue */
        get: operations["list_issue_links"];
        put?: never;
        /**
         * Link an issue to another issue
         * @description Two issues have at most one link of a kind in each direction.
         */
        post: operations["link_issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/links/{link_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a link from or to an issue */
        delete: operations["unlink_issue"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/todos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the checklist of an issue
         * @description The whole checklist in one answer: it has at most 200 entries that are not abandoned.
         */
        get: operations["list_todos"];
        put?: never;
        /**
         * Add an entry to the checklist of an issue
         * @description `conflict` with the reason `todo_exists` when an open entry has the same text.
         */
        post: operations["create_todo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/todos/{todo_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Drop a checklist entry
         * @description The entry is abandoned and stays in the history.
         */
        delete: operations["delete_todo"];
        options?: never;
        head?: never;
        /**
         * Update a checklist entry; accept or reject a criterion
         * @description `conflict` with the reason `invalid_transition`, `not_a_criterion` (accept, reject), or
         *     `criteria_open` (resolve while others are not accepted).
         */
        patch: operations["edit_todo"];
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/transition": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move an issue to another status
         * @description An illegal transition is a conflict with `details.legal`. Resolving an issue accepts the remaining
         *     criteria of its checklist.
         */
        post: operations["transition_issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/issues/{number}/updates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the history of an issue, newest first
         * @description Comments for operators only are shown to operators.
         */
        get: operations["list_issue_updates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the MCP servers of a project
         * @description The operator's servers and those of the trusted project file, by name. Nothing is started: a server
         *     that no session has used yet is `stopped`, and has no tools here.
         */
        get: operations["list_mcp_servers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/mcp/{name}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List the resources and prompts of an MCP server
         * @description The server is asked, and started if need be.
         */
        post: operations["list_mcp_content"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/mcp/{name}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable a disabled MCP server
         * @description A server that fails five times in ten minutes is disabled. Enabling it resets the count; its next use
         *     starts it.
         */
        post: operations["enable_mcp_server"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Update the folder of a moved project
         * @description `path` is the new folder; no file is moved. Sessions, issues, rules, uploads and trust stay. While a
         *     session of the project runs, the answer is 409 (`project_busy`).
         */
        post: operations["move_project"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's permission rules, newest first
         * @description Rules that operators created. The rules of the project file are in its synthesized form.
         */
        get: operations["list_project_permissions"];
        put?: never;
        /**
         * Create a permission rule for a project
         * @description It applies from the next call on, also in running sessions.
         */
        post: operations["create_project_permission"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/permissions/{rule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a permission rule of a project */
        delete: operations["delete_project_permission"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the plugins of a project's agents
         * @description Each plugin has its state, the reason when it is unusable, and the last lines of its log. A plugin that
         *     no session has used yet is `stopped`.
         */
        get: operations["list_plugins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/plugins/{name}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable a disabled plugin
         * @description A plugin that fails five times in ten minutes is disabled. Enabling it resets the count; its next use
         *     starts it.
         */
        post: operations["enable_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reload a project
         * @description When a file has errors, the answer is 422 and the loaded version stays active.
         */
        post: operations["reload_project"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/symbols": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search what the files of a project declare
         * @description Classes, functions and the like, by the syntax of the files: no language server is needed, and nothing
         *     of the project runs. Ignored files are not searched. The first search of a project reads its source
         *     files, later ones what has changed; an answer waits 1.5 seconds for it at most.
         */
        get: operations["search_symbols"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/trust": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Trust the present version of a project
         * @description `digest` is the `trust.digest` of the version that you reviewed; another version is refused with 409
         *     (`project_changed`). Later versions that ask for no more are trusted with it.
         */
        post: operations["trust_project"];
        /**
         * Revoke the trust in a project
         * @description Cancels its runs and stops its plugins and language servers. Nothing is deleted.
         */
        delete: operations["distrust_project"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's workflows
         * @description The workflows of the project file as compiled now, by name, with their inputs.
         */
        get: operations["list_workflows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/workflows/{workflow}/invoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a workflow
         * @description The run is stored before the answer. It is `queued` while the limit of concurrent runs is reached.
         *     Errors of an input are reported as `inputs.<name>`.
         */
        post: operations["invoke_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's workspaces, newest first
         * @description Includes removed workspaces (`removed_at`).
         */
        get: operations["list_workspaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the configured providers
         * @description The providers by name, without credentials; `problem` says whether one is missing.
         */
        get: operations["list_providers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/providers/{name}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Store the key of a provider
         * @description The key is written to a private file of the data folder, and counts from the next model call on. It is
         *     never returned. Only over TLS, or on the daemon's own machine (403, `not_encrypted`); 409
         *     (`key_in_settings`) when the settings give the provider its key.
         */
        put: operations["set_provider_key"];
        post?: never;
        /**
         * Delete the stored key of a provider
         * @description From the next model call on the provider uses its usual environment variable, if that is set.
         */
        delete: operations["delete_provider_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/providers/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make one real call to a provider
         * @description The call is small and may cost a fraction of a cent. The status is 200 also when the call fails: `ok`,
         *     `error` and `message` have the result.
         */
        post: operations["test_provider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a run with its steps and tool calls */
        get: operations["get_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel one run
         * @description The runs below it end with it. The caller of a cancelled subagent gets an error and continues. Queued
         *     messages run next: cancel the session to hold them.
         */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a failed run
         * @description Starts a new run with the same message and `retry_of`, and with another `model` if one is given. The
         *     failed run must be the newest of its session; its messages stay in the conversation.
         */
        post: operations["retry_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/see-warnings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark the budget warnings of a run as seen
         * @description The run leaves the inbox until a further limit is near.
         */
        post: operations["see_warnings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/steps/{number}/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the exact request of a model call
         * @description Rebuilt from the stored prompts, tools and messages, and compared with the digest of the bytes that
         *     were sent. `body` is byte for byte that request.
         */
        get: operations["get_sent_request"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions, newest first */
        get: operations["list_sessions"];
        put?: never;
        /**
         * Create a session
         * @description The answer does not wait for a `workspace`; the first run does. `workspace.updated` reports states.
         */
        post: operations["create_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import an exported session
         * @description The body is an exported file (JSON lines). A truncated or changed file is refused by the count and
         *     digest in its last line.
         */
        post: operations["import_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a session
         * @description Includes tokens, cost by spender, and how full each agent's context is.
         */
        get: operations["get_session"];
        put?: never;
        post?: never;
        /** Delete a session and everything in it */
        delete: operations["delete_session"];
        options?: never;
        head?: never;
        /**
         * Change a session: title, issue, model, mode
         * @description `not_found` with the reason `issue_not_found` when the project has no such issue. A new mode
         *     also settles the open permission requests of running runs: what it denies is refused, what it allows goes
         *     on.
         */
        patch: operations["update_session"];
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the agents of a session and their cages
         * @description The root agent first, each before its subagents, by the version of the project that the session works
         *     with. All are on one page.
         */
        get: operations["list_agents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Archive a session
         * @description An archived session can be read and exported, but takes no messages.
         */
        post: operations["archive_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel the active run
         * @description The partial answer is kept, and the session becomes idle.
         */
        post: operations["cancel_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the files that a session changed
         * @description The files that differ from the baseline, whoever changed them: agents, commands or people. Files that
         *     git ignores are left out. Uncommitted changes from before the session are part of the baseline `start`.
         */
        get: operations["list_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/changes/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what changed in a file
         * @description Lines are Unicode, whatever the encoding of the file. A CR before the newline is part of the line. A
         *     read-only token does not get files that usually hold credentials (403, `secret_file`).
         */
        get: operations["get_change"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a session's checkpoints, newest first */
        get: operations["list_checkpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/checkpoints/{checkpoint_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a checkpoint with its conversation and prompts
         * @description Includes messages that were compacted or rolled back since. `prompts` are those of the next call, each
         *     with the system prompt that was last sent before the checkpoint.
         */
        get: operations["get_checkpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/checkpoints/{checkpoint_id}/prompts/{agent_path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show one agent's prompt at a checkpoint */
        get: operations["get_checkpoint_prompt"];
        /**
         * Edit an agent's prompt at a checkpoint
         * @description The edit applies to this session from the end of the pause until it is removed, across restarts and
         *     changes of the file. No file changes unless `write` is true.
         */
        put: operations["edit_checkpoint_prompt"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the shell commands of a session, oldest first
         * @description Running commands, commands that outlived their call, and the newest ended ones of these.
         */
        get: operations["list_commands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/commands/{command_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a shell command with the end of its output */
        get: operations["get_command"];
        put?: never;
        post?: never;
        /**
         * Stop a shell command and its processes
         * @description Answers once all processes have ended, after at most a few seconds of grace.
         */
        delete: operations["stop_command"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compact an agent's context now
         * @description While the agent runs, the compaction waits for the next boundary between two model calls, at most a
         *     minute. Superseded messages stay readable.
         */
        post: operations["compact_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a session's compactions, newest first */
        get: operations["list_compactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions/dry-run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview a compaction
         * @description Nothing is stored. The summary is generated by a model call; `record.plugin_cost` has its cost, which
         *     is not part of the session's totals.
         */
        post: operations["preview_compaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions/{compaction_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a compaction */
        get: operations["get_compaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions/{compaction_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a proposed compaction
         * @description The session stays paused. After a resume the model gets the shorter conversation.
         */
        post: operations["approve_compaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions/{compaction_id}/edit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Edit a proposed compaction
         * @description The compaction stays proposed until you approve or reject it.
         */
        post: operations["edit_compaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions/{compaction_id}/flag": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Flag a compaction */
        post: operations["flag_compaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/compactions/{compaction_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a proposed compaction
         * @description A resumed run continues with the conversation as it is. It proposes a compaction again once the
         *     conversation has grown by a tenth.
         */
        post: operations["reject_compaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/continue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Continue after a truncated answer
         * @description For a run whose last answer stopped with the reason `length`.
         */
        post: operations["continue_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a session as one file of JSON lines
         * @description A session that is running, or has a background task, cannot be exported. The download breaks off when
         *     the session changes meanwhile: the file is then incomplete.
         */
        get: operations["export_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork a session at a message
         * @description The fork has the conversation at that message, including messages superseded since, with the same
         *     overrides, compiled project and edited prompts. The original session does not change.
         */
        post: operations["fork_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/interactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a session's questions, newest first */
        get: operations["list_interactions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/interactions/{interaction_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a question with its answer */
        get: operations["get_interaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/interactions/{interaction_id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question
         * @description Only the first answer counts. A later one is a conflict that names the first answer and its author. A
         *     session that paused for questions continues once the last of them is answered. `always` also answers other
         *     open requests of running runs that its new rules allow.
         */
        post: operations["answer_interaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/interactions/{interaction_id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a file for a form
         * @description Send the id of the upload as the value of a `file` field. Works like `POST /uploads` for the project of
         *     the session. A file that no answer names is removed after a day.
         */
        post: operations["upload_interaction_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a session's messages
         * @description The messages of all agents in order, each with its `agent_path`; queued messages come last. With
         *     `order=newest` the whole order is turned around, so that the first page has the end of the conversation.
         *     Images in tool results are omitted: request the message itself.
         */
        get: operations["list_messages"];
        put?: never;
        /**
         * Post a message to a session
         * @description Answers as soon as the message and its run are stored: 201 when a run starts, 202 when the message is
         *     queued or steers the active run, or becomes the first message of `attempts`.
         */
        post: operations["post_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/messages/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show one message
         * @description The complete message, also when a frame had only part of a tool result (`contentRef`).
         */
        get: operations["get_message"];
        put?: never;
        post?: never;
        /**
         * Remove a queued message
         * @description `409 not_waiting` once the message is in the conversation; `rollback` removes it from there.
         */
        delete: operations["remove_message"];
        options?: never;
        head?: never;
        /**
         * Edit a queued message
         * @description Changes the text, or `mode`: when the message runs. `409 not_waiting` once the message is in the
         *     conversation.
         */
        patch: operations["edit_message"];
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause the active run
         * @description The partial answer is kept, and a checkpoint is created to resume from.
         */
        post: operations["pause_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a session's permission rules, newest first
         * @description The rules of its project apply as well.
         */
        get: operations["list_session_permissions"];
        put?: never;
        /**
         * Create a permission rule for a session
         * @description It applies from the next call on, also while the session is running.
         */
        post: operations["create_session_permission"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/permissions/{rule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a permission rule of a session */
        delete: operations["delete_session_permission"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/prompts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the system prompts of the agents
         * @description The text of each agent's prompt, and the whole system prompt that was last sent.
         */
        get: operations["list_prompts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/prompts/{agent_path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove the edit of an agent's prompt
         * @description A running agent uses the text of the file from its next message boundary on.
         */
        delete: operations["remove_prompt_edit"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume from a checkpoint */
        post: operations["resume_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/reverts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a session's reverts, newest first
         * @description Includes undone reverts (`undone_at`). A read-only token does not get `lines`: a file may hold
         *     credentials.
         */
        get: operations["list_reverts"];
        put?: never;
        /**
         * Revert a file, or hunks of it
         * @description Conflict with the reason `changed_since` when the file has changed since the diff.
         */
        post: operations["revert_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/reverts/{revert_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a revert
         * @description Conflict with the reason `changed_since` when a file has changed since the revert.
         */
        post: operations["undo_revert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rewind a session to a checkpoint or a message
         * @description Later messages are superseded, never deleted. The session becomes idle; `continue` runs a last message
         *     that has no answer. Later compactions are undone. Queued messages are held. With `files`, files are
         *     restored as well; `stage` previews that.
         */
        post: operations["roll_back_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/rollbacks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a session's rollbacks, newest first */
        get: operations["list_rollbacks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/rollbacks/{rollback_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a rollback
         * @description Possible until something is posted or compacted; the newest rollback is undone first. Files that it
         *     restored are put back as well, unless they changed since.
         */
        post: operations["undo_rollback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a session's runs, newest first */
        get: operations["list_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/share": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Share a session as a file for other people
         * @description One HTML file without scripts that loads nothing, or Markdown. Secrets that the daemon knows, and what
         *     has the shape of a credential, are redacted. The audit notes it as `operator.share_session`.
         */
        get: operations["share_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/share/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview what leaves with a shared session
         * @description Makes the file and reports on it: counts, file names, images, where something was redacted, and what
         *     stays here. Nothing leaves.
         */
        get: operations["preview_share"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/superseded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was taken out of a conversation
         * @description One item for each rollback and compaction that superseded messages, the oldest first. The messages
         *     themselves: `GET .../messages?superseded_by=`.
         */
        get: operations["list_superseded"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/todo-proposals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the checklist proposals of a session's subagents, newest first
         * @description The root agent or an operator decides about entries that are `proposed`.
         */
        get: operations["list_todo_proposals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/todo-proposals/{proposal_id}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept a proposal for the checklist of the session's issue
         * @description `conflict` with the reason `no_bound_issue` while the session is bound to no issue.
         */
        post: operations["accept_todo_proposal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/todo-proposals/{proposal_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reject a proposal */
        post: operations["reject_todo_proposal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/tools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call a tool as one of the session's agents
         * @description Validated, authorised and audited like the call of a model. A tool that fails answers 200 with `type`
         *     `error`. A call by an operator counts as consent, once; a call by an agent's token that needs consent is
         *     denied. A read-only call is cancelled when its client disconnects.
         */
        post: operations["call_tool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/workspace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a session's workspace
         * @description `kind` is `shared` for a session in the project's folder.
         */
        get: operations["get_workspace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/workspace/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard a workspace
         * @description Its folder is removed after `workspaces.undo_days`; until then `undo` restores it.
         */
        post: operations["discard_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/workspace/keep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep a workspace's branch, remove its folder
         * @description Creates the branch in the project's repository, with uncommitted changes as a last commit.
         */
        post: operations["keep_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/workspace/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge a workspace's changes
         * @description Writes all files or none. `conflict` with the reason `merge_conflicts` when both sides changed the
         *     same lines, and `checkout_in_the_way` when the checkout blocks a file, for example by uncommitted
         *     changes; `details.paths` names the files. The workspace stays, and can be merged again. With `dry_run`
         *     neither is an error: the answer is 200 with `conflicts` and `blocked`, and nothing is written.
         */
        post: operations["merge_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/workspace/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a broken workspace again
         * @description Answers before the workspace is created, from the `base` that was asked for. Changes that were in a
         *     removed folder are not restored. A message that waited for the workspace runs with the next message.
         */
        post: operations["retry_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session_id}/workspace/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a discarded workspace */
        post: operations["undo_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the missed events of several sessions
         * @description Returns the durable events after `seq` for each `id:seq` of the list, as the WebSocket sends them: at
         *     most 500 per session and 8 MB in all.
         */
        get: operations["sync_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List access tokens
         * @description The oldest first, including revoked and expired tokens.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Create an access token
         * @description A token of the scope `agent` calls one agent's tools in one session and reads that session. A token of
         *     the scope `plugin` reads the sessions of one project. A token of the scope `chat` talks to the agents of
         *     one project at `/v1/chat/completions` and `/mcp`. None of them approves requests, creates tokens, loads
         *     projects or changes rules.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/launch-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a link that signs in a browser
         * @description The link that the daemon prints at its start works once. This link signs in another browser.
         */
        post: operations["create_launch_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke an access token */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tools
         * @description Every tool by name, with the JSON Schemas of its parameters and result. The list does not say which
         *     agents may use it.
         */
        get: operations["list_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a file
         * @description Use its id where a file is expected: in the answer to a form, in the attachments of an issue, or in the
         *     inputs of a workflow. An unused file is removed after a day.
         */
        post: operations["upload_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uploads/{upload_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an uploaded file */
        get: operations["get_upload"];
        put?: never;
        post?: never;
        /** Delete an unused upload */
        delete: operations["delete_upload"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uploads/{upload_id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download an uploaded file
         * @description Sent as an attachment. `Range` may request one range of bytes; any other `Range` returns the whole
         *     file.
         */
        get: operations["get_upload_content"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the versions of the daemon and its API */
        get: operations["get_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflow-runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List workflow runs, newest first */
        get: operations["list_workflow_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflow-runs/{workflow_run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a workflow run
         * @description Includes the inputs and, after its end, output, duration, cost and error.
         */
        get: operations["get_workflow_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflow-runs/{workflow_run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a workflow run
         * @description The session of the run is stopped before the answer. Cancelling an ended run is a conflict.
         */
        post: operations["cancel_workflow_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{workspace_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a workspace
         * @description Includes workspaces of subagents and of deleted sessions.
         */
        get: operations["get_workspace_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{workspace_id}/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard a workspace by its id
         * @description Its folder is removed after `workspaces.undo_days`; until then `undo` restores it.
         */
        post: operations["discard_workspace_by_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{workspace_id}/keep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keep the branch of a workspace by its id */
        post: operations["keep_workspace_by_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{workspace_id}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merge the changes of a workspace by its id
         * @description Works like the merge of a session's workspace. The target is always the project's repository, even
         *     when a subagent's caller works in a workspace. For a subagent's workspace `conflicts: agent` is refused
         *     with the reason `workspace_of_subagent`.
         */
        post: operations["merge_workspace_by_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{workspace_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a broken workspace again by its id
         * @description Works like the retry of a session's workspace. That of a subagent is refused with the reason
         *     `workspace_of_subagent`.
         */
        post: operations["retry_workspace_by_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{workspace_id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a discarded workspace by its id */
        post: operations["undo_workspace_by_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the process is up */
        get: operations["get_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/launch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sign in a browser with the launch link
         * @description Exchanges the code for an HttpOnly session cookie and a CSRF cookie that pages can read, then redirects
         *     to the page. A code works once. When another site opened the link (`Sec-Fetch-Site`), the answer is a page
         *     with a button, and the code stays valid.
         */
        get: operations["launch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the daemon is ready
         * @description Checks the database, its schema, the free disk space, the sandbox and whether projects can be written,
         *     at most once per second. The status is 503 when a required check failed. The answer comes within two
         *     seconds.
         */
        get: operations["get_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Talk to an agent
         * @description Runs the agent that `model` names. Nobody can be asked: what needs approval is denied. The run is
         *     cancelled when the client closes the connection. `tools` and other fields that an agent cannot serve are
         *     refused; parameters of the model are ignored.
         */
        post: operations["create_chat_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List agents as models
         * @description The agents of trusted projects that the token may use, as `project/agent`.
         */
        get: operations["list_chat_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an agent as a model */
        get: operations["get_chat_model"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * ActAnswer
         * @description One thing that a project does or is allowed to do.
         */
        ActAnswer: {
            /**
             * Change
             * @description Compared with the trusted version: a new request, or a removed protection.
             */
            change: ("added" | "removed") | null;
            /**
             * Digest
             * @description The digest of a prompt's text.
             */
            digest: string | null;
            /**
             * File
             * @description The project file that declares it, below the project's root.
             */
            file: string | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "tool" | "program" | "argument" | "environment" | "schedule" | "hook" | "plugin" | "grant" | "host" | "rule" | "prompt" | "project";
            /** Line */
            line: number | null;
            /** Text */
            text: string;
            /**
             * Where
             * @description The path of the agent, or the entry of the section, that declares it.
             */
            where: string;
        };
        /**
         * AgentToolAnswer
         * @description A tool of one agent. `origin` is the rule that enabled or disabled it.
         */
        AgentToolAnswer: {
            /** Description */
            description: string | null;
            /** Enabled */
            enabled: boolean;
            /**
             * Loading
             * @description Whether every request has the tool in `full`, or `tool_search` finds it; null when the tool is disabled.
             */
            loading: ("full" | "deferred" | "late") | null;
            /** Name */
            name: string;
            /** Origin */
            origin: string;
            /**
             * Parameters
             * @description What the model gets; null when the tool is disabled.
             */
            parameters: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * AnswerInteraction
         * @description An answer: one of `answer` (to a `permission`), `answers` (to an `ask` or a `question`), `values` (to a
         *     `form`) and `decision` (to a `plan`). `rule` and `scope` belong to the answer `always`, `comment` to
         *     `reject` and to a `decision`, `mode` and `plan` to a `decision`.
         * @example {
         *       "answer": "reject",
         *       "comment": "Run the tests first."
         *     }
         * @example {
         *       "answers": {
         *         "database": [
         *           "PostgreSQL"
         *         ]
         *       }
         *     }
         * @example {
         *       "values": {
         *         "data": "upl_01JZ0000000000000000000000",
         *         "rows": 12,
         *         "title": "Spring sale"
         *       }
         *     }
         * @example {
         *       "decision": "accept",
         *       "mode": "edits"
         *     }
         */
        AnswerInteraction: {
            /** Answer */
            answer?: ("once" | "always" | "reject") | null;
            /**
             * Answers
             * @description By question id (`ask`), or in the order of the questions (`question`): the labels of the chosen options, or free text where that is allowed.
             */
            answers?: {
                [key: string]: string[];
            } | string[][] | null;
            /**
             * Comment
             * @description A comment for the model.
             */
            comment?: string | null;
            /**
             * Decision
             * @description `edit` accepts the plan with your changes.
             */
            decision?: ("accept" | "edit" | "reject") | null;
            /**
             * Mode
             * @description The mode that the accepted plan is carried out in; not `plan`.
             */
            mode?: ("plan" | "ask" | "edits" | "full") | null;
            /**
             * Plan
             * @description The plan with your changes, for `edit`.
             */
            plan?: string | null;
            /**
             * Rule
             * @description The rule that `always` stores: the index of a suggestion, or a pattern of your own for the same permission. By default every suggestion is stored.
             */
            rule?: number | string | null;
            /**
             * Scope
             * @description Where `always` stores the rule; by default in the session.
             */
            scope?: ("session" | "project") | null;
            /**
             * Values
             * @description By field name; for a file, the id of its upload.
             */
            values?: {
                [key: string]: string | boolean | number | null;
            } | null;
        };
        /** AnswerMessage */
        AnswerMessage: {
            /** Content */
            content: string;
            /** Refusal */
            refusal?: null;
            /**
             * Role
             * @default assistant
             * @constant
             */
            role?: "assistant";
        };
        /**
         * AskAttempts
         * @description Several sessions attempt one task, each in its own workspace, and all from the same commit.
         * @example {
         *       "check": "make test",
         *       "models": [
         *         "fast",
         *         "strong"
         *       ],
         *       "n": 3
         *     }
         */
        AskAttempts: {
            /**
             * Base
             * @description What all start from, as for a workspace. Default: `working` for a message to a session, `head` otherwise.
             */
            base?: string | null;
            budget?: components["schemas"]["AttemptsBudget"] | null;
            /**
             * Check
             * @description A shell command that runs in each workspace after its run, like the project's `setup`.
             */
            check?: string | null;
            /**
             * Check Seconds
             * @description How long a check may take.
             * @default 600
             */
            check_seconds?: number;
            /**
             * Models
             * @description At most `n` aliases or `provider:model`; fewer are used in turn. Default: the agent's.
             * @default []
             */
            models?: string[];
            /**
             * N
             * @description How many attempts; at most `workspaces.max_attempts`.
             */
            n: number;
        };
        /**
         * AskedCall
         * @description The call that waits for consent, with its arguments as the model wrote them. Secrets are masked. `cut`:
         *     the arguments are longer than 64,000 characters, and only their beginning is here.
         */
        AskedCall: {
            /** Arguments */
            arguments: {
                [key: string]: unknown;
            };
            /** Cut */
            cut: boolean;
            /** Name */
            name: string;
        };
        /** AskedCheck */
        AskedCheck: {
            /** Command */
            command: string;
            /** Seconds */
            seconds: number;
        };
        /**
         * AttachFiles
         * @example {
         *       "upload_ids": [
         *         "upl_01JZ0000000000000000000000"
         *       ]
         *     }
         */
        AttachFiles: {
            /** Upload Ids */
            upload_ids: string[];
        };
        /**
         * AttemptAnswer
         * @description One attempt: a session in a workspace. `problem` says why it failed. `changes` is null in lists, and
         *     when the workspace has no files: it is being created, or is removed.
         */
        AttemptAnswer: {
            /** Branch */
            branch: string | null;
            changes: components["schemas"]["CountedChanges"] | null;
            check: components["schemas"]["CheckAnswer"] | null;
            /**
             * Cost Usd
             * @description US dollars; null when no price is known.
             */
            cost_usd: number | null;
            /**
             * Duration Ms
             * @description How long its runs have taken.
             */
            duration_ms: number;
            /**
             * Model
             * @description The model of its newest run, or the one that it will use.
             */
            model: string | null;
            /** Number */
            number: number;
            /** Problem */
            problem: string | null;
            /** Session Id */
            session_id: string;
            /**
             * State
             * @enum {string}
             */
            state: "creating" | "queued" | "running" | "waiting" | "paused" | "checking" | "succeeded" | "failed" | "cancelled" | "idle";
            /** Title */
            title: string;
            /** Tokens */
            tokens: number;
            /** Workflow Run Id */
            workflow_run_id: string | null;
            /** Workspace Id */
            workspace_id: string | null;
            /** Workspace State */
            workspace_state: ("creating" | "ready" | "merging" | "merged" | "kept" | "discarded" | "broken") | null;
        };
        /**
         * AttemptGroupAnswer
         * @description Attempts at one task. `state` is `running` while an attempt works, waits for capacity or for a person,
         *     or is being checked. `tokens` and `cost_usd` are sums. Attempts whose session is deleted are left out.
         */
        AttemptGroupAnswer: {
            /** Attempts */
            attempts: components["schemas"]["AttemptAnswer"][];
            /** Base */
            base: string;
            /**
             * Base Commit
             * @description The commit that all start from.
             */
            base_commit: string | null;
            budget: components["schemas"]["BudgetAnswer"] | null;
            check: components["schemas"]["AskedCheck"] | null;
            /**
             * Cost Usd
             * @description US dollars, of the calls whose price is known.
             */
            cost_usd: number | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /** Picked At */
            picked_at: string | null;
            /** Picked Session Id */
            picked_session_id: string | null;
            /** Project Id */
            project_id: string;
            /**
             * Session Id
             * @description The session that they are forks of.
             */
            session_id: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "done" | "picking" | "picked" | "discarded";
            /** Title */
            title: string;
            /** Tokens */
            tokens: number;
            /** Workflow */
            workflow: string | null;
        };
        /**
         * AttemptsBudget
         * @description The budget of all attempts together. When the sum reaches it, each attempt pauses before its next
         *     model call.
         */
        AttemptsBudget: {
            /** Cost Usd */
            cost_usd?: number | null;
            /** Tokens */
            tokens?: number | null;
        };
        /** AuditEntry */
        AuditEntry: {
            /** Actor */
            actor: string;
            /** Agent Path */
            agent_path: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Data */
            data: {
                [key: string]: unknown;
            };
            /** Event */
            event: string;
            /** Id */
            id: number;
            /** Project Id */
            project_id: string | null;
            /** Request Id */
            request_id: string | null;
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string | null;
        };
        /** BudgetAnswer */
        BudgetAnswer: {
            /** Cost Usd */
            cost_usd: number | null;
            /** Tokens */
            tokens: number | null;
        };
        /**
         * BudgetUse
         * @description How much of a limit is used.
         */
        BudgetUse: {
            /** Limit */
            limit: number;
            /**
             * Shared
             * @description The limit is that of all attempts together.
             */
            shared: boolean;
            /**
             * Unit
             * @enum {string}
             */
            unit: "tokens" | "usd" | "seconds";
            /**
             * Used
             * @description Until now; of `seconds`, when the warning came.
             */
            used: number;
        };
        /**
         * CageAnswer
         * @description What an agent may reach, as its project file says. Whatever the files are, prompts, programs and other
         *     names that steer agents are read-only. Variables of the cage are left out.
         */
        CageAnswer: {
            /**
             * Capabilities
             * @description For example `shell` and `exec`. Without: it runs nothing.
             */
            capabilities: string[];
            /**
             * Files
             * @description Nothing else of the machine is there but the system.
             */
            files: components["schemas"]["CageFileAnswer"][];
            /**
             * Hosts
             * @description `host`, `host:port` or `*.host:port`. Empty: no network.
             */
            hosts: string[];
            /**
             * Keeps State
             * @description Its home is kept from run to run.
             */
            keeps_state: boolean;
            /** Memory Mb */
            memory_mb: number | null;
            /**
             * Seconds
             * @description After so long everything that runs in it is ended.
             */
            seconds: number | null;
            /** Unix Sockets */
            unix_sockets: boolean;
        };
        /**
         * CageFileAnswer
         * @description What may be done below a path of the session's folder; of nested ones the deeper decides.
         */
        CageFileAnswer: {
            /**
             * Mode
             * @description `ro`: it is read, `rw`: read and written, `deny`: hidden.
             * @enum {string}
             */
            mode: "ro" | "rw" | "deny";
            /** Path */
            path: string;
        };
        /**
         * CallTool
         * @example {
         *       "params": {
         *         "path": "README.md"
         *       }
         *     }
         */
        CallTool: {
            /**
             * Agent Path
             * @description The agent that the call is made as.
             * @default primary
             */
            agent_path?: string;
            /** Params */
            params?: {
                [key: string]: unknown;
            };
        };
        /**
         * Capability
         * @description A program or feature of the machine. `reason` says why it is not available.
         */
        Capability: {
            /** Available */
            available: boolean;
            /**
             * Kind
             * @enum {string}
             */
            kind: "sandbox" | "language_server" | "debug_adapter" | "runner" | "provider" | "program";
            /** Name */
            name: string;
            /** Reason */
            reason?: string | null;
            /** Version */
            version?: string | null;
        };
        /**
         * CapabilityList
         * @description All capabilities, on one page.
         */
        CapabilityList: {
            /** Items */
            items: components["schemas"]["Capability"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * CapabilityRequirementAnswer
         * @description The cage must name the capability.
         */
        CapabilityRequirementAnswer: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "capability";
            /** Name */
            name: string;
        };
        /** CatchUp */
        CatchUp: {
            /** Sessions */
            sessions: components["schemas"]["SessionCatchUp"][];
        };
        /**
         * ChangeAnswer
         * @description One file that differs from the baseline. Lines of binary files, and of files above 10 MB, are not
         *     counted: `additions` and `deletions` are null.
         */
        ChangeAnswer: {
            /** Additions */
            additions: number | null;
            /** Binary */
            binary: boolean;
            /**
             * By
             * @description The newest 50 calls of agents that wrote it, the oldest first.
             */
            by: components["schemas"]["EditAnswer"][];
            /** Deletions */
            deletions: number | null;
            /** New Mode */
            new_mode: string | null;
            /**
             * Note
             * @description The reason why lines are not counted.
             */
            note: string | null;
            /**
             * Old Mode
             * @description git's mode: 100644, 100755, or 120000 for a symbolic link.
             */
            old_mode: string | null;
            /**
             * Old Path
             * @description The earlier name of a renamed file.
             */
            old_path: string | null;
            /**
             * Others
             * @description Whether a command, a person or another session changed it, too: `by` does not say all.
             */
            others: boolean;
            /**
             * Path
             * @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Status
             * @enum {string}
             */
            status: "added" | "modified" | "deleted" | "renamed" | "mode";
        };
        /**
         * ChangeDiffAnswer
         * @description A change with its hunks: empty for a changed mode, null for a binary file and where `note` says why.
         */
        ChangeDiffAnswer: {
            /** Additions */
            additions: number | null;
            /** Binary */
            binary: boolean;
            /**
             * By
             * @description The newest 50 calls of agents that wrote it, the oldest first.
             */
            by: components["schemas"]["EditAnswer"][];
            /** Deletions */
            deletions: number | null;
            /**
             * Digest
             * @description Identifies this state of the file, for a revert.
             */
            digest: string;
            /** Hunks */
            hunks: components["schemas"]["HunkAnswer"][] | null;
            /** New Encoding */
            new_encoding: string | null;
            /** New Mode */
            new_mode: string | null;
            /** New Text */
            new_text: string | null;
            /**
             * Note
             * @description The reason why lines are not counted.
             */
            note: string | null;
            /** Old Encoding */
            old_encoding: string | null;
            /**
             * Old Mode
             * @description git's mode: 100644, 100755, or 120000 for a symbolic link.
             */
            old_mode: string | null;
            /**
             * Old Path
             * @description The earlier name of a renamed file.
             */
            old_path: string | null;
            /**
             * Old Text
             * @description With `content`: the whole text, up to 1 MB.
             */
            old_text: string | null;
            /**
             * Others
             * @description Whether a command, a person or another session changed it, too: `by` does not say all.
             */
            others: boolean;
            /**
             * Path
             * @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Status
             * @enum {string}
             */
            status: "added" | "modified" | "deleted" | "renamed" | "mode";
            /**
             * Truncated
             * @description Whether hunks beyond 4 MB are left out.
             */
            truncated: boolean;
        };
        /**
         * ChangePage
         * @description One page of changes; `additions` and `deletions` are of all pages.
         */
        ChangePage: {
            /** Additions */
            additions: number;
            /** Deletions */
            deletions: number;
            /**
             * Incomplete
             * @description What the list lacks, and the reason.
             */
            incomplete: string | null;
            /** Items */
            items: components["schemas"]["ChangeAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * ChangeSession
         * @description Omitted fields do not change.
         * @example {
         *       "title": "Fix the flaky tests"
         *     }
         */
        ChangeSession: {
            /**
             * Issue Number
             * @description The issue to work on; null unbinds the session.
             */
            issue_number?: number | null;
            /**
             * Mode
             * @description How much the session asks, from the next call on; see `GET /modes`.
             */
            mode?: ("plan" | "ask" | "edits" | "full") | null;
            /**
             * Model
             * @description An alias or `provider:model` for the next runs; null restores the agent's own model.
             */
            model?: string | null;
            /**
             * Seen Run Id
             * @description The run of the root agent whose end you have seen: it leaves the inbox.
             */
            seen_run_id?: string | null;
            /** Title */
            title?: string | null;
        };
        /**
         * ChatCompletion
         * @description The answer of an agent. Its tool calls are not in it: the session has them.
         */
        ChatCompletion: {
            /** Choices */
            choices: components["schemas"]["Choice"][];
            /**
             * Created
             * @description Seconds since the epoch.
             */
            created: number;
            /** Id */
            id: string;
            /** Model */
            model: string;
            /**
             * Object
             * @default chat.completion
             * @constant
             */
            object?: "chat.completion";
            usage: components["schemas"]["CompletionUsage"];
        };
        /**
         * ChatCompletionRequest
         * @description The fields that have an effect, or are refused. All others are ignored: the project file sets the
         *     agent's model and its parameters.
         * @example {
         *       "messages": [
         *         {
         *           "content": "Why does test_total fail?",
         *           "role": "user"
         *         }
         *       ],
         *       "model": "shop/primary",
         *       "stream": true
         *     }
         */
        ChatCompletionRequest: {
            /**
             * Audio
             * @description Refused.
             */
            audio?: unknown;
            /**
             * Functions
             * @description Refused, as `tools`.
             */
            functions?: unknown[] | null;
            /**
             * Logprobs
             * @description Refused when true.
             */
            logprobs?: boolean | null;
            /** Messages */
            messages: components["schemas"]["ChatMessage"][];
            /**
             * Modalities
             * @description Only `text`.
             */
            modalities?: string[] | null;
            /**
             * Model
             * @description An agent, as `project/agent`.
             */
            model: string;
            /**
             * N
             * @description Only 1.
             */
            n?: number | null;
            /** @description Only `text`. */
            response_format?: components["schemas"]["ResponseFormat"] | null;
            /**
             * Stop
             * @description Refused.
             */
            stop?: string | string[] | null;
            /** Stream */
            stream?: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /**
             * Tools
             * @description Refused: an agent has its own tools.
             */
            tools?: unknown[] | null;
            /**
             * Top Logprobs
             * @description Refused when above 0.
             */
            top_logprobs?: number | null;
            /**
             * Web Search Options
             * @description Refused: the agent's tools decide.
             */
            web_search_options?: unknown;
        };
        /**
         * ChatMessage
         * @description One message. `developer` is another name of `system`.
         */
        ChatMessage: {
            /** Content */
            content?: string | components["schemas"]["ContentPart"][] | null;
            /**
             * Function Call
             * @description Refused, as `tool_calls`.
             */
            function_call?: unknown;
            /**
             * Role
             * @description `system`, `developer`, `user` or `assistant`.
             */
            role: string;
            /**
             * Tool Calls
             * @description Refused: only the agent calls tools.
             */
            tool_calls?: unknown[] | null;
        };
        /**
         * Check
         * @description One check; `absent`: the daemon works without it; `warning`: it works, and `detail` says what will
         *     fail.
         */
        Check: {
            /** Detail */
            detail?: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "ok" | "failed" | "absent" | "warning";
        };
        /**
         * CheckAnswer
         * @description The check of an attempt after its newest run. `problem` says why it failed. `exit_code` is null when
         *     the command did not start or was killed. `output` is the last 16 KB of its output; null in lists.
         */
        CheckAnswer: {
            /** Exit Code */
            exit_code: number | null;
            /** Output */
            output: string | null;
            /** Problem */
            problem: string | null;
            /** Seconds */
            seconds: number | null;
            /**
             * State
             * @enum {string}
             */
            state: "none" | "running" | "passed" | "failed" | "stopped";
        };
        /**
         * ChecklistAnswer
         * @description The complete checklist in its order.
         */
        ChecklistAnswer: {
            /** Issue Number */
            issue_number: number;
            /** Items */
            items: components["schemas"]["TodoAnswer"][];
            /** Markdown */
            markdown: string;
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Open
             * @description The number of open entries.
             */
            open: number;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** CheckpointAnswer */
        CheckpointAnswer: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Detail */
            detail: string | null;
            /** Id */
            id: string;
            /** Message Cursor */
            message_cursor: string | null;
            /** Reason */
            reason: string;
            /** Resumed At */
            resumed_at: string | null;
            /** Rolled Back */
            rolled_back: boolean;
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string;
            /** Superseded By */
            superseded_by: string | null;
        };
        /** CheckpointDetail */
        CheckpointDetail: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Detail */
            detail: string | null;
            /** Edits */
            edits: components["schemas"]["PromptEditAnswer"][];
            /** Id */
            id: string;
            /** Message Cursor */
            message_cursor: string | null;
            /**
             * Messages
             * @description The conversation at the checkpoint, in order, including messages superseded since.
             */
            messages: components["schemas"]["MessageAnswer"][];
            /** Prompts */
            prompts: components["schemas"]["PromptAnswer"][];
            /**
             * Proposal
             * @description The compaction that waits for a decision.
             */
            proposal: string | null;
            /** Reason */
            reason: string;
            /** Resumed At */
            resumed_at: string | null;
            /** Rolled Back */
            rolled_back: boolean;
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string;
            /** Superseded By */
            superseded_by: string | null;
            worktree: components["schemas"]["WorktreeAnswer"] | null;
        };
        /**
         * ChildRunAnswer
         * @description The run of a subagent in the detail of its parent's run. `call_id` is the tool call of the parent.
         */
        ChildRunAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Background */
            background: boolean;
            /** Call Id */
            call_id: string | null;
            /** Cost Usd */
            cost_usd: number | null;
            /** Id */
            id: string;
            /** Reason */
            reason: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "running" | "succeeded" | "failed" | "cancelled" | "interrupted";
            /** Total Cost Usd */
            total_cost_usd: number | null;
            total_usage: components["schemas"]["Usage"];
            usage: components["schemas"]["Usage"];
        };
        /** Choice */
        Choice: {
            /**
             * Finish Reason
             * @enum {string}
             */
            finish_reason: "stop" | "length" | "content_filter";
            /**
             * Index
             * @default 0
             * @constant
             */
            index?: 0;
            /** Logprobs */
            logprobs?: null;
            message: components["schemas"]["AnswerMessage"];
        };
        /**
         * CommandAnswer
         * @description A shell command: `running` until its shell exits, then `background` while processes that it started
         *     continue.
         */
        CommandAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Command */
            command: string;
            /** Cwd */
            cwd: string;
            /** Ended At */
            ended_at: string | null;
            /**
             * Exit Code
             * @description The exit code of the shell; null while it runs.
             */
            exit_code: number | null;
            /** Id */
            id: string;
            /** Pid */
            pid: number | null;
            /**
             * Started At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            started_at: string;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "background" | "ended";
            /** Timed Out */
            timed_out: boolean;
        };
        /**
         * CommandList
         * @description All shell commands of the session, on one page.
         */
        CommandList: {
            /** Items */
            items: components["schemas"]["CommandAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** CommandOutputAnswer */
        CommandOutputAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Command */
            command: string;
            /** Cwd */
            cwd: string;
            /** Ended At */
            ended_at: string | null;
            /**
             * Exit Code
             * @description The exit code of the shell; null while it runs.
             */
            exit_code: number | null;
            /** Id */
            id: string;
            /**
             * Output
             * @description The last 64 KB of its output, as plain text.
             */
            output: string;
            /** Pid */
            pid: number | null;
            /**
             * Started At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            started_at: string;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "background" | "ended";
            /** Timed Out */
            timed_out: boolean;
        };
        /**
         * CommentOnIssue
         * @example {
         *       "body": "Seen on two machines."
         *     }
         */
        CommentOnIssue: {
            /**
             * Body
             * @description Markdown, at most 16 KB (16384 bytes of UTF-8).
             */
            body: string;
            /**
             * Visibility
             * @default all
             * @enum {string}
             */
            visibility?: "all" | "operator_only";
        };
        /**
         * CommitFiles
         * @description What to commit: what is staged, or only `paths` as they are now.
         * @example {
         *       "message": "Fix the total of the basket"
         *     }
         */
        CommitFiles: {
            /**
             * Allow Empty
             * @default false
             */
            allow_empty?: boolean;
            /**
             * Amend
             * @description Replace the last commit.
             * @default false
             */
            amend?: boolean;
            /**
             * Hooks
             * @description Run the hooks of the repository. The project must be trusted.
             * @default false
             */
            hooks?: boolean;
            /**
             * Message
             * @description Without it an amended commit keeps its message.
             */
            message?: string | null;
            /** Paths */
            paths?: string[] | null;
            /**
             * Unsigned
             * @description Commit without a signature even if git's settings require one.
             * @default false
             */
            unsigned?: boolean;
        };
        /**
         * CompactAnswer
         * @description The result; `compaction` is null when nothing could be removed.
         */
        CompactAnswer: {
            compaction: components["schemas"]["CompactionAnswer"] | null;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "completed" | "noop" | "proposed";
        };
        /**
         * CompactSession
         * @example {
         *       "strategy": "drop"
         *     }
         */
        CompactSession: {
            /**
             * Agent Path
             * @description The agent; a subagent must be running.
             * @default primary
             */
            agent_path?: string;
            /**
             * Strategy
             * @description Overrides the strategy of the project file. `checkpoint` only proposes.
             */
            strategy?: ("drop" | "summarize" | "delegate" | "checkpoint") | null;
        };
        /**
         * CompactionAnswer
         * @description One compaction. Estimates are tokens of a whole request plus the reserve for its answer.
         */
        CompactionAnswer: {
            /** After Estimate */
            after_estimate: number;
            /** Agent Path */
            agent_path: string;
            /** Checkpoint Id */
            checkpoint_id: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Details */
            details: {
                [key: string]: unknown;
            };
            /** Fallback Occurred */
            fallback_occurred: boolean;
            /** Fallback Reason */
            fallback_reason: string | null;
            /** Id */
            id: string;
            /** Operator Flag */
            operator_flag: ("good" | "bad" | "neutral") | null;
            /** Operator Notes */
            operator_notes: string | null;
            /**
             * Plugin Cost
             * @description The usage of the summarizer: tokens and `cost_usd`, null when the price is unknown.
             */
            plugin_cost: {
                [key: string]: unknown;
            } | null;
            /** Plugins Fired */
            plugins_fired: {
                [key: string]: unknown;
            }[];
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string;
            /**
             * State
             * @enum {string}
             */
            state: "proposed" | "applied" | "rejected";
            /**
             * Strategy
             * @enum {string}
             */
            strategy: "drop" | "summarize" | "delegate" | "checkpoint";
            /** Summary */
            summary: string | null;
            /** Summary Message Id */
            summary_message_id: string | null;
            /** Superseded Message Ids */
            superseded_message_ids: string[];
            /** Threshold Estimate */
            threshold_estimate: number;
            /**
             * Trigger
             * @enum {string}
             */
            trigger: "threshold_crossed" | "provider_overflow_retry" | "operator_manual" | "scheduled";
            /**
             * Undone By
             * @description The rollback that restored the original messages.
             */
            undone_by: string | null;
            /** Window Lower */
            window_lower: number;
            /** Window Upper */
            window_upper: number;
        };
        /**
         * CompactionPreview
         * @description A compaction that was not applied, and the conversation that it would leave.
         */
        CompactionPreview: {
            /** Messages */
            messages: components["schemas"]["PreviewedMessage"][];
            record: components["schemas"]["CompactionAnswer"];
        };
        /** CompletionDetails */
        CompletionDetails: {
            /** Reasoning Tokens */
            reasoning_tokens: number;
        };
        /**
         * CompletionUsage
         * @description The tokens of the run and of its subagents. `prompt_tokens` includes cached ones, `completion_tokens`
         *     includes reasoning.
         */
        CompletionUsage: {
            /** Completion Tokens */
            completion_tokens: number;
            completion_tokens_details: components["schemas"]["CompletionDetails"];
            /** Prompt Tokens */
            prompt_tokens: number;
            prompt_tokens_details: components["schemas"]["PromptDetails"];
            /** Total Tokens */
            total_tokens: number;
        };
        /**
         * ContentPart
         * @description A part of a message: `text`, or in a user's message `image_url` with a data URL.
         */
        ContentPart: {
            image_url?: components["schemas"]["ImageUrl"] | null;
            /** Text */
            text?: string | null;
            /** Type */
            type: string;
        };
        /**
         * ContextShares
         * @description What the tokens of a context are, together all of them. They are estimated by the text, and scaled to
         *     what the provider has counted.
         */
        ContextShares: {
            /**
             * Messages
             * @description What people, the agent and kaged have said, and the calls of tools.
             */
            messages: number;
            /**
             * Results
             * @description What tools have answered.
             */
            results: number;
            /**
             * System
             * @description The system prompt.
             */
            system: number;
            /**
             * Tools
             * @description The descriptions of tools.
             */
            tools: number;
        };
        /**
         * ContextUse
         * @description How full an agent's context was at its last model call. `window_assumed`: the window of the model is
         *     unknown, and `window` is the default that compaction assumes.
         */
        ContextUse: {
            /** Agent Path */
            agent_path: string;
            /** Fraction */
            fraction: number;
            /** Model */
            model: string;
            /** @description What the tokens are; null for a call that an earlier version of kaged made. */
            shares: components["schemas"]["ContextShares"] | null;
            /** Tokens */
            tokens: number;
            /** Window */
            window: number;
            /** Window Assumed */
            window_assumed: boolean;
        };
        /**
         * CostSplit
         * @description US dollars by spender: the sum of the calls with a known price, null when there is none. `incomplete`:
         *     the sum lacks calls whose price is unknown (their steps have no `cost`).
         */
        CostSplit: {
            /** Compactor */
            compactor: number | null;
            /** Incomplete */
            incomplete: boolean;
            /** Primary */
            primary: number | null;
            /** Subagents */
            subagents: number | null;
            /** Total */
            total: number | null;
        };
        /**
         * CountedChanges
         * @description What an attempt has changed since its first message. `incomplete` says what the counts lack.
         */
        CountedChanges: {
            /** Additions */
            additions: number;
            /** Deletions */
            deletions: number;
            /** Files */
            files: number;
            /** Incomplete */
            incomplete: string | null;
        };
        /**
         * CreateBranch
         * @description A new branch. It starts at `from`, a commit or branch (default: the current commit).
         * @example {
         *       "name": "fix-total",
         *       "switch": true
         *     }
         */
        CreateBranch: {
            /** From */
            from?: string | null;
            /** Name */
            name: string;
            /**
             * Switch
             * @description Also check it out.
             * @default false
             */
            switch?: boolean;
        };
        /**
         * CreateIssue
         * @example {
         *       "body": "The page is too bright at night.",
         *       "title": "Add dark mode"
         *     }
         */
        CreateIssue: {
            /**
             * Attachments
             * @description Ids of files uploaded for this project.
             */
            attachments?: string[];
            /**
             * Body
             * @description Markdown, at most 16 KB (16384 bytes of UTF-8).
             * @default
             */
            body?: string;
            /**
             * Title
             * @description One line, at most 200 characters.
             */
            title: string;
        };
        /**
         * CreatePermission
         * @example {
         *       "action": "allow",
         *       "pattern": "git status *",
         *       "permission": "shell.bash"
         *     }
         */
        CreatePermission: {
            /**
             * Action
             * @default ask
             * @enum {string}
             */
            action?: "allow" | "deny" | "ask";
            /**
             * Pattern
             * @description The subject: a command, a path or a host; or `*`.
             */
            pattern: string;
            /**
             * Permission
             * @description A tool, a `tool.action`, a capability, a glob over those, or `*`.
             */
            permission: string;
        };
        /**
         * CreateSession
         * @example {
         *       "project_id": "prj_01JZ0000000000000000000000",
         *       "title": "Fix the tests"
         *     }
         */
        CreateSession: {
            /**
             * Headless
             * @description True when nobody can answer questions.
             * @default false
             */
            headless?: boolean;
            /** Issue Number */
            issue_number?: number | null;
            /**
             * Mode
             * @description How much the session asks; see `GET /modes`.
             * @default ask
             * @enum {string}
             */
            mode?: "plan" | "ask" | "edits" | "full";
            /** @description Overrides of the project file for this session. */
            overrides?: components["schemas"]["SessionOverrides"] | null;
            /** Project Id */
            project_id: string;
            /** Title */
            title?: string | null;
            /**
             * Workspace
             * @description Where the session works: `shared` is the project's folder, `worktree` its own clone. The project file has the default.
             */
            workspace?: ("shared" | "worktree") | components["schemas"]["WorkspaceWish"] | null;
        };
        /**
         * CreateTodo
         * @example {
         *       "content": "All endpoints answer 200",
         *       "kind": "criterion"
         *     }
         */
        CreateTodo: {
            /**
             * Content
             * @description The task, on one line.
             */
            content: string;
            /**
             * Kind
             * @description `step` of the plan, or acceptance `criterion` that an operator signs off.
             * @default step
             * @enum {string}
             */
            kind?: "step" | "criterion";
            /**
             * Phase
             * @description The phase of the work.
             */
            phase?: string | null;
            /**
             * Position
             * @description The index in the whole list, from 0; later entries move down.
             */
            position?: number | null;
        };
        /**
         * CreateToken
         * @description The scope `agent` requires `session_id` and `agent_path`; the scope `plugin` requires `project_id` and
         *     `plugin`; the scope `chat` requires `project_id` and takes `agent_path`. Others take none of these.
         * @example {
         *       "name": "dashboard",
         *       "scope": "read-only"
         *     }
         */
        CreateToken: {
            /**
             * Agent Path
             * @description Scope `agent`: the agent whose tools the token calls. Scope `chat`: the only agent that the token talks to; by default it talks to all agents of the project.
             */
            agent_path?: string | null;
            /**
             * Expires At
             * @description By default the token never expires.
             */
            expires_at?: string | null;
            /** Name */
            name: string;
            /**
             * Plugin
             * @description Scope `plugin`: the name of the plugin.
             */
            plugin?: string | null;
            /**
             * Project Id
             * @description Scope `plugin`: the project whose sessions the token reads. Scope `chat`: the project whose agents the token talks to.
             */
            project_id?: string | null;
            /**
             * Scope
             * @default operator
             * @enum {string}
             */
            scope?: "operator" | "read-only" | "agent" | "plugin" | "chat";
            /**
             * Session Id
             * @description Scope `agent`: the only session of the token.
             */
            session_id?: string | null;
        };
        /** CreatedTokenAnswer */
        CreatedTokenAnswer: {
            /** Agent Path */
            agent_path: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Expires At */
            expires_at: string | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Plugin */
            plugin: string | null;
            /** Project Id */
            project_id: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /** Scope */
            scope: string;
            /** Session Id */
            session_id: string | null;
            /**
             * Token
             * @description The secret; it is shown once and is not stored.
             */
            token: string;
        };
        /**
         * Diagnostic
         * @description One finding. Lines and columns count from 1; `path` is the value's path inside `file`.
         */
        Diagnostic: {
            /** Code */
            code: string;
            /** Column */
            column: number;
            /** File */
            file: string;
            /** Line */
            line: number;
            /** Message */
            message: string;
            /** Path */
            path: string;
            /**
             * Severity
             * @enum {string}
             */
            severity: "error" | "warning";
        };
        /**
         * DslAnswer
         * @description The project file and its overlay, as they are on disk now.
         */
        DslAnswer: {
            /** Files */
            files: components["schemas"]["DslFile"][];
        };
        /** DslFile */
        DslFile: {
            /** Content */
            content: string;
            /**
             * Path
             * @description The path of the file, as the project names it.
             */
            path: string;
        };
        /**
         * EditAnswer
         * @description The call of an agent that wrote the file.
         */
        EditAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Call Id */
            call_id: string | null;
            /** Message Id */
            message_id: string;
            /** Run Id */
            run_id: string | null;
        };
        /**
         * EditCompaction
         * @description Omitted fields do not change.
         * @example {
         *       "summary": "The tests pass now."
         *     }
         */
        EditCompaction: {
            /**
             * Summary
             * @description Empty for none.
             */
            summary?: string | null;
            /** Superseded Message Ids */
            superseded_message_ids?: string[] | null;
        };
        /**
         * EditIssue
         * @description Omitted fields do not change; an assignment of null removes it.
         * @example {
         *       "assignment": "workflow:fix"
         *     }
         */
        EditIssue: {
            /**
             * Assignment
             * @description `primary`, `workflow:<name>` or `session:<session id>`; it starts the work. Null removes it.
             */
            assignment?: string | null;
            /**
             * Body
             * @description Markdown, at most 16 KB (16384 bytes of UTF-8). The original text is kept.
             */
            body?: string | null;
            /**
             * Title
             * @description One line, at most 200 characters.
             */
            title?: string | null;
        };
        /**
         * EditMessage
         * @description Omitted fields do not change.
         * @example {
         *       "content": "Why does test_sum fail?"
         *     }
         */
        EditMessage: {
            /** Content */
            content?: string | null;
            /**
             * Mode
             * @description Let the message wait for the end of the run (`queue`), or for its next message boundary (`steer`). In an idle session either one runs the message now.
             */
            mode?: ("queue" | "steer") | null;
        };
        /**
         * EditPrompt
         * @description A new text for one agent's prompt in this session. `write` changes the file itself, for every session
         *     of the project.
         * @example {
         *       "content": "You answer in one sentence."
         *     }
         */
        EditPrompt: {
            /**
             * Base Hash
             * @description The digest of the text that was edited; another digest is a conflict.
             */
            base_hash?: string | null;
            /** Content */
            content: string;
            /**
             * Write
             * @default false
             */
            write?: boolean;
        };
        /**
         * EditTodo
         * @description Omitted fields do not change. At most one of `status`, `accept` and `reject` is allowed.
         * @example {
         *       "accept": true
         *     }
         */
        EditTodo: {
            /**
             * Accept
             * @description Sign off a criterion.
             */
            accept?: true | null;
            /**
             * Content
             * @description The task, on one line.
             */
            content?: string | null;
            /** Note */
            note?: string | null;
            /**
             * Phase
             * @description The phase of the work. Null removes it.
             */
            phase?: string | null;
            /**
             * Position
             * @description The index in the whole list, from 0; later entries move down.
             */
            position?: number | null;
            /** @description Decline the claim that a criterion is met; it becomes pending again. */
            reject?: components["schemas"]["RejectClaim"] | null;
            /** @description With `accept` of the last criterion: also resolve the issue. */
            resolve?: components["schemas"]["ResolveIssue"] | null;
            /**
             * Status
             * @description `in_progress` resets the entry that was in progress to `pending`.
             */
            status?: ("pending" | "in_progress" | "completed" | "abandoned") | null;
        };
        /**
         * EditedIssue
         * @description An issue after an edit.
         */
        EditedIssue: {
            /**
             * Assignment
             * @description `primary`, `workflow:<name>` or `session:<session id>`
             */
            assignment: string | null;
            /** Body */
            body: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /** Number */
            number: number;
            /**
             * Original Body
             * @description The original text, after an edit.
             */
            original_body: string | null;
            /** Project Id */
            project_id: string;
            /** Resolved At */
            resolved_at: string | null;
            /** Resolved By */
            resolved_by: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Title */
            title: string;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
            /**
             * Updated Fields
             * @description The fields that changed.
             */
            updated_fields: ("title" | "body" | "assignment")[];
        };
        /** EnabledAnswer */
        EnabledAnswer: {
            /**
             * Enabled
             * @description How many of its processes were disabled before.
             */
            enabled: number;
        };
        /**
         * ErrorAnswer
         * @example {
         *       "error": {
         *         "code": "not_found",
         *         "message": "There is no session ses_01JZ0000000000000000000000.",
         *         "request_id": "req_01JZ0000000000000000000000"
         *       }
         *     }
         */
        ErrorAnswer: {
            error: {
                /** @description Stable; see the list of codes in the guide. */
                code: string;
                details?: {
                    fields?: {
                        [key: string]: string;
                    };
                    /** @description A more specific code. */
                    reason?: string;
                    state?: string;
                } & {
                    [key: string]: unknown;
                };
                message: string;
                request_id: string;
            };
        };
        /**
         * FileChangeAnswer
         * @description A file that is restored; `diff` leads from now to then, null for binary or long files.
         */
        FileChangeAnswer: {
            /**
             * Change
             * @enum {string}
             */
            change: "modified" | "created" | "deleted";
            /** Diff */
            diff: string | null;
            /**
             * Path
             * @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
        };
        /**
         * FileEntry
         * @description A file, a folder, a symbolic link, or something else, such as a named pipe.
         */
        FileEntry: {
            /**
             * Changes
             * @description For a folder: how many files below it are `modified`, `added`, `deleted`, `renamed`, `conflicted` and `untracked`. A folder of which nothing is tracked counts as one.
             */
            changes: {
                [key: string]: number;
            };
            /** Executable */
            executable: boolean;
            /**
             * Git
             * @description How it differs from the last commit, if it does. A deleted file is listed, too.
             */
            git: ("added" | "modified" | "deleted" | "renamed" | "conflicted" | "untracked") | null;
            /**
             * Ignored
             * @description Whether git ignores it.
             */
            ignored: boolean;
            /**
             * Kind
             * @enum {string}
             */
            kind: "file" | "folder" | "link" | "other";
            /** Modified At */
            modified_at: string | null;
            /**
             * Name
             * @description For people: bytes that are not UTF-8 are replaced.
             */
            name: string;
            /**
             * Old Path
             * @description Where a renamed file was.
             */
            old_path: string | null;
            /**
             * Path
             * @description Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Readable
             * @description False for a folder that cannot be read, and for what is deleted.
             */
            readable: boolean;
            /**
             * Size
             * @description In bytes; null for what is not a file.
             */
            size: number | null;
            /** @description Null for a link that leads out of the project or nowhere, and for all that is no link. */
            target: components["schemas"]["FileLinkTarget"] | null;
        };
        /**
         * FileHit
         * @description A file or folder whose path matches.
         */
        FileHit: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "file" | "folder";
            /** Modified At */
            modified_at: string | null;
            /**
             * Name
             * @description For people: bytes that are not UTF-8 are replaced.
             */
            name: string;
            /**
             * Path
             * @description Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Positions
             * @description The indexes of the characters of `path` that match, in code points from 0. Empty for a `~bytes:` path.
             */
            positions: number[];
            /**
             * Score
             * @description A higher score is better; comparable within one answer.
             */
            score: number;
        };
        /**
         * FileHits
         * @description The best matches, the best first, on one page.
         */
        FileHits: {
            /**
             * Complete
             * @description False when there are more files than are searched.
             */
            complete: boolean;
            /** Items */
            items: components["schemas"]["FileHit"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Searched
             * @description How many files were searched.
             */
            searched: number;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * FileLeftAnswer
         * @description A file that is not restored, and why.
         */
        FileLeftAnswer: {
            /**
             * Path
             * @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /** Reason */
            reason: string;
        };
        /**
         * FileLinkTarget
         * @description Where a symbolic link leads within the project.
         */
        FileLinkTarget: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "file" | "folder" | "link" | "other";
            /** Path */
            path: string;
        };
        /**
         * FilePosition
         * @description A place in a text.
         */
        FilePosition: {
            /**
             * Column
             * @description From 1, in code points.
             */
            column: number;
            /**
             * Line
             * @description From 1.
             */
            line: number;
        };
        /**
         * FileProblem
         * @description What a language server reports for a part of a file.
         */
        FileProblem: {
            /**
             * Code
             * @description Its rule or number there.
             */
            code: string | null;
            /** @description Behind the last character. */
            end: components["schemas"]["FilePosition"];
            /**
             * Message
             * @description At most 2,000 characters, without control characters.
             */
            message: string;
            /**
             * Severity
             * @enum {string}
             */
            severity: "error" | "warning" | "information" | "hint";
            /**
             * Source
             * @description Which program reports it.
             */
            source: string | null;
            start: components["schemas"]["FilePosition"];
        };
        /**
         * FileProblems
         * @description What is wrong in a file. `known`: the answer is for the present content. `checking`: the server has not
         *     answered for it yet; ask again. `no_server`: no language server is known for the file. `not_installed`:
         *     the server is not there. `not_trusted`: nothing of the project runs. `unavailable`: there is no answer,
         *     for `reason`. Only with `known` does an empty list mean that nothing is wrong.
         */
        FileProblems: {
            /** Items */
            items: components["schemas"]["FileProblem"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Path
             * @description The real path, links followed, relative to the project's folder.
             */
            path: string;
            /**
             * Reason
             * @description Why the problems are not known, in words. With `known`: what the server complains of, such as missing dependencies, else null.
             */
            reason: string | null;
            /**
             * Server
             * @description The name of the server that answered.
             */
            server: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "known" | "checking" | "no_server" | "not_installed" | "not_trusted" | "unavailable";
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * FileText
         * @description Lines of a text file.
         */
        FileText: {
            /**
             * Digest
             * @description XXH3 in 128 bits of the whole file, in hexadecimal; null when it is too large.
             */
            digest: string | null;
            /**
             * Encoding
             * @description The encoding in the file; `lines` are always Unicode.
             */
            encoding: string;
            /**
             * First Line
             * @description The number of the first of `lines`, from 1.
             */
            first_line: number;
            /**
             * Line Ending
             * @description Of the lines that are shown.
             * @enum {string}
             */
            line_ending: "lf" | "crlf" | "mixed";
            /**
             * Lines
             * @description Without their ends. Of a line beyond 2,000 characters the beginning, and ` [truncated]`.
             */
            lines: string[];
            /** Modified At */
            modified_at: string | null;
            /**
             * Next Line
             * @description The `line` of the next request; null at the end.
             */
            next_line: number | null;
            /**
             * Path
             * @description The real path, links followed, relative to the project's folder.
             */
            path: string;
            /** Size */
            size: number;
            /**
             * Total Lines
             * @description Null when the file is too large to be counted.
             */
            total_lines: number | null;
        };
        /**
         * FileTreePage
         * @description A page of a folder's entries: folders before files, each folder directly before what is in it.
         */
        FileTreePage: {
            /**
             * Complete
             * @description False when there are more entries than are counted.
             */
            complete: boolean;
            /**
             * Folder
             * @description The listed folder, links followed; empty for the project's folder.
             */
            folder: string;
            git: components["schemas"]["GitStateAnswer"];
            /** Items */
            items: components["schemas"]["FileEntry"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * FileWarning
         * @description An instruction file or a skill that cannot be used as it is, or not as a whole.
         */
        FileWarning: {
            /** File */
            file: string;
            /** Reason */
            reason: string;
        };
        /**
         * FlagCompaction
         * @example {
         *       "flag": "good",
         *       "notes": "Kept what matters."
         *     }
         */
        FlagCompaction: {
            /** Flag */
            flag: ("good" | "bad" | "neutral") | null;
            /** Notes */
            notes?: string | null;
        };
        /**
         * ForkSession
         * @example {
         *       "message_id": "msg_01JZ0000000000000000000000"
         *     }
         */
        ForkSession: {
            /**
             * Message Id
             * @description The last message of the fork; a message of the root agent.
             */
            message_id: string;
        };
        /**
         * FsRequirementAnswer
         * @description The cage must allow the caller to read (`ro`) or write (`rw`) the paths of the call.
         */
        FsRequirementAnswer: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "fs";
            /**
             * Mode
             * @enum {string}
             */
            mode: "ro" | "rw";
            /**
             * Path
             * @default caller
             * @constant
             */
            path?: "caller";
        };
        /**
         * GitBranchAnswer
         * @description A branch of the repository, or with `remote` a remote-tracking branch.
         */
        GitBranchAnswer: {
            /** Ahead */
            ahead: number;
            /** Behind */
            behind: number;
            /** Commit */
            commit: string;
            /** Current */
            current: boolean;
            /**
             * Elsewhere
             * @description Whether another working tree has it checked out.
             */
            elsewhere: boolean;
            /** Name */
            name: string;
            /** Remote */
            remote: boolean;
            /**
             * Subject
             * @description The first line of its newest commit.
             */
            subject: string;
            /** Upstream */
            upstream: string | null;
            /**
             * Upstream Gone
             * @description Whether its upstream branch no longer exists.
             */
            upstream_gone: boolean;
        };
        /**
         * GitCommitAnswer
         * @description A commit that was made.
         */
        GitCommitAnswer: {
            /**
             * Branch
             * @description Null when HEAD is detached.
             */
            branch: string | null;
            /** Commit */
            commit: string;
            /**
             * Files
             * @description The first 100 files that it changes, by their paths in the repository.
             */
            files: string[];
            /** Parents */
            parents: string[];
            /** Subject */
            subject: string;
            /** Total Files */
            total_files: number;
        };
        /**
         * GitCountsAnswer
         * @description The number of files in each state. A file can be in two.
         */
        GitCountsAnswer: {
            /** Conflicted */
            conflicted: number;
            /** Staged */
            staged: number;
            /** Unstaged */
            unstaged: number;
            /** Untracked */
            untracked: number;
        };
        /**
         * GitDiffAnswer
         * @description The diff of one file. It has no hunks when the file is binary, or only its mode differs.
         */
        GitDiffAnswer: {
            /** Binary */
            binary: boolean;
            /** Hunks */
            hunks: components["schemas"]["HunkAnswer"][];
            /** New Mode */
            new_mode: string | null;
            /** Old Mode */
            old_mode: string | null;
            /** Path */
            path: string;
            /** Staged */
            staged: boolean;
        };
        /**
         * GitFileAnswer
         * @description A file that differs from the last commit.
         */
        GitFileAnswer: {
            /**
             * Conflict
             * @description How both sides of a merge changed it, as `both_modified`.
             */
            conflict: string | null;
            /**
             * Old Path
             * @description The earlier path of a staged rename.
             */
            old_path: string | null;
            /**
             * Path
             * @description Relative to the project. A name that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Staged
             * @description From the last commit to the index.
             */
            staged: ("added" | "modified" | "deleted" | "renamed") | null;
            /** @description Lines from the last commit to the index; null for a binary file, submodule or conflict. */
            staged_lines: components["schemas"]["GitLinesAnswer"] | null;
            /**
             * Unstaged
             * @description From the index to the working tree.
             */
            unstaged: ("added" | "modified" | "deleted" | "renamed") | null;
            /** @description Lines from the index to the working tree; null also for an untracked file. */
            unstaged_lines: components["schemas"]["GitLinesAnswer"] | null;
            /** Untracked */
            untracked: boolean;
        };
        /**
         * GitHeadAnswer
         * @description A branch, and whether it is checked out now.
         */
        GitHeadAnswer: {
            /** Branch */
            branch: string;
            /** Commit */
            commit: string;
            /** Switched */
            switched: boolean;
        };
        /**
         * GitLinesAnswer
         * @description The number of lines that a file has more and less.
         */
        GitLinesAnswer: {
            /** Additions */
            additions: number;
            /** Deletions */
            deletions: number;
        };
        /**
         * GitStagingAnswer
         * @description What was staged or unstaged, and the state after it.
         */
        GitStagingAnswer: {
            counts: components["schemas"]["GitCountsAnswer"];
            /** Paths */
            paths: string[];
        };
        /**
         * GitStateAnswer
         * @description What git says of the project. `none`: it is no repository. `pending`: git takes long; ask again.
         *     `unavailable`: git failed, for `reason`. Only with `ok` do the entries have `git`.
         */
        GitStateAnswer: {
            /**
             * Branch
             * @description Null with a detached `HEAD`.
             */
            branch: string | null;
            /**
             * Commit
             * @description The last commit; null before the first.
             */
            commit: string | null;
            /** Reason */
            reason: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "ok" | "none" | "pending" | "unavailable";
        };
        /**
         * GitStatusAnswer
         * @description The state of the repository, and a page of the files that differ.
         */
        GitStatusAnswer: {
            /**
             * Ahead
             * @description Commits that the upstream branch lacks; null without an upstream.
             */
            ahead: number | null;
            /** Behind */
            behind: number | null;
            /**
             * Branch
             * @description Null when HEAD is detached.
             */
            branch: string | null;
            /**
             * Commit
             * @description Null before the first commit.
             */
            commit: string | null;
            counts: components["schemas"]["GitCountsAnswer"];
            /** Items */
            items: components["schemas"]["GitFileAnswer"][];
            /**
             * Left Out
             * @description Files of the daemon in the project, such as its settings. kaged hides them from git, so they are not compared.
             */
            left_out: string[];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Operation
             * @description The operation in progress.
             */
            operation: ("rebase" | "am" | "merge" | "cherry_pick" | "revert" | "bisect") | null;
            /**
             * Staged Outside
             * @description Staged files outside of the project. A commit without `paths` includes them.
             */
            staged_outside: number;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
            /** Upstream */
            upstream: string | null;
        };
        /** Health */
        Health: {
            /**
             * Status
             * @constant
             */
            status: "ok";
            /** Version */
            version: string;
        };
        /**
         * HookAnswer
         * @description A hook: a command that runs at an event. Its runs are those in sessions since the daemon started.
         */
        HookAnswer: {
            /**
             * Agents
             * @description Globs of agent paths; null: as usual for the event.
             */
            agents: string[] | null;
            /**
             * Cage
             * @description Null: the project read-only, and no network.
             */
            cage: "disabled" | {
                [key: string]: unknown;
            } | null;
            /**
             * Command
             * @description A shell line, or program and arguments.
             */
            command: string | string[];
            /**
             * Event
             * @enum {string}
             */
            event: "before_tool" | "after_tool" | "on_prompt" | "on_stop";
            /** Failures */
            failures: number;
            /**
             * Input
             * @enum {string}
             */
            input: "kaged" | "claude";
            /** @description Kept when later runs succeed. */
            last_failure: components["schemas"]["HookFailureAnswer"] | null;
            /** Last Run At */
            last_run_at: string | null;
            /**
             * Match
             * @description Empty: every call.
             */
            match: components["schemas"]["HookMatchAnswer"][];
            /** Name */
            name: string;
            /** Runs */
            runs: number;
            /**
             * Source
             * @description The operator's config file, or the project file.
             * @enum {string}
             */
            source: "config" | "project";
            /**
             * State
             * @description How its newest run ended. A denial is no failure.
             * @enum {string}
             */
            state: "not_run" | "ok" | "failed";
            /** Timeout Seconds */
            timeout_seconds: number;
        };
        /**
         * HookFailureAnswer
         * @description The newest failure of a hook.
         */
        HookFailureAnswer: {
            /**
             * At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            at: string;
            /** Reason */
            reason: string;
        };
        /**
         * HookList
         * @description All hooks in the order in which they run, by event, on one page.
         */
        HookList: {
            /** Items */
            items: components["schemas"]["HookAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * HookMatchAnswer
         * @description Which tool calls a hook is for, as a permission rule says it.
         */
        HookMatchAnswer: {
            /** Pattern */
            pattern: string;
            /** Permission */
            permission: string;
        };
        /**
         * HookTestAnswer
         * @description How the hook ended, and what would follow.
         */
        HookTestAnswer: {
            /**
             * Context
             * @description What the model would read.
             */
            context: string;
            /**
             * Decision
             * @description `failed`: the hook could not be run, was killed, or ended with another exit code than 0 and 2. Before a tool call that is a denial, else a warning.
             * @enum {string}
             */
            decision: "continue" | "ask" | "deny" | "failed";
            /** Duration Ms */
            duration_ms: number;
            /**
             * Event
             * @enum {string}
             */
            event: "before_tool" | "after_tool" | "on_prompt" | "on_stop";
            /** Exit Code */
            exit_code: number | null;
            /** Name */
            name: string;
            /** Reason */
            reason: string;
            /**
             * Source
             * @enum {string}
             */
            source: "config" | "project";
            /**
             * Stderr
             * @description The beginning of it.
             */
            stderr: string;
            /**
             * Stdout
             * @description The beginning of it.
             */
            stdout: string;
            /** Timed Out */
            timed_out: boolean;
        };
        /**
         * HookTestRequest
         * @description The input of the hook. An example stands for each value that is missing. No tool is called.
         * @example {
         *       "arguments": {
         *         "command": "git commit -m x"
         *       },
         *       "tool": "shell.bash"
         *     }
         */
        HookTestRequest: {
            /**
             * Agent Path
             * @default primary
             */
            agent_path?: string;
            /**
             * Answer
             * @description The agent's last words, for `on_stop`.
             * @default An example.
             */
            answer?: string;
            /**
             * Arguments
             * @default {
             *       "content": "An example.\n",
             *       "path": "example.txt"
             *     }
             */
            arguments?: {
                [key: string]: unknown;
            };
            /**
             * Is Error
             * @default false
             */
            is_error?: boolean;
            /**
             * Prompt
             * @default An example.
             */
            prompt?: string;
            /**
             * Result
             * @default An example.
             */
            result?: unknown;
            /**
             * Stop Reason
             * @default stop
             */
            stop_reason?: string;
            /**
             * Tool
             * @default file.write
             */
            tool?: string;
        };
        /**
         * HunkAnswer
         * @description A hunk of a diff. Each line is its sign and its text without the newline: `" "` in both files, `"-"` in
         *     the old, `"+"` in the new one. `"\\"` marks a last line without a newline.
         */
        HunkAnswer: {
            /**
             * Digest
             * @description Identifies this hunk in this state of the file, to revert, stage or unstage it.
             */
            digest: string;
            /** Header */
            header: string;
            /** Lines */
            lines: [
                " " | "-" | "+" | "\\",
                string
            ][];
            /** New Lines */
            new_lines: number;
            /** New Start */
            new_start: number;
            /** Old Lines */
            old_lines: number;
            /** Old Start */
            old_start: number;
        };
        /**
         * ImageAttachment
         * @description An image, base64 encoded.
         */
        ImageAttachment: {
            /** Data */
            data: string;
            /**
             * Media Type
             * @enum {string}
             */
            media_type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
            /**
             * Type
             * @default image
             * @constant
             */
            type?: "image";
        };
        /** ImageUrl */
        ImageUrl: {
            /** Url */
            url: string;
        };
        /**
         * ImportedSessionDetail
         * @description An imported session, with warnings about its file.
         */
        ImportedSessionDetail: {
            /**
             * Active Run
             * @description The active run of the root agent, also while it waits for an answer or for capacity.
             */
            active_run: string | null;
            /** Archived At */
            archived_at: string | null;
            /**
             * Background Runs
             * @description Running subagents that no agent waits for. Cancelling the session ends them.
             */
            background_runs: string[];
            /** Context */
            context: components["schemas"]["ContextUse"][];
            /** Context Overflow */
            context_overflow: boolean;
            cost_usd: components["schemas"]["CostSplit"];
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Headless */
            headless: boolean;
            /** Id */
            id: string;
            /** Issue Number */
            issue_number: number | null;
            /** Kind */
            kind: string;
            /** @description The newest run of the root agent. */
            last_run: components["schemas"]["LastRun"] | null;
            /**
             * Last Seq
             * @description The newest durable event; connect with it as `after_seq`.
             */
            last_seq: number;
            /**
             * Mode
             * @description How much the session asks; see `GET /modes`.
             * @enum {string}
             */
            mode: "plan" | "ask" | "edits" | "full";
            /** Overrides */
            overrides: {
                [key: string]: unknown;
            };
            /**
             * Pending Interactions
             * @description The number of open questions.
             */
            pending_interactions: number;
            /** Project Id */
            project_id: string;
            /** Queued Messages */
            queued_messages: number;
            /**
             * Seen Run Id
             * @description The newest run of the root agent whose end a person has seen; a later one is unread.
             */
            seen_run_id: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "idle" | "queued" | "running" | "paused" | "archived";
            /** State Reason */
            state_reason: string | null;
            /** Title */
            title: string;
            tokens: components["schemas"]["Tokens"];
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
            /** Warnings */
            warnings: string[];
            /**
             * Workspace Id
             * @description Its workspace; null when it works in the project's folder.
             */
            workspace_id: string | null;
        };
        /**
         * InboxItem
         * @description Something that waits for a person. `id` is the id of the question, the proposal, the compaction or the
         *     run; the operations of that noun answer it. A run that ended leaves the inbox when `PATCH /sessions/{id}`
         *     names it as `seen_run_id`, or the session goes on; one that is near a limit with
         *     `POST /runs/{id}/see-warnings`, or when it ends.
         */
        InboxItem: {
            /**
             * Agent Path
             * @description The agent that asks, or that ran.
             */
            agent_path: string;
            /**
             * At
             * Format: date-time
             * @description Since when it waits.
             * @example 2026-01-02T03:04:05.678Z
             */
            at: string;
            /**
             * Budget
             * @description The limits of which 80 % are used, or more, for `budget_warning`.
             */
            budget: components["schemas"]["BudgetUse"][] | null;
            /**
             * Error
             * @description Why the run failed, for `failed_run`.
             */
            error: string | null;
            /**
             * Failure
             * @description The whole error of the run, as `error` of `GET /runs/{id}`, for `failed_run`.
             */
            failure: {
                [key: string]: unknown;
            } | null;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "question" | "todo_proposal" | "compaction" | "budget" | "budget_warning" | "failed_run" | "finished_run";
            /**
             * Project
             * @description The slug of the project.
             */
            project: string;
            /** Project Id */
            project_id: string;
            /**
             * Proposal
             * @description The entry for the checklist, for `todo_proposal`.
             */
            proposal: string | null;
            /** @description The open question, for `question`. */
            question: components["schemas"]["InteractionAnswer"] | null;
            /** @description The run, for `budget`, `budget_warning`, `failed_run` and `finished_run`. For `budget`, its `reason` is the limit: `budget_tokens`, `budget_usd` or `budget_seconds`. */
            run: components["schemas"]["LastRun"] | null;
            /** Session Id */
            session_id: string;
            /** Session Title */
            session_title: string;
            /**
             * Summary
             * @description The beginning of the agent's last answer, up to 500 characters, for `finished_run`.
             */
            summary: string | null;
        };
        /**
         * InteractionAnswer
         * @description A question and its outcome. `kind` decides the shape of `request` and `answer`.
         *
         *     `permission`: `request` has `tool`, `permission`, `subjects` (what needs consent, complete), `reason`,
         *     `source` (`rule` or `watchdog`) and `suggestions` (the rules that `always` stores); `answer` has
         *     `answer`, and `comment`, `rules`, `scope` or `covered_by` where they apply. `ask`: `summary` and
         *     `questions`, each with `id`, `title`, `description`, `options`, `multiple`, `allow_other`; `answers` by
         *     id. `question`: `questions`, each with `question`, `header`, `options`, `multi_select`; `answers` in
         *     their order. `form`: `summary` and `fields`, each with `name`, `label`, `type`, `required`,
         *     `description`; `values` by name, a file being `{upload_id, path, name, size}`. `plan`: `plan` (Markdown);
         *     `state` (`accepted`, `edited` or `rejected`), and `mode`, `plan` or `comment` where they apply.
         */
        InteractionAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Answer */
            answer: {
                [key: string]: unknown;
            } | null;
            /** Answered By */
            answered_by: string | null;
            /** @description Of an open `permission`. */
            call?: components["schemas"]["AskedCall"] | null;
            /** Closed At */
            closed_at: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Id */
            id: string;
            /** Kind */
            kind: string;
            /** Request */
            request: {
                [key: string]: unknown;
            };
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "answered" | "cancelled" | "expired";
            /** Tool Call Id */
            tool_call_id: string | null;
        };
        /**
         * InvokeWorkflow
         * @example {
         *       "inputs": {
         *         "branch": "main",
         *         "dry_run": true
         *       },
         *       "issue_number": 42
         *     }
         */
        InvokeWorkflow: {
            /** @description Start several runs, each in its own workspace. They queue like other runs. */
            attempts?: components["schemas"]["AskAttempts"] | null;
            /**
             * Inputs
             * @description Values by input name; for a `file`, the id of an upload.
             */
            inputs?: {
                [key: string]: unknown;
            };
            /**
             * Issue Number
             * @description The issue of the run.
             */
            issue_number?: number | null;
            /**
             * Workspace
             * @description Where the run's session works. Default: as the project file says. Not `shared` with `attempts`, which have workspaces.
             */
            workspace?: ("shared" | "worktree") | null;
        };
        /**
         * Invoker
         * @description The author of a run. An agent acts with the authority of an operator; its `id` is `agent:primary`.
         */
        Invoker: {
            /** Id */
            id: string;
            /**
             * Type
             * @enum {string}
             */
            type: "operator" | "guest";
        };
        /**
         * IssueAnswer
         * @description One issue.
         */
        IssueAnswer: {
            /**
             * Assignment
             * @description `primary`, `workflow:<name>` or `session:<session id>`
             */
            assignment: string | null;
            /** Body */
            body: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /** Number */
            number: number;
            /**
             * Original Body
             * @description The original text, after an edit.
             */
            original_body: string | null;
            /** Project Id */
            project_id: string;
            /** Resolved At */
            resolved_at: string | null;
            /** Resolved By */
            resolved_by: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Title */
            title: string;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
        };
        /**
         * IssueAttachments
         * @description All files of an issue, on one page.
         */
        IssueAttachments: {
            /** Items */
            items: components["schemas"]["UploadAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * IssueDetailAnswer
         * @description One issue with its history, links, files and checklist counts. `updates` are the newest 200, oldest
         *     first. `legal_transitions` are the statuses that it can change to.
         */
        IssueDetailAnswer: {
            /**
             * Assignment
             * @description `primary`, `workflow:<name>` or `session:<session id>`
             */
            assignment: string | null;
            /** Attachments */
            attachments: components["schemas"]["UploadAnswer"][];
            /** Body */
            body: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /**
             * Earlier Updates
             * @description How many updates are older; `GET .../updates` has all.
             */
            earlier_updates: number;
            /** Id */
            id: string;
            /** Legal Transitions */
            legal_transitions: ("open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened")[];
            /** Links */
            links: components["schemas"]["IssueLinkAnswer"][];
            /** Number */
            number: number;
            /**
             * Original Body
             * @description The original text, after an edit.
             */
            original_body: string | null;
            /** Project Id */
            project_id: string;
            /** Resolved At */
            resolved_at: string | null;
            /** Resolved By */
            resolved_by: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Title */
            title: string;
            todo_counts: components["schemas"]["TodoCountsAnswer"];
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
            /** Updates */
            updates: components["schemas"]["IssueUpdateAnswer"][];
        };
        /**
         * IssueLinkAnswer
         * @description A link, seen from one of its issues; `outgoing` is false when it starts at the other one.
         */
        IssueLinkAnswer: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "blocks" | "relates" | "duplicates";
            /** Number */
            number: number;
            /** Outgoing */
            outgoing: boolean;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Title */
            title: string;
        };
        /**
         * IssueLinks
         * @description All links of an issue, on one page.
         */
        IssueLinks: {
            /** Items */
            items: components["schemas"]["IssueLinkAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * IssuePage
         * @description One page of issues, newest first; a search returns the best matches first.
         */
        IssuePage: {
            /** Items */
            items: components["schemas"]["IssueSummary"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * IssueSummary
         * @description One issue of a list, without its text.
         */
        IssueSummary: {
            /** Assignment */
            assignment: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /** Number */
            number: number;
            /** Project Id */
            project_id: string;
            /** Resolved At */
            resolved_at: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Title */
            title: string;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
        };
        /**
         * IssueUpdateAnswer
         * @description One entry of the history. `metadata` has the old and the new value.
         */
        IssueUpdateAnswer: {
            /** Author */
            author: string;
            /** Body */
            body: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "comment" | "status_change" | "title_edit" | "body_edit" | "assignment_change";
            /** Metadata */
            metadata: {
                [key: string]: unknown;
            } | null;
            /**
             * Visibility
             * @enum {string}
             */
            visibility: "all" | "operator_only";
        };
        /**
         * KeptParts
         * @description How many of each stay here, because `include` does not name them.
         */
        KeptParts: {
            /** Attached Files */
            attached_files: number;
            /** Images */
            images: number;
            /** Notes */
            notes: number;
            /** Results */
            results: number;
            /** Subagents */
            subagents: number;
            /** Thinking */
            thinking: number;
        };
        /**
         * LastMerge
         * @description The last merge. `into` is `working_tree` (the checkout's files), a branch, which has `commit`, or
         *     `parent` (the folder of the agent that called the subagent).
         */
        LastMerge: {
            /**
             * At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            at: string;
            /** Commit */
            commit?: string | null;
            /** Into */
            into: string;
        };
        /**
         * LastRun
         * @description The newest run of a session's root agent.
         */
        LastRun: {
            /** Id */
            id: string;
            /**
             * Reason
             * @description Why it ended, for example `stop`, `error` or `stuck`.
             */
            reason: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "running" | "succeeded" | "failed" | "cancelled" | "interrupted";
        };
        /**
         * LaunchLink
         * @description `url` signs one browser in, once.
         */
        LaunchLink: {
            /** Url */
            url: string;
        };
        /**
         * LinkIssue
         * @example {
         *       "kind": "blocks",
         *       "target": 7
         *     }
         */
        LinkIssue: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "blocks" | "relates" | "duplicates";
            /**
             * Target
             * @description The number of the other issue in the same project.
             */
            target: number;
        };
        /** ListedSession */
        ListedSession: {
            /** Archived At */
            archived_at: string | null;
            /** Context Overflow */
            context_overflow: boolean;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Headless */
            headless: boolean;
            /** Id */
            id: string;
            /** Issue Number */
            issue_number: number | null;
            /** Kind */
            kind: string;
            /** @description The newest run of the root agent. */
            last_run?: components["schemas"]["LastRun"] | null;
            /**
             * Mode
             * @description How much the session asks; see `GET /modes`.
             * @enum {string}
             */
            mode: "plan" | "ask" | "edits" | "full";
            /**
             * Pending Interactions
             * @description The number of open questions.
             * @default 0
             */
            pending_interactions?: number;
            /** Project Id */
            project_id: string;
            /**
             * Seen Run Id
             * @description The newest run of the root agent whose end a person has seen; a later one is unread.
             */
            seen_run_id: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "idle" | "queued" | "running" | "paused" | "archived";
            /** State Reason */
            state_reason: string | null;
            /** Title */
            title: string;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
            /**
             * Workspace Id
             * @description Its workspace; null when it works in the project's folder.
             */
            workspace_id: string | null;
        };
        /**
         * LoadProject
         * @example {
         *       "path": "/home/me/shop"
         *     }
         */
        LoadProject: {
            /**
             * Path
             * @description The project's root folder on the daemon's machine.
             */
            path: string;
        };
        /**
         * LogRecord
         * @description One record. `fields` depend on the event; the event `log` has a `message`.
         */
        LogRecord: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Event */
            event: string;
            /** Fields */
            fields: {
                [key: string]: unknown;
            };
            /** Id */
            id: number;
            /**
             * Level
             * @enum {string}
             */
            level: "debug" | "info" | "warning" | "error" | "critical";
            /** Logger */
            logger: string;
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string | null;
        };
        /**
         * MachineFolderAnswer
         * @description A folder on the daemon's machine.
         */
        MachineFolderAnswer: {
            /**
             * Is Project
             * @description Whether it has a project file, so that it can be loaded.
             */
            is_project: boolean;
            /** Name */
            name: string;
            /**
             * Path
             * @description Absolute. Of a symbolic link its own path, not where it leads.
             */
            path: string;
        };
        /**
         * MachineFolderPage
         * @description Folders in one folder, by name.
         */
        MachineFolderPage: {
            /**
             * Complete
             * @description False when the folder has more entries than are looked at.
             */
            complete: boolean;
            /**
             * Is Project
             * @description Whether the folder itself has a project file.
             */
            is_project: boolean;
            /** Items */
            items: components["schemas"]["MachineFolderAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Parent
             * @description The folder around it; null at the top.
             */
            parent: string | null;
            /**
             * Path
             * @description The real path of the folder, links followed.
             */
            path: string;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * McpContentAnswer
         * @description What a server offers beside tools.
         */
        McpContentAnswer: {
            /**
             * Prompts
             * @description Each with its arguments.
             */
            prompts: {
                [key: string]: unknown;
            }[];
            /**
             * Resources
             * @description Each with `uri` or `uri_template`.
             */
            resources: {
                [key: string]: unknown;
            }[];
        };
        /**
         * McpServerAnswer
         * @description An MCP server that agents of a project may use.
         */
        McpServerAnswer: {
            /**
             * Failures
             * @default 0
             */
            failures?: number;
            /**
             * Left Out
             * @description Tools that cannot be used, each with the reason.
             * @default []
             */
            left_out?: string[];
            /**
             * Log
             * @description The last lines of its stderr, oldest first.
             * @default []
             */
            log?: string[];
            /** Name */
            name: string;
            /**
             * Origin
             * @description `config`: the config file; `added`: `kaged mcp add`; `project`: the project file.
             * @enum {string}
             */
            origin: "config" | "added" | "project";
            /** Pid */
            pid?: number | null;
            /**
             * Protocol
             * @description The version of the protocol that is spoken with it.
             */
            protocol?: string | null;
            /**
             * Reason
             * @description Why it is unusable, restarting or disabled.
             */
            reason?: string | null;
            /**
             * Server
             * @description What the server calls itself.
             */
            server?: string | null;
            /**
             * State
             * @description `stopped`: nothing has used it yet. `disabled`: it failed too often.
             * @enum {string}
             */
            state: "unusable" | "stopped" | "starting" | "ready" | "restarting" | "disabled";
            /**
             * Tools
             * @description What it offered when it was asked last.
             * @default []
             */
            tools?: components["schemas"]["McpToolAnswer"][];
            /**
             * Transport
             * @description Null when the declaration is unusable.
             */
            transport: ("stdio" | "http") | null;
        };
        /**
         * McpServerList
         * @description All MCP servers of the project, on one page.
         */
        McpServerList: {
            /** Items */
            items: components["schemas"]["McpServerAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * McpToolAnswer
         * @description A tool as its server lists it.
         */
        McpToolAnswer: {
            /** Description */
            description: string;
            /** Name */
            name: string;
            /** Title */
            title: string;
        };
        /**
         * MergeAnswer
         * @description What a merge changed, or with `dry_run` would change. `conflicts` has the files in which both sides
         *     changed the same lines. `blocked` has the files that cannot be written, each with the reason. With
         *     either, nothing is merged. `diff` has up to 1 MB, and is empty without `dry_run`.
         */
        MergeAnswer: {
            /** Blocked */
            blocked: {
                [key: string]: string;
            };
            /** Commit */
            commit: string | null;
            /** Conflicts */
            conflicts: string[];
            /** Diff */
            diff: string;
            /** Dry Run */
            dry_run: boolean;
            /** Files */
            files: components["schemas"]["MergedFile"][];
            /**
             * Given To Agent
             * @description Whether the agent got the conflicts. If so, nothing is merged.
             */
            given_to_agent: boolean;
            /** Into */
            into: string;
            /**
             * Workspace State
             * @enum {string}
             */
            workspace_state: "creating" | "ready" | "merging" | "merged" | "kept" | "discarded" | "broken";
        };
        /**
         * MergeWorkspace
         * @example {
         *       "dry_run": true,
         *       "into": "working_tree"
         *     }
         */
        MergeWorkspace: {
            /**
             * Conflicts
             * @description `agent`: when both sides changed the same lines, the workspace gets the target's changes with conflict markers, and a message tells the agent to resolve them. Merge again afterwards.
             * @default refuse
             * @enum {string}
             */
            conflicts?: "refuse" | "agent";
            /**
             * Create
             * @description Create the branch `into` if it does not exist, at the commit that is checked out.
             * @default false
             */
            create?: boolean;
            /**
             * Dry Run
             * @description Show what the merge would change; write nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * Hooks
             * @description Run the hooks of the repository. Only for one commit (`squash`) on the branch that is checked out. The project must be trusted.
             * @default false
             */
            hooks?: boolean;
            /**
             * Into
             * @description `working_tree`: the files of the checkout change, and nothing is committed. Otherwise a branch, which gets a commit. If it is checked out, its files change, too.
             * @default working_tree
             */
            into?: string;
            /**
             * Message
             * @description The message of the commit on a branch. Default: the name of the workspace's branch.
             */
            message?: string | null;
            /**
             * Strategy
             * @description For a branch: one commit, or a merge commit that keeps the commits of the workspace.
             * @default squash
             * @enum {string}
             */
            strategy?: "squash" | "merge";
        };
        /**
         * MergedFile
         * @description One file that changes; `additions` and `deletions` are lines, null for binary files.
         */
        MergedFile: {
            /** Additions */
            additions: number | null;
            /** Deletions */
            deletions: number | null;
            /**
             * Path
             * @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Status
             * @description A renamed file is a deleted and an added one.
             * @enum {string}
             */
            status: "added" | "modified" | "deleted" | "mode";
        };
        /**
         * MessageAnswer
         * @description One message. `position` is null while it is queued.
         */
        MessageAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Complete */
            complete: boolean;
            /** Content */
            content: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Delivery */
            delivery: string;
            /** Details */
            details: {
                [key: string]: unknown;
            };
            /** Id */
            id: string;
            /** Position */
            position: number | null;
            /** Role */
            role: string;
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string;
            /** Superseded */
            superseded: boolean;
            /**
             * Superseded By
             * @description The rollback (`rbk_`) or compaction (`cmp_`) that superseded it.
             */
            superseded_by: string | null;
        };
        /** ModeAnswer */
        ModeAnswer: {
            /** Description */
            description: string;
            /** Label */
            label: string;
            /**
             * Name
             * @enum {string}
             */
            name: "plan" | "ask" | "edits" | "full";
            /** Rules */
            rules: components["schemas"]["RuleAnswer"][];
        };
        /**
         * ModeList
         * @description All modes, on one page.
         */
        ModeList: {
            /** Items */
            items: components["schemas"]["ModeAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * Model
         * @description An agent. Its id is `project/agent`.
         */
        Model: {
            /** Created */
            created: number;
            /** Id */
            id: string;
            /**
             * Object
             * @default model
             * @constant
             */
            object?: "model";
            /**
             * Owned By
             * @default kaged
             * @constant
             */
            owned_by?: "kaged";
        };
        /**
         * ModelAnswer
         * @description An alias and its `provider:model` candidates, in order. `problem` says why none of them can be called;
         *     `context_window` is that of the first candidate, in tokens; `input_usd` and `output_usd` are its prices
         *     for a million tokens. Null is unknown: prices of a public provider are known from its first call on.
         */
        ModelAnswer: {
            /** Alias */
            alias: string;
            /** Chain */
            chain: string[];
            /** Context Window */
            context_window: number | null;
            /** Input Usd */
            input_usd: number | null;
            /** Output Usd */
            output_usd: number | null;
            /** Problem */
            problem: string | null;
            /** Ready */
            ready: boolean;
        };
        /** ModelList */
        ModelList: {
            /** Data */
            data: components["schemas"]["Model"][];
            /**
             * Object
             * @default list
             * @constant
             */
            object?: "list";
        };
        /**
         * NetRequirementAnswer
         * @description The cage must allow connections to `target`, a host or `host:port`.
         */
        NetRequirementAnswer: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "net";
            /** Target */
            target: string;
        };
        /**
         * NextPart
         * @description One part of the system prompt of the next call, with its origin: a file, or the name of a plugin.
         */
        NextPart: {
            /** Name */
            name: string;
            /** Origin */
            origin: string | null;
            /** Text */
            text: string;
            /**
             * Tokens
             * @description Estimated.
             */
            tokens: number;
        };
        /** PageOf[AgentToolAnswer] */
        PageOf_AgentToolAnswer_: {
            /** Items */
            items: components["schemas"]["AgentToolAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[AttemptGroupAnswer] */
        PageOf_AttemptGroupAnswer_: {
            /** Items */
            items: components["schemas"]["AttemptGroupAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[AuditEntry] */
        PageOf_AuditEntry_: {
            /** Items */
            items: components["schemas"]["AuditEntry"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[CheckpointAnswer] */
        PageOf_CheckpointAnswer_: {
            /** Items */
            items: components["schemas"]["CheckpointAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[CompactionAnswer] */
        PageOf_CompactionAnswer_: {
            /** Items */
            items: components["schemas"]["CompactionAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[GitBranchAnswer] */
        PageOf_GitBranchAnswer_: {
            /** Items */
            items: components["schemas"]["GitBranchAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[InboxItem] */
        PageOf_InboxItem_: {
            /** Items */
            items: components["schemas"]["InboxItem"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[InteractionAnswer] */
        PageOf_InteractionAnswer_: {
            /** Items */
            items: components["schemas"]["InteractionAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[IssueUpdateAnswer] */
        PageOf_IssueUpdateAnswer_: {
            /** Items */
            items: components["schemas"]["IssueUpdateAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[ListedSession] */
        PageOf_ListedSession_: {
            /** Items */
            items: components["schemas"]["ListedSession"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[LogRecord] */
        PageOf_LogRecord_: {
            /** Items */
            items: components["schemas"]["LogRecord"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[MessageAnswer] */
        PageOf_MessageAnswer_: {
            /** Items */
            items: components["schemas"]["MessageAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[ModelAnswer] */
        PageOf_ModelAnswer_: {
            /** Items */
            items: components["schemas"]["ModelAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[PermissionAnswer] */
        PageOf_PermissionAnswer_: {
            /** Items */
            items: components["schemas"]["PermissionAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[ProjectAnswer] */
        PageOf_ProjectAnswer_: {
            /** Items */
            items: components["schemas"]["ProjectAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[ProposalAnswer] */
        PageOf_ProposalAnswer_: {
            /** Items */
            items: components["schemas"]["ProposalAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[ProviderAnswer] */
        PageOf_ProviderAnswer_: {
            /** Items */
            items: components["schemas"]["ProviderAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[RevertAnswer] */
        PageOf_RevertAnswer_: {
            /** Items */
            items: components["schemas"]["RevertAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[RollbackAnswer] */
        PageOf_RollbackAnswer_: {
            /** Items */
            items: components["schemas"]["RollbackAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[RunAnswer] */
        PageOf_RunAnswer_: {
            /** Items */
            items: components["schemas"]["RunAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[SessionAgent] */
        PageOf_SessionAgent_: {
            /** Items */
            items: components["schemas"]["SessionAgent"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[TokenAnswer] */
        PageOf_TokenAnswer_: {
            /** Items */
            items: components["schemas"]["TokenAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[ToolAnswer] */
        PageOf_ToolAnswer_: {
            /** Items */
            items: components["schemas"]["ToolAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[WorkflowAnswer] */
        PageOf_WorkflowAnswer_: {
            /** Items */
            items: components["schemas"]["WorkflowAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[WorkflowRunSummary] */
        PageOf_WorkflowRunSummary_: {
            /** Items */
            items: components["schemas"]["WorkflowRunSummary"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /** PageOf[WorkspaceAnswer] */
        PageOf_WorkspaceAnswer_: {
            /** Items */
            items: components["schemas"]["WorkspaceAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * PauseSession
         * @example {
         *       "reason": "lunch"
         *     }
         */
        PauseSession: {
            /** Reason */
            reason?: string | null;
        };
        /** PermissionAnswer */
        PermissionAnswer: {
            /**
             * Action
             * @enum {string}
             */
            action: "allow" | "deny" | "ask";
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /**
             * Effective
             * @description False when the project file overrules it for every agent, so that it has no effect.
             */
            effective: boolean;
            /** Id */
            id: string;
            /** @description The rule of the project file that overrules it; null when it is effective. */
            overruled_by: components["schemas"]["RuleAnswer"] | null;
            /** Pattern */
            pattern: string;
            /** Permission */
            permission: string;
            /** Project Id */
            project_id: string;
            /**
             * Session Id
             * @description Null for a rule of the whole project.
             */
            session_id: string | null;
        };
        /**
         * PickAnswer
         * @description What a pick did, or with `dry_run` would do. `discarded` has the sessions whose workspaces are
         *     discarded. It is empty when the agent gets the conflicts, and when the attempt was already picked.
         */
        PickAnswer: {
            attempt_group: components["schemas"]["AttemptGroupAnswer"];
            /** Discarded */
            discarded: string[];
            merge: components["schemas"]["MergeAnswer"];
        };
        /**
         * PickAttempt
         * @example {
         *       "dry_run": true,
         *       "into": "working_tree",
         *       "session_id": "ses_01JZ0000000000000000000000"
         *     }
         */
        PickAttempt: {
            /**
             * Conflicts
             * @description `agent`: when both sides changed the same lines, the workspace gets the target's changes with conflict markers, and a message tells the agent to resolve them. Merge again afterwards.
             * @default refuse
             * @enum {string}
             */
            conflicts?: "refuse" | "agent";
            /**
             * Create
             * @description Create the branch `into` if it does not exist, at the commit that is checked out.
             * @default false
             */
            create?: boolean;
            /**
             * Dry Run
             * @description Show what the merge would change; write nothing.
             * @default false
             */
            dry_run?: boolean;
            /**
             * Hooks
             * @description Run the hooks of the repository. Only for one commit (`squash`) on the branch that is checked out. The project must be trusted.
             * @default false
             */
            hooks?: boolean;
            /**
             * Into
             * @description `working_tree`: the files of the checkout change, and nothing is committed. Otherwise a branch, which gets a commit. If it is checked out, its files change, too.
             * @default working_tree
             */
            into?: string;
            /**
             * Message
             * @description The message of the commit on a branch. Default: the name of the workspace's branch.
             */
            message?: string | null;
            /**
             * Session Id
             * @description The session of the attempt to merge.
             */
            session_id: string;
            /**
             * Strategy
             * @description For a branch: one commit, or a merge commit that keeps the commits of the workspace.
             * @default squash
             * @enum {string}
             */
            strategy?: "squash" | "merge";
        };
        /**
         * PluginAnswer
         * @description A plugin as one agent declares it.
         */
        PluginAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Description */
            description: string | null;
            /** Failures */
            failures: number;
            /** Hooks */
            hooks: string[];
            /**
             * Isolation
             * @enum {string}
             */
            isolation: "agent" | "project";
            /**
             * Log
             * @description The last lines of its log and stderr, oldest first.
             */
            log: string[];
            /**
             * Memory Bytes
             * @description Of its process and its child processes.
             */
            memory_bytes: number;
            /** Name */
            name: string;
            /**
             * Package
             * @description As written in the project file.
             */
            package: string;
            /** Pid */
            pid: number | null;
            /**
             * Reason
             * @description Why it is unusable, restarting or disabled.
             */
            reason: string | null;
            /** Roles */
            roles: string[];
            /**
             * State
             * @description `unusable`: manifest or config are missing or wrong. `disabled`: it failed too often and is not started until an operator enables it.
             * @enum {string}
             */
            state: "unusable" | "stopped" | "starting" | "ready" | "restarting" | "disabled";
            /**
             * Tools
             * @description Full names; an agent gets those that its `tools` enable.
             */
            tools: string[];
            /**
             * Version
             * @description Null when the manifest is unusable.
             */
            version: string | null;
        };
        /**
         * PluginList
         * @description All plugins of the project's agents, on one page.
         */
        PluginList: {
            /** Items */
            items: components["schemas"]["PluginAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * PostMessage
         * @example {
         *       "content": "Why does test_total fail?"
         *     }
         */
        PostMessage: {
            /**
             * Attachments
             * @default []
             */
            attachments?: components["schemas"]["ImageAttachment"][];
            /** @description Post the message to several forks of the session, each in its own workspace. The session itself does not get it. Not with `model` or `mode`. */
            attempts?: components["schemas"]["AskAttempts"] | null;
            /** Content */
            content: string;
            /**
             * Mode
             * @description During an active run: queue the message (`queue`, the default), steer the run at its next message boundary (`steer`), or refuse the message (`reject`).
             */
            mode?: ("queue" | "steer" | "reject") | null;
            /**
             * Model
             * @description An alias or `provider:model` for the run of this message.
             */
            model?: string | null;
            /**
             * Upload Ids
             * @description Uploaded files. The session owns them. They are copied to where it works, `.kaged/tmp/<session>/<name>`, and the text names their paths.
             * @default []
             */
            upload_ids?: string[];
        };
        /**
         * PostedMessageAnswer
         * @description The stored message, and the run that it started (null when it was queued or steered). With `attempts`
         *     it is the message of the first attempt, and `attempt_group` is what was started.
         */
        PostedMessageAnswer: {
            attempt_group?: components["schemas"]["AttemptGroupAnswer"] | null;
            message: components["schemas"]["MessageAnswer"];
            /** Queued */
            queued: boolean;
            run: components["schemas"]["RunAnswer"] | null;
        };
        /**
         * PreviewedMessage
         * @description A message that would remain, shortened. `id` is null for a summary that is not stored yet.
         */
        PreviewedMessage: {
            /** Always Keep */
            always_keep: boolean;
            /** Content */
            content: string;
            /** Id */
            id: string | null;
            /** Role */
            role: string;
            /** Tokens */
            tokens: number;
        };
        /** ProjectAnswer */
        ProjectAnswer: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Description */
            description: string;
            /** Id */
            id: string;
            /**
             * Loaded At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            loaded_at: string;
            /** Root */
            root: string;
            /** Slug */
            slug: string;
            /** State */
            state: string;
            trust: components["schemas"]["TrustAnswer"];
        };
        /** ProjectDetail */
        ProjectDetail: {
            /** Compiled Digest */
            compiled_digest: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Description */
            description: string;
            /**
             * Diagnostics
             * @description Diagnostics of the last load, including warnings.
             */
            diagnostics: components["schemas"]["Diagnostic"][];
            /** Id */
            id: string;
            /**
             * Loaded At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            loaded_at: string;
            /** Root */
            root: string;
            /** Slug */
            slug: string;
            /** State */
            state: string;
            trust: components["schemas"]["TrustAnswer"];
        };
        /**
         * PromptAnswer
         * @description One agent's prompt: its file below the project's root, and the text of the next call.
         */
        PromptAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Content */
            content: string;
            /** Digest */
            digest: string;
            /** File */
            file: string;
            /** File Digest */
            file_digest: string;
            /**
             * Parts
             * @description The whole system prompt of the next call, in order; empty for the prompt of a workflow.
             */
            parts: components["schemas"]["NextPart"][];
            /**
             * Pending
             * @description The edit applies from the end of the pause on.
             */
            pending: boolean;
            /** @description What was last sent; null before the first call. */
            sent: components["schemas"]["SentPromptAnswer"] | null;
            /**
             * Source
             * @description `edited`: this session has an edit.
             * @enum {string}
             */
            source: "file" | "edited";
            /**
             * Warnings
             * @description About instruction files and skills.
             */
            warnings: components["schemas"]["FileWarning"][];
        };
        /** PromptDetails */
        PromptDetails: {
            /** Cached Tokens */
            cached_tokens: number;
        };
        /** PromptEditAnswer */
        PromptEditAnswer: {
            /** Applied At */
            applied_at: string | null;
            /** Checkpoint Id */
            checkpoint_id: string;
            /**
             * Edited At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            edited_at: string;
            /** Edited By */
            edited_by: string;
            /** Id */
            id: string;
            /** New Hash */
            new_hash: string;
            /** Old Hash */
            old_hash: string;
            /** Target */
            target: string;
        };
        /**
         * PromptList
         * @description The system prompt of each agent for its next model call, on one page.
         */
        PromptList: {
            /** Items */
            items: components["schemas"]["PromptAnswer"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * PromptPart
         * @description One part of a system prompt: `agent`, `workflow`, `instructions:FILE`, `plugin:NAME`, `skills` or
         *     `environment`.
         */
        PromptPart: {
            /** Name */
            name: string;
            /** Text */
            text: string;
        };
        /**
         * ProposalAnswer
         * @description An entry that a subagent proposed; `call_id` is the tool call of its delegation.
         */
        ProposalAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Call Id */
            call_id: string | null;
            /** Content */
            content: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Decided At */
            decided_at: string | null;
            /** Decided By */
            decided_by: string | null;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "step" | "criterion";
            /** Run Id */
            run_id: string | null;
            /** Session Id */
            session_id: string;
            /**
             * State
             * @enum {string}
             */
            state: "proposed" | "accepted" | "rejected";
        };
        /**
         * ProtocolError
         * @description `code` is `details.reason` of the daemon's errors, or their `code`.
         */
        ProtocolError: {
            /** Code */
            code: string;
            /** Message */
            message: string;
            /**
             * Param
             * @description The field that is wrong, such as `messages.0.content`.
             */
            param: string | null;
            /** Type */
            type: string;
        };
        /** ProtocolErrorAnswer */
        ProtocolErrorAnswer: {
            error: components["schemas"]["ProtocolError"];
        };
        /**
         * ProviderAnswer
         * @description A configured provider. `problem` says what is missing, `key_from` where its key is from: the settings,
         *     a usual environment variable, or stored by `PUT /providers/{name}/key`. Null: it has none.
         */
        ProviderAnswer: {
            /** Base Url */
            base_url: string | null;
            /** Driver */
            driver: string;
            /** Key From */
            key_from: ("settings" | "variable" | "stored") | null;
            /** Name */
            name: string;
            /** Problem */
            problem: string | null;
            /** Ready */
            ready: boolean;
        };
        /**
         * ProviderTestAnswer
         * @description The outcome of one real call. Times are milliseconds. `error` is the kind and `message` the server's
         *     own words; `cause`, `explanation` and `advice` say why the call failed and what to do.
         */
        ProviderTestAnswer: {
            /** Advice */
            advice: string | null;
            /** Cause */
            cause: ("no_key" | "refused_key" | "no_permission" | "quota" | "rate_limited" | "unknown_model" | "no_network" | "no_server" | "tls" | "proxy" | "time_out" | "wrong_address" | "wrong_type" | "refused_request" | "overloaded" | "other") | null;
            /** Duration Ms */
            duration_ms: number;
            /** Error */
            error: string | null;
            /** Explanation */
            explanation: string | null;
            /** Message */
            message: string | null;
            /** Model */
            model: string;
            /** Ok */
            ok: boolean;
            /** Provider */
            provider: string;
            /** Text */
            text: string;
            /** Ttft Ms */
            ttft_ms: number | null;
            usage: components["schemas"]["Usage"] | null;
        };
        /**
         * Readiness
         * @description `ready` is true when no required check failed.
         */
        Readiness: {
            /** Checks */
            checks: {
                [key: string]: components["schemas"]["Check"];
            };
            /** Ready */
            ready: boolean;
        };
        /**
         * RedactedPlace
         * @description A message in which something was redacted; `number` is that of the answer or message in the file.
         */
        RedactedPlace: {
            /** Count */
            count: number;
            /** Message Id */
            message_id: string;
            /** Number */
            number: number;
        };
        /** RejectClaim */
        RejectClaim: {
            /**
             * Comment
             * @description What is missing; stored as a note.
             */
            comment: string;
        };
        /** ResolveIssue */
        ResolveIssue: {
            /**
             * Comment
             * @description What was done. Markdown, at most 16 KB.
             */
            comment: string;
        };
        /** ResponseFormat */
        ResponseFormat: {
            /** Type */
            type: string;
        };
        /**
         * RestoredFilesAnswer
         * @description The effect of a rollback on files. `checkpoint_id` has their state before; `undo_conflicts` are the
         *     files that undoing it did not restore.
         */
        RestoredFilesAnswer: {
            /** Checkpoint Id */
            checkpoint_id: string;
            /** Conflicts */
            conflicts: components["schemas"]["FileLeftAnswer"][];
            /** Restored */
            restored: string[];
            /** Undo Conflicts */
            undo_conflicts: components["schemas"]["FileLeftAnswer"][];
        };
        /**
         * ResumeSession
         * @example {}
         */
        ResumeSession: {
            /**
             * Checkpoint Id
             * @description The checkpoint to resume from; by default the newest open one.
             */
            checkpoint_id?: string | null;
        };
        /**
         * ResumedAnswer
         * @description The new run; null when nothing was left to do.
         */
        ResumedAnswer: {
            run: components["schemas"]["RunAnswer"] | null;
        };
        /**
         * RetryRun
         * @example {
         *       "model": "strong"
         *     }
         */
        RetryRun: {
            /**
             * Model
             * @description An alias or `provider:model` for this run; by default that of the message or session.
             */
            model?: string | null;
        };
        /**
         * RevertAnswer
         * @description A revert. `files` are those that it wrote or removed: two for a renamed file.
         */
        RevertAnswer: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Files */
            files: string[];
            /**
             * Hunks
             * @description How many hunks were reverted; null for the whole file.
             */
            hunks: number | null;
            /** Id */
            id: string;
            /**
             * Lines
             * @description The lines of each reverted hunk, up to 16 kB; null for a whole file or an old revert.
             */
            lines: [
                " " | "-" | "+" | "\\",
                string
            ][][] | null;
            /** Path */
            path: string;
            /** Session Id */
            session_id: string;
            /** Since */
            since: string;
            /** Undone At */
            undone_at: string | null;
            /** Undone By */
            undone_by: string | null;
        };
        /**
         * RevertChange
         * @description What to revert: a file, or some of its hunks.
         * @example {
         *       "path": "bakery/basket.py"
         *     }
         */
        RevertChange: {
            /**
             * Digest
             * @description The `digest` of the diff which the caller has seen.
             */
            digest?: string | null;
            /**
             * Hunks
             * @description The `digest` of each hunk, all from one answer. Without it, the whole file.
             */
            hunks?: string[] | null;
            /**
             * Path
             * @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Since
             * @description The baseline, as in the list.
             * @default start
             */
            since?: string;
        };
        /**
         * RollBack
         * @description The target of a rollback: a checkpoint, or a message of the root agent, which is kept.
         * @example {
         *       "checkpoint_id": "ckp_01JZ0000000000000000000000"
         *     }
         */
        RollBack: {
            /**
             * Before
             * @description With `message_id`: the message itself goes, too, as if never posted.
             * @default false
             */
            before?: boolean;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /**
             * Files
             * @description Also restore files that only agents wrote since.
             * @default false
             */
            files?: boolean;
            /**
             * Force
             * @description With `files`: also restore files changed by others or by commands.
             * @default false
             */
            force?: boolean;
            /** Message Id */
            message_id?: string | null;
            /**
             * Plan
             * @description With `files`: the `plan` of the preview; a conflict when the files changed since.
             */
            plan?: string | null;
            /**
             * Stage
             * @description With `files`: preview what would be restored, and the conflicts.
             * @default false
             */
            stage?: boolean;
        };
        /**
         * RollbackAnswer
         * @description A rollback: how many `messages` it removed from the conversation, which `compactions` it undid, and
         *     which `checkpoints` it superseded.
         */
        RollbackAnswer: {
            /** Checkpoint Id */
            checkpoint_id: string | null;
            /** Checkpoints */
            checkpoints: string[];
            /** Compactions */
            compactions: string[];
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            files: components["schemas"]["RestoredFilesAnswer"] | null;
            /** Id */
            id: string;
            /** Message Cursor */
            message_cursor: string | null;
            /** Messages */
            messages: number;
            /** Session Id */
            session_id: string;
            /** Undone At */
            undone_at: string | null;
        };
        /**
         * RuleAnswer
         * @description A rule without its origin.
         */
        RuleAnswer: {
            /**
             * Action
             * @enum {string}
             */
            action: "allow" | "deny" | "ask";
            /** Pattern */
            pattern: string;
            /** Permission */
            permission: string;
        };
        /**
         * RunAnswer
         * @description The run of a subagent has `parent_run_id` and `parent_call_id`; with `background` the parent did not
         *     wait for it. `usage` and `cost_usd` are those of the run alone; `total_usage` and `total_cost_usd` include
         *     all runs below it so far.
         */
        RunAnswer: {
            /** Agent Path */
            agent_path: string;
            /**
             * Background
             * @default false
             */
            background?: boolean;
            /** Checkpoint Id */
            checkpoint_id: string | null;
            /** Cost Usd */
            cost_usd: number | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Ended At */
            ended_at: string | null;
            /** Error */
            error: {
                [key: string]: unknown;
            } | null;
            /** Id */
            id: string;
            /** Model */
            model: string | null;
            /** Parent Call Id */
            parent_call_id?: string | null;
            /** Parent Run Id */
            parent_run_id?: string | null;
            /** Reason */
            reason: string | null;
            /**
             * Retry Of
             * @description The failed run that this run retries.
             */
            retry_of?: string | null;
            /** Session Id */
            session_id: string;
            /** Started At */
            started_at: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "running" | "succeeded" | "failed" | "cancelled" | "interrupted";
            /** Step Count */
            step_count: number;
            /** Total Cost Usd */
            total_cost_usd: number | null;
            total_usage: components["schemas"]["Usage"];
            /** Trigger Message Id */
            trigger_message_id: string | null;
            usage: components["schemas"]["Usage"];
        };
        /**
         * RunDetail
         * @description `cost_incomplete`: `cost_usd` lacks model calls whose price is unknown.
         */
        RunDetail: {
            /** Agent Path */
            agent_path: string;
            /**
             * Background
             * @default false
             */
            background?: boolean;
            /** Checkpoint Id */
            checkpoint_id: string | null;
            /** Children */
            children: components["schemas"]["ChildRunAnswer"][];
            /** Cost Incomplete */
            cost_incomplete: boolean;
            /** Cost Usd */
            cost_usd: number | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Ended At */
            ended_at: string | null;
            /** Error */
            error: {
                [key: string]: unknown;
            } | null;
            /** Id */
            id: string;
            /** Model */
            model: string | null;
            /** Parent Call Id */
            parent_call_id?: string | null;
            /** Parent Run Id */
            parent_run_id?: string | null;
            /** Reason */
            reason: string | null;
            /**
             * Retry Of
             * @description The failed run that this run retries.
             */
            retry_of?: string | null;
            /** Session Id */
            session_id: string;
            /** Started At */
            started_at: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "running" | "succeeded" | "failed" | "cancelled" | "interrupted";
            /** Step Count */
            step_count: number;
            /** Steps */
            steps: components["schemas"]["StepAnswer"][];
            /** Tool Calls */
            tool_calls: components["schemas"]["ToolCallAnswer"][];
            /** Total Cost Usd */
            total_cost_usd: number | null;
            total_usage: components["schemas"]["Usage"];
            /** Trigger Message Id */
            trigger_message_id: string | null;
            usage: components["schemas"]["Usage"];
        };
        /**
         * RunFailure
         * @description Why a run failed.
         */
        RunFailure: {
            /** Code */
            code: string;
            /** Message */
            message: string;
        };
        /** SeccompRequirementAnswer */
        SeccompRequirementAnswer: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "seccomp";
            /**
             * Profile
             * @constant
             */
            profile: "relaxed";
        };
        /**
         * SentPromptAnswer
         * @description The system prompt of an agent's last model call. The details of the answer have its digest as
         *     `systemDigest`; `blocks` is empty once the text was deleted.
         */
        SentPromptAnswer: {
            /** Blocks */
            blocks: components["schemas"]["PromptPart"][];
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Digest */
            digest: string;
            /** Message Id */
            message_id: string;
            /** Run Id */
            run_id: string | null;
        };
        /**
         * SentRequestAnswer
         * @description The request of one model call. `verified`: the bytes of `body` have the `request_digest` (128-bit xxh3)
         *     that was computed when they were sent. Otherwise the configuration of the provider changed since, and
         *     `body` is what would be sent today.
         */
        SentRequestAnswer: {
            /** Body */
            body: {
                [key: string]: unknown;
            };
            /** Driver */
            driver: string;
            /** Model */
            model: string;
            /** Path */
            path: string;
            /** Provider */
            provider: string;
            /** Request Digest */
            request_digest: string;
            /** Run Id */
            run_id: string;
            /** Step */
            step: number;
            /** Verified */
            verified: boolean;
        };
        /**
         * SessionAgent
         * @description An agent of a session. `cage` is null without one: its programs have the rights of the daemon's
         *     user.
         */
        SessionAgent: {
            cage: components["schemas"]["CageAnswer"] | null;
            /** Description */
            description: string | null;
            /** Name */
            name: string;
            /** Path */
            path: string;
        };
        /**
         * SessionCatchUp
         * @description The events of one session from `from_seq` on. With `has_more`, continue from `through_seq`. With
         *     `resync` the log was trimmed: reload the session.
         */
        SessionCatchUp: {
            /** Frames */
            frames: {
                [key: string]: unknown;
            }[];
            /** From Seq */
            from_seq: number;
            /** Has More */
            has_more: boolean;
            /** Resync */
            resync: boolean;
            /** Session Id */
            session_id: string;
            /** Through Seq */
            through_seq: number;
        };
        /** SessionDetail */
        SessionDetail: {
            /**
             * Active Run
             * @description The active run of the root agent, also while it waits for an answer or for capacity.
             */
            active_run: string | null;
            /** Archived At */
            archived_at: string | null;
            /**
             * Background Runs
             * @description Running subagents that no agent waits for. Cancelling the session ends them.
             */
            background_runs: string[];
            /** Context */
            context: components["schemas"]["ContextUse"][];
            /** Context Overflow */
            context_overflow: boolean;
            cost_usd: components["schemas"]["CostSplit"];
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Headless */
            headless: boolean;
            /** Id */
            id: string;
            /** Issue Number */
            issue_number: number | null;
            /** Kind */
            kind: string;
            /** @description The newest run of the root agent. */
            last_run: components["schemas"]["LastRun"] | null;
            /**
             * Last Seq
             * @description The newest durable event; connect with it as `after_seq`.
             */
            last_seq: number;
            /**
             * Mode
             * @description How much the session asks; see `GET /modes`.
             * @enum {string}
             */
            mode: "plan" | "ask" | "edits" | "full";
            /** Overrides */
            overrides: {
                [key: string]: unknown;
            };
            /**
             * Pending Interactions
             * @description The number of open questions.
             */
            pending_interactions: number;
            /** Project Id */
            project_id: string;
            /** Queued Messages */
            queued_messages: number;
            /**
             * Seen Run Id
             * @description The newest run of the root agent whose end a person has seen; a later one is unread.
             */
            seen_run_id: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "idle" | "queued" | "running" | "paused" | "archived";
            /** State Reason */
            state_reason: string | null;
            /** Title */
            title: string;
            tokens: components["schemas"]["Tokens"];
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
            /**
             * Workspace Id
             * @description Its workspace; null when it works in the project's folder.
             */
            workspace_id: string | null;
        };
        /**
         * SessionOverrides
         * @description Overrides of the project file for the root agent of one session.
         */
        SessionOverrides: {
            /** Max Output Tokens */
            max_output_tokens?: number | null;
            /** Max Steps */
            max_steps?: number | null;
            /**
             * Model
             * @description An alias or `provider:model`.
             */
            model?: string | null;
        };
        /**
         * SetProviderKey
         * @example {
         *       "key": "sk-example"
         *     }
         */
        SetProviderKey: {
            /**
             * Key
             * Format: password
             * @description Visible ASCII characters without spaces.
             */
            key: string;
        };
        /**
         * SharePreview
         * @description What leaves. The lists have at most 1,000 entries each; the counts are complete.
         */
        SharePreview: {
            /** Agents */
            agents: components["schemas"]["SharedName"][];
            /**
             * Bytes
             * @description The size of the file.
             */
            bytes: number;
            /** File Count */
            file_count: number;
            /**
             * Files
             * @description Names of files that tool calls and attachments mention.
             */
            files: string[];
            /** Images */
            images: components["schemas"]["SharedImage"][];
            kept: components["schemas"]["KeptParts"];
            /** Redacted */
            redacted: components["schemas"]["RedactedPlace"][];
            shared: components["schemas"]["SharedParts"];
            /** Title */
            title: string;
            /** Tools */
            tools: components["schemas"]["SharedName"][];
        };
        /** SharedImage */
        SharedImage: {
            /** Bytes */
            bytes: number;
            /** Media Type */
            media_type: string;
        };
        /**
         * SharedName
         * @description A tool or an agent, and how often it appears.
         */
        SharedName: {
            /** Count */
            count: number;
            /** Name */
            name: string;
        };
        /**
         * SharedParts
         * @description How many of each leave.
         */
        SharedParts: {
            /** Answers */
            answers: number;
            /**
             * Attached Files
             * @description Attached files whose contents leave; their names always do.
             */
            attached_files: number;
            /** Images */
            images: number;
            /** Messages */
            messages: number;
            /**
             * Notes
             * @description Notes of the daemon to its model.
             */
            notes: number;
            /**
             * Redactions
             * @description Secrets that were replaced by `[redacted]`.
             */
            redactions: number;
            /** Results */
            results: number;
            /** Subagents */
            subagents: number;
            /** Thinking */
            thinking: number;
            /** Tool Calls */
            tool_calls: number;
        };
        /**
         * StageFiles
         * @description Files or folders as a whole (`paths`; `.` is the project), or hunks of one file (`path`, `hunks`).
         * @example {
         *       "paths": [
         *         "bakery/basket.py"
         *       ]
         *     }
         */
        StageFiles: {
            /**
             * Hunks
             * @description Digests of hunks of the diff of `path`.
             */
            hunks?: string[] | null;
            /** Path */
            path?: string | null;
            /** Paths */
            paths?: string[] | null;
        };
        /**
         * StagedRollbackAnswer
         * @description A preview of a rollback's effect on files. `plan` identifies it.
         */
        StagedRollbackAnswer: {
            /** Conflicts */
            conflicts: components["schemas"]["FileLeftAnswer"][];
            /** Plan */
            plan: string;
            /** Restored */
            restored: components["schemas"]["FileChangeAnswer"][];
        };
        /**
         * StartAttempts
         * @example {
         *       "attempts": {
         *         "check": "make test",
         *         "n": 3
         *       },
         *       "content": "Fix the parser."
         *     }
         */
        StartAttempts: {
            attempts: components["schemas"]["AskAttempts"];
            /** Content */
            content: string;
            /**
             * Title
             * @description The start of each session's title.
             */
            title?: string | null;
        };
        /**
         * StepAnswer
         * @description One model call. `stats` has usage, cost, time to the first token, duration, attempts, and in `context`
         *     about how many tokens of what it was sent were system prompt, tools, messages and results.
         */
        StepAnswer: {
            /** Ended At */
            ended_at: string | null;
            /** Message Id */
            message_id: string;
            /** Model */
            model: string;
            /** Number */
            number: number;
            /** Provider */
            provider: string;
            /** Request Digest */
            request_digest: string | null;
            /**
             * Started At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            started_at: string;
            /** Stats */
            stats: {
                [key: string]: unknown;
            };
            /** Stop Reason */
            stop_reason: string | null;
        };
        /** StreamOptions */
        StreamOptions: {
            /**
             * Include Usage
             * @description True: the last chunk before `[DONE]` has the token counts.
             */
            include_usage?: boolean | null;
        };
        /** SupersededAnswer */
        SupersededAnswer: {
            /** Items */
            items: components["schemas"]["SupersededMessages"][];
        };
        /**
         * SupersededMessages
         * @description Messages that left a conversation together. `messages` counts them without the results of tools.
         */
        SupersededMessages: {
            /**
             * By
             * @description The rollback (`rbk_`) or compaction (`cmp_`).
             */
            by: string | null;
            /** Messages */
            messages: number;
            /**
             * Position
             * @description Where the first of them stood.
             */
            position: number;
        };
        /**
         * SwitchBranch
         * @description The branch to check out.
         * @example {
         *       "name": "main"
         *     }
         */
        SwitchBranch: {
            /** Name */
            name: string;
        };
        /**
         * SymbolHit
         * @description A declaration whose name matches.
         */
        SymbolHit: {
            /**
             * Container
             * @description The name of the declaration around it.
             */
            container: string | null;
            /**
             * Kind
             * @description What it is: `class`, `function`, `method`, `interface`, `struct`, `enum`, `type`, `module`, `constant` and the like.
             */
            kind: string;
            /**
             * Line
             * @description The line of the name, from 1.
             */
            line: number;
            /**
             * Name
             * @description At most 300 characters, without control and bidirectional characters.
             */
            name: string;
            /**
             * Path
             * @description Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64.
             */
            path: string;
            /**
             * Positions
             * @description The indexes of the characters of `name` that match, in code points from 0.
             */
            positions: number[];
            /**
             * Score
             * @description A higher score is better; comparable within one answer.
             */
            score: number;
        };
        /**
         * SymbolHits
         * @description The best matches, the best first, on one page.
         */
        SymbolHits: {
            /**
             * Complete
             * @description False with `pending`, and when files are left out: too many or too large ones, or those that cannot be parsed.
             */
            complete: boolean;
            /** Items */
            items: components["schemas"]["SymbolHit"][];
            /**
             * Next Cursor
             * @description Send it as `cursor` to get the next page; null on the last page.
             */
            next_cursor: string | null;
            /** Reason */
            reason: string | null;
            /**
             * Searched
             * @description How many source files were searched.
             */
            searched: number;
            /**
             * State
             * @description `pending`: files are still being read, and the items are what is known so far: ask again. `none`: no file is in a language whose declarations are known. `unavailable`: files cannot be read, for `reason`.
             * @enum {string}
             */
            state: "ok" | "pending" | "none" | "unavailable";
            /**
             * Total
             * @description The number of items on all pages.
             */
            total: number;
        };
        /**
         * TestProvider
         * @example {
         *       "model": "gpt-5-mini"
         *     }
         */
        TestProvider: {
            /**
             * Model
             * @description By default a model of an alias, or one that the provider offers.
             */
            model?: string | null;
        };
        /**
         * TodoAnswer
         * @description One entry of a checklist. A completed criterion is a claim until `accepted_at` is set.
         */
        TodoAnswer: {
            /** Accepted At */
            accepted_at: string | null;
            /** Accepted By */
            accepted_by: string | null;
            /** Completed At */
            completed_at: string | null;
            /** Completed By */
            completed_by: string | null;
            /** Content */
            content: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "step" | "criterion";
            /** Notes */
            notes: components["schemas"]["TodoNote"][];
            /**
             * Origin Agent
             * @description The subagent that proposed it.
             */
            origin_agent: string | null;
            /** Phase */
            phase: string | null;
            /** Position */
            position: number;
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "in_progress" | "completed" | "abandoned";
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
        };
        /**
         * TodoCountsAnswer
         * @description Counts of the checklist, without abandoned entries.
         */
        TodoCountsAnswer: {
            /** Completed */
            completed: number;
            /** Criteria */
            criteria: number;
            /** Criteria Accepted */
            criteria_accepted: number;
            /** In Progress */
            in_progress: number;
            /** Total */
            total: number;
        };
        /** TodoNote */
        TodoNote: {
            /** Author */
            author: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Text */
            text: string;
        };
        /** TokenAnswer */
        TokenAnswer: {
            /** Agent Path */
            agent_path: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Expires At */
            expires_at: string | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Plugin */
            plugin: string | null;
            /** Project Id */
            project_id: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /** Scope */
            scope: string;
            /** Session Id */
            session_id: string | null;
        };
        /**
         * Tokens
         * @description Token counts; `input` excludes cached tokens, `output` includes `reasoning`.
         */
        Tokens: {
            /** Cache Read */
            cache_read: number;
            /** Cache Write */
            cache_write: number;
            /** Input */
            input: number;
            /** Output */
            output: number;
            /** Reasoning */
            reasoning: number;
            /** Total */
            total: number;
        };
        /**
         * ToolAnswer
         * @description One tool. `parameters` and `result` are JSON Schemas.
         */
        ToolAnswer: {
            /** Actions */
            actions: string[];
            /** Description */
            description: string;
            /** Destructive */
            destructive: boolean;
            /** Name */
            name: string;
            /**
             * Namespace
             * @description The first part of the name: `file` of `file.read`.
             */
            namespace: string;
            /** Parameters */
            parameters: {
                [key: string]: unknown;
            };
            /** Principal Scope */
            principal_scope: string | null;
            /** Read Only */
            read_only: boolean;
            /**
             * Requires
             * @description What a cage must allow for a call. An agent without a cage may do all of it.
             */
            requires: (components["schemas"]["FsRequirementAnswer"] | components["schemas"]["SeccompRequirementAnswer"] | components["schemas"]["NetRequirementAnswer"] | components["schemas"]["CapabilityRequirementAnswer"])[];
            /** Result */
            result: {
                [key: string]: unknown;
            };
            /**
             * Source
             * @description Who provides the tool.
             * @enum {string}
             */
            source: "builtin" | "agent" | "plugin" | "mcp";
            /** Title */
            title: string;
            /** Version */
            version: string;
            /** Wire Name */
            wire_name: string;
        };
        /** ToolCallAnswer */
        ToolCallAnswer: {
            /** Agent Path */
            agent_path: string;
            /** Arguments */
            arguments: {
                [key: string]: unknown;
            };
            /** Call Id */
            call_id: string;
            /** Ended At */
            ended_at: string | null;
            /** Error Code */
            error_code: string | null;
            /** Id */
            id: string;
            /** Message Id */
            message_id: string | null;
            /** Name */
            name: string;
            /** Result Message Id */
            result_message_id: string | null;
            /** Started At */
            started_at: string | null;
            /** State */
            state: string;
            /** Step */
            step: number | null;
        };
        /** ToolCallMetadata */
        ToolCallMetadata: {
            /**
             * Cage Notes
             * @description Changes of the agent's cage that its model should know.
             */
            cage_notes?: string[] | null;
            /** Duration Ms */
            duration_ms: number;
            /** Output Path */
            output_path?: string | null;
            /** Truncated */
            truncated?: boolean | null;
        };
        /**
         * ToolEnvelopeAnswer
         * @description The result of every tool.
         */
        ToolEnvelopeAnswer: {
            /** Code */
            code?: string | null;
            /** Data */
            data?: unknown;
            /** Detail */
            detail?: {
                [key: string]: unknown;
            } | null;
            /** Error Text */
            error_text?: string | null;
            metadata: components["schemas"]["ToolCallMetadata"];
            /**
             * Type
             * @enum {string}
             */
            type: "output" | "error";
        };
        /**
         * TransitionIssue
         * @example {
         *       "comment": "Done in 1.4.",
         *       "to": "resolved"
         *     }
         */
        TransitionIssue: {
            /**
             * Comment
             * @description Required for `resolved` and `rejected`. Markdown, at most 16 KB.
             */
            comment?: string | null;
            /**
             * To
             * @enum {string}
             */
            to: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
        };
        /**
         * TransitionedIssue
         * @description An issue after a transition.
         */
        TransitionedIssue: {
            /**
             * Assignment
             * @description `primary`, `workflow:<name>` or `session:<session id>`
             */
            assignment: string | null;
            /** Body */
            body: string;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /** Number */
            number: number;
            /**
             * Original Body
             * @description The original text, after an edit.
             */
            original_body: string | null;
            /**
             * Previous Status
             * @enum {string}
             */
            previous_status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Project Id */
            project_id: string;
            /** Resolved At */
            resolved_at: string | null;
            /** Resolved By */
            resolved_by: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
            /** Title */
            title: string;
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
        };
        /**
         * TrustAnswer
         * @description Whether a project may run. `changed`: the trusted version stays active, and a newer one waits for
         *     trust.
         */
        TrustAnswer: {
            /**
             * Acts
             * @description What the newest version asks for.
             */
            acts: components["schemas"]["ActAnswer"][];
            /**
             * By
             * @description Why it is trusted.
             */
            by: ("operator" | "always" | "settings") | null;
            /**
             * Digest
             * @description Identifies the newest version that compiles; send it to trust that version.
             */
            digest: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "trusted" | "untrusted" | "changed";
        };
        /**
         * TrustProject
         * @example {
         *       "always": false,
         *       "digest": "0c9d2f1e5a7b4c3d8e6f90a1b2c3d4e5"
         *     }
         */
        TrustProject: {
            /**
             * Always
             * @description Also trust every later version.
             * @default false
             */
            always?: boolean;
            /**
             * Digest
             * @description The `trust.digest` of the version that you reviewed.
             */
            digest: string;
        };
        /**
         * UndoRollback
         * @example {
         *       "force": false
         *     }
         */
        UndoRollback: {
            /**
             * Force
             * @description Also restore files that changed since.
             * @default false
             */
            force?: boolean;
        };
        /**
         * UploadAnswer
         * @description An uploaded file.
         */
        UploadAnswer: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Id */
            id: string;
            /** Media Type */
            media_type: string;
            /**
             * Name
             * @description Safe as a file name; it may differ from the name that was sent.
             */
            name: string;
            /** Project Id */
            project_id: string;
            /**
             * Sha256
             * @description In hexadecimal.
             */
            sha256: string;
            /** Size Bytes */
            size_bytes: number;
            /** Used At */
            used_at: string | null;
            /**
             * Used By
             * @description The issue, interaction or workflow run that uses it. An unused file is removed after a day.
             */
            used_by: string | null;
        };
        /**
         * Usage
         * @description Token counts of one model call. `input_tokens` never includes cache tokens;
         *     `output_tokens` includes `reasoning_tokens`.
         */
        Usage: {
            /**
             * Cache Read Tokens
             * @default 0
             */
            cache_read_tokens?: number;
            /**
             * Cache Write Tokens
             * @default 0
             */
            cache_write_tokens?: number;
            /**
             * Input Tokens
             * @default 0
             */
            input_tokens?: number;
            /**
             * Output Tokens
             * @default 0
             */
            output_tokens?: number;
            /**
             * Reasoning Tokens
             * @default 0
             */
            reasoning_tokens?: number;
        };
        /**
         * ValidationAnswer
         * @description Whether a project file is valid, and all diagnostics.
         */
        ValidationAnswer: {
            /** Diagnostics */
            diagnostics: components["schemas"]["Diagnostic"][];
            /** Valid */
            valid: boolean;
        };
        /** Versions */
        Versions: {
            /** Api */
            api: string;
            /**
             * Commit
             * @description The commit of the build, with `-dirty` after it when the build had changes that were not committed. Null when it is not known.
             */
            commit: string | null;
            /**
             * Database Schema
             * @description The revision of the database schema that this version uses.
             */
            database_schema: string;
            /** Kaged */
            kaged: string;
            /** Platform */
            platform: string;
            /** Python */
            python: string;
        };
        /**
         * WorkflowAnswer
         * @description A workflow of a project, as compiled now. `tools` are the tools of its root agent.
         */
        WorkflowAnswer: {
            /** Concurrency */
            concurrency: number;
            /** Description */
            description: string;
            /** Inputs */
            inputs: {
                [key: string]: components["schemas"]["WorkflowInputAnswer"];
            };
            /** Invokable By */
            invokable_by: ("operator" | "guest")[];
            /** Name */
            name: string;
            /**
             * Next At
             * @description The next scheduled start.
             */
            next_at: string | null;
            /**
             * Queued
             * @description The number of queued runs.
             */
            queued: number;
            /**
             * Running
             * @description The number of active runs, including runs that wait for a person.
             */
            running: number;
            /**
             * Schedule
             * @description Cron expression of five fields, UTC.
             */
            schedule: string | null;
            /** Timeout Seconds */
            timeout_seconds: number;
            /** Tools */
            tools: string[];
            /**
             * Workspace
             * @description Where the sessions of runs work; null: as the project's `workspace.default` says.
             */
            workspace: ("shared" | "worktree") | null;
        };
        /**
         * WorkflowInputAnswer
         * @description One declared input of a workflow. `default` is null when there is none.
         */
        WorkflowInputAnswer: {
            /** Default */
            default: string | number | boolean | null;
            /** Description */
            description: string | null;
            /** Max Length */
            max_length: number | null;
            /**
             * Options
             * @description The choices of an `enum`.
             */
            options: string[] | null;
            /** Required */
            required: boolean;
            /**
             * Type
             * @enum {string}
             */
            type: "string" | "text" | "number" | "integer" | "boolean" | "enum" | "url" | "file";
        };
        /** WorkflowRunAnswer */
        WorkflowRunAnswer: {
            /** @description The attempts that were started; the run is the first of them. */
            attempt_group?: components["schemas"]["AttemptGroupAnswer"] | null;
            /**
             * Cause
             * @enum {string}
             */
            cause: "operator" | "agent" | "schedule" | "issue";
            /** Completed At */
            completed_at: string | null;
            /**
             * Cost Usd
             * @description US dollars, after the end; null when unknown.
             */
            cost_usd: number | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /**
             * Duration Ms
             * @description From start to end; null until then.
             */
            duration_ms: number | null;
            /**
             * Elapsed Ms
             * @description Working time, without waiting for people.
             */
            elapsed_ms: number;
            error: components["schemas"]["RunFailure"] | null;
            /** Id */
            id: string;
            /** Inputs */
            inputs: {
                [key: string]: unknown;
            };
            invoked_by: components["schemas"]["Invoker"];
            /** Issue Number */
            issue_number: number | null;
            /**
             * Output
             * @description The agent's final answer.
             */
            output: string | null;
            /**
             * Pending Interactions
             * @description The number of open questions in its session.
             */
            pending_interactions: number;
            /** Project Id */
            project_id: string;
            /**
             * Scheduled For
             * @description The scheduled time.
             */
            scheduled_for: string | null;
            /**
             * Session Id
             * @description The session of the run; null while it is queued.
             */
            session_id: string | null;
            /**
             * Session State
             * @description The state of its session. An active run is `running` also while its session is `paused`.
             */
            session_state: ("idle" | "queued" | "running" | "paused" | "archived") | null;
            /** Started At */
            started_at: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
            /** Timeout Seconds */
            timeout_seconds: number;
            /** Workflow */
            workflow: string;
            /**
             * Workspace
             * @description `workspace` of the invocation.
             */
            workspace: ("shared" | "worktree") | null;
        };
        /** WorkflowRunSummary */
        WorkflowRunSummary: {
            /**
             * Cause
             * @enum {string}
             */
            cause: "operator" | "agent" | "schedule" | "issue";
            /** Completed At */
            completed_at: string | null;
            /**
             * Cost Usd
             * @description US dollars, after the end; null when unknown.
             */
            cost_usd: number | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /**
             * Duration Ms
             * @description From start to end; null until then.
             */
            duration_ms: number | null;
            /**
             * Elapsed Ms
             * @description Working time, without waiting for people.
             */
            elapsed_ms: number;
            error: components["schemas"]["RunFailure"] | null;
            /** Id */
            id: string;
            invoked_by: components["schemas"]["Invoker"];
            /** Issue Number */
            issue_number: number | null;
            /**
             * Pending Interactions
             * @description The number of open questions in its session.
             */
            pending_interactions: number;
            /** Project Id */
            project_id: string;
            /**
             * Scheduled For
             * @description The scheduled time.
             */
            scheduled_for: string | null;
            /**
             * Session Id
             * @description The session of the run; null while it is queued.
             */
            session_id: string | null;
            /**
             * Session State
             * @description The state of its session. An active run is `running` also while its session is `paused`.
             */
            session_state: ("idle" | "queued" | "running" | "paused" | "archived") | null;
            /** Started At */
            started_at: string | null;
            /**
             * State
             * @enum {string}
             */
            state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
            /** Timeout Seconds */
            timeout_seconds: number;
            /** Workflow */
            workflow: string;
            /**
             * Workspace
             * @description `workspace` of the invocation.
             */
            workspace: ("shared" | "worktree") | null;
        };
        /**
         * WorkspaceAnswer
         * @description Where a session works. For a session in the project's folder `kind` is `shared` and `id` is null.
         *     `detail` is a problem or a remark.
         */
        WorkspaceAnswer: {
            /**
             * Agent Path
             * @description The subagent that works in it; null for the workspace of a session.
             */
            agent_path: string | null;
            /** Base */
            base: string | null;
            /** Base Commit */
            base_commit: string | null;
            /** Branch */
            branch: string | null;
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Detail */
            detail: string | null;
            /** Ended At */
            ended_at: string | null;
            /**
             * First Port
             * @description The first of `ports` consecutive ports reserved for it.
             */
            first_port: number | null;
            /** Id */
            id: string | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "shared" | "worktree" | "copy";
            merged: components["schemas"]["LastMerge"] | null;
            /**
             * Parent Id
             * @description The workspace from which a subagent's workspace was made; null when it was made from the project's folder.
             */
            parent_id: string | null;
            /** Ports */
            ports: number;
            /** Project Id */
            project_id: string;
            /**
             * Removed At
             * @description When its folder was removed. It cannot be restored then.
             */
            removed_at: string | null;
            /** Root */
            root: string;
            /**
             * Run Id
             * @description The run of that subagent.
             */
            run_id: string | null;
            /** Session Id */
            session_id: string | null;
            /**
             * Setup Log
             * @description The last 64 KB of output of the project's `setup`.
             */
            setup_log: string | null;
            /** Size Bytes */
            size_bytes: number;
            /**
             * State
             * @enum {string}
             */
            state: "creating" | "ready" | "merging" | "merged" | "kept" | "discarded" | "broken";
            /**
             * Updated At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            updated_at: string;
        };
        /**
         * WorkspaceWish
         * @description Where a session works.
         * @example {
         *       "base": "head",
         *       "kind": "worktree"
         *     }
         */
        WorkspaceWish: {
            /**
             * Base
             * @description What the workspace starts from: `head` (the last commit), `working` (also the uncommitted changes of the checkout), or a branch, a tag or a commit.
             * @default head
             */
            base?: string;
            /**
             * Kind
             * @default worktree
             * @enum {string}
             */
            kind?: "shared" | "worktree";
        };
        /**
         * WorktreeAnswer
         * @description A snapshot of the project's files, stored as a git tree. `state` is `taken`, `unchanged`, `failed` or
         *     `skipped`; `detail` says why.
         */
        WorktreeAnswer: {
            /**
             * Created At
             * Format: date-time
             * @example 2026-01-02T03:04:05.678Z
             */
            created_at: string;
            /** Detail */
            detail: string | null;
            /** Id */
            id: string;
            /** Size Bytes */
            size_bytes: number;
            /** State */
            state: string;
            /** Tree */
            tree: string | null;
        };
    };
    responses: {
        /** @description The request is malformed, or a field is not valid (`details.fields`). */
        Error400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "validation_failed",
                 *         "details": {
                 *           "fields": {
                 *             "titel": "unknown field (known: title, body, attachments); did you mean title?"
                 *           }
                 *         },
                 *         "message": "1 field is not valid: titel.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The request has no valid token. */
        Error401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "unauthenticated",
                 *         "details": {
                 *           "reason": "token_missing"
                 *         },
                 *         "message": "Send `Authorization: Bearer <token>`, or open the launch link that the daemon printed.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The token, the Host or the Origin does not allow this. */
        Error403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "forbidden",
                 *         "details": {
                 *           "reason": "read_only"
                 *         },
                 *         "message": "This token is read-only.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The resource does not exist. */
        Error404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no session ses_01JZ0000000000000000000000.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The body did not arrive in time. */
        Error408: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "request_too_slow",
                 *         "details": {
                 *           "reason": "body_too_slow"
                 *         },
                 *         "message": "The body is too slow: 12 bytes arrived in 20 s.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The present state does not allow this (`details.state`). */
        Error409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "conflict",
                 *         "details": {
                 *           "reason": "run_in_progress",
                 *           "state": "running"
                 *         },
                 *         "message": "A run is in progress.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The resource existed and was removed. */
        Error410: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "gone",
                 *         "details": {
                 *           "reason": "content_gone"
                 *         },
                 *         "message": "The content is no longer stored.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The body is too large. */
        Error413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "payload_too_large",
                 *         "details": {
                 *           "max_bytes": 10485760,
                 *           "reason": "body_too_large"
                 *         },
                 *         "message": "The body is larger than 10485760 bytes.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description No byte of the file is in the range (`details.size`). */
        Error416: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "range_not_satisfiable",
                 *         "details": {
                 *           "size": 1024
                 *         },
                 *         "message": "The file has 1024 bytes.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The project file has errors (`details.diagnostics`). */
        Error422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "dsl_invalid",
                 *         "details": {
                 *           "diagnostics": [
                 *             {
                 *               "column": 3,
                 *               "file": ".kaged/project.yaml",
                 *               "line": 4,
                 *               "message": "unknown field"
                 *             }
                 *           ]
                 *         },
                 *         "message": "The project file has 1 error.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description A limit is reached (`details.reason`); `Retry-After` says when to retry. */
        Error429: {
            headers: {
                /** @description Seconds, when they are known. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "rate_limited",
                 *         "details": {
                 *           "reason": "too_many_requests"
                 *         },
                 *         "message": "Too many requests.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The daemon failed; its log has the request id. */
        Error500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "internal",
                 *         "message": "The daemon failed to answer this request. Its log has the reason under the request id.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The daemon cannot work now; `Retry-After` says when to retry. */
        Error503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "unavailable",
                 *         "message": "The database cannot be used now.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The disk of the daemon's data folder is full. */
        Error507: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "insufficient_storage",
                 *         "message": "The disk is full; nothing of the file was stored.",
                 *         "request_id": "req_01JZ0000000000000000000000"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description The request is malformed, or asks for what an agent cannot serve (`param`). */
        ProtocolError400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "validation_failed",
                 *         "message": "1 field is not valid: titel.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The request has no valid token. */
        ProtocolError401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "unauthenticated",
                 *         "message": "Send `Authorization: Bearer <token>`, or open the launch link that the daemon printed.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The token, the Host or the Origin does not allow this. */
        ProtocolError403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "forbidden",
                 *         "message": "This token is read-only.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description Chat completions are off, or there is no such model or session (`code`). */
        ProtocolError404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "not_found",
                 *         "message": "There is no session ses_01JZ0000000000000000000000.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The body did not arrive in time. */
        ProtocolError408: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "request_too_slow",
                 *         "message": "The body is too slow: 12 bytes arrived in 20 s.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The session is busy, or the run was cancelled or interrupted (`code`). */
        ProtocolError409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "conflict",
                 *         "message": "A run is in progress.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The body is too large. */
        ProtocolError413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "payload_too_large",
                 *         "message": "The body is larger than 10485760 bytes.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description A limit is reached; `Retry-After` says when to retry. */
        ProtocolError429: {
            headers: {
                /** @description Seconds, when they are known. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "rate_limited",
                 *         "message": "Too many requests.",
                 *         "param": null,
                 *         "type": "invalid_request_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The run or the daemon failed. */
        ProtocolError500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "internal",
                 *         "message": "The daemon failed to answer this request. Its log has the reason under the request id.",
                 *         "param": null,
                 *         "type": "server_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The provider of the agent's model failed. */
        ProtocolError502: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "provider_unreachable",
                 *         "message": "The provider of the agent's model failed.",
                 *         "param": null,
                 *         "type": "server_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
        /** @description The daemon cannot work now; `Retry-After` says when to retry. */
        ProtocolError503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "unavailable",
                 *         "message": "The database cannot be used now.",
                 *         "param": null,
                 *         "type": "server_error"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ProtocolErrorAnswer"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_attempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a group of attempts, `att_...`. */
                attempt_group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptGroupAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cancel_attempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a group of attempts, `att_...`. */
                attempt_group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptGroupAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    discard_attempts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a group of attempts, `att_...`. */
                attempt_group_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptGroupAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    pick_attempt: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of a group of attempts, `att_...`. */
                attempt_group_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PickAttempt"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PickAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /** @description An event name; `*` matches any part. */
                event?: string | null;
                session_id?: string | null;
                run_id?: string | null;
                project_id?: string | null;
                /** @description From this time on. */
                since?: string | null;
                /** @description Before this time. */
                until?: string | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_AuditEntry_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_dsl_schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "$schema": "https://json-schema.org/draft/2020-12/schema",
                     *       "type": "object"
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Error400"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
        };
    };
    validate_dsl: {
        parameters: {
            query?: {
                /** @description The project that the text is checked for. */
                project_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The YAML text, in UTF-8, with whatever content type. */
        requestBody: {
            content: {
                /**
                 * @example version: 1
                 *     project: shop
                 *     primary:
                 *       model: smart
                 *       system_prompt: prompts/primary.md
                 *       cage: disabled
                 */
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_machine_folders: {
        parameters: {
            query?: {
                /** @description An absolute path; without one the home of the daemon's user. */
                path?: string | null;
                /** @description Include names that begin with a dot. */
                hidden?: boolean;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MachineFolderPage"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_inbox: {
        parameters: {
            query?: {
                /** @description Only of this project. */
                project_id?: string | null;
                /** @description Only of this kind; several may be given. */
                kind?: ("question" | "todo_proposal" | "compaction" | "budget" | "budget_warning" | "failed_run" | "finished_run")[] | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_InboxItem_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_logs: {
        parameters: {
            query?: {
                /** @description Entries of this level or above. */
                level?: ("debug" | "info" | "warning" | "error" | "critical") | null;
                event?: string | null;
                session_id?: string | null;
                run_id?: string | null;
                /** @description Text that occurs anywhere in an entry. */
                text?: string | null;
                /** @description From this time on. */
                since?: string | null;
                /** @description Before this time. */
                until?: string | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_LogRecord_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_models: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_ModelAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_modes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModeList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_projects: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_ProjectAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    load_project: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoadProject"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_agent_tools: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                agent_path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_AgentToolAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_attempts: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_AttemptGroupAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    start_attempts: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartAttempts"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptGroupAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_capabilities: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapabilityList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_project_dsl: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DslAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_synthesized_dsl: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "primary": {
                     *         "model": "smart"
                     *       },
                     *       "project": "shop",
                     *       "version": 1
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_files: {
        parameters: {
            query?: {
                /** @description How many levels; 1 is the folder. */
                depth?: number;
                /** @description Include ignored files, and folders such as `.git`. */
                ignored?: boolean;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
                /** @description The folder or file, as lists show it. Symbolic links in it are followed. */
                path?: string;
                /** @description A session of the project: return the files of its workspace, if it has one. */
                session_id?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileTreePage"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_file_content: {
        parameters: {
            query?: {
                /** @description The folder or file, as lists show it. Symbolic links in it are followed. */
                path?: string;
                /** @description A session of the project: return the files of its workspace, if it has one. */
                session_id?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file: text as `text/plain`, everything else as an attachment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                    "application/octet-stream": string;
                };
            };
            /** @description The part that the header `Range` requests. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                    "application/octet-stream": string;
                };
            };
            /** @description The file is the one that `If-None-Match` names. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            /** @description Requested Range Not Satisfiable */
            416: components["responses"]["Error416"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_file_problems: {
        parameters: {
            query?: {
                /** @description How many seconds to wait for the server's answer. */
                wait?: number;
                /** @description The folder or file, as lists show it. Symbolic links in it are followed. */
                path?: string;
                /** @description A session of the project: return the files of its workspace, if it has one. */
                session_id?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileProblems"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    search_files: {
        parameters: {
            query?: {
                /** @description Letters of the path in their order, as in editors. All terms between blanks must match; an `@` at the start is ignored. Empty: the files changed last. */
                q?: string;
                /** @description Search files, folders or both. */
                kind?: "any" | "file" | "folder";
                /** @description The maximum number of items. */
                limit?: number;
                /** @description A session of the project: return the files of its workspace, if it has one. */
                session_id?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileHits"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_file_text: {
        parameters: {
            query?: {
                /** @description The first line, from 1. */
                line?: number;
                /** @description The maximum number of lines. */
                limit?: number;
                /** @description The folder or file, as lists show it. Symbolic links in it are followed. */
                path?: string;
                /** @description A session of the project: return the files of its workspace, if it has one. */
                session_id?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileText"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_git_branches: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_GitBranchAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_git_branch: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateBranch"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitHeadAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    commit_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommitFiles"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitCommitAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_git_diff: {
        parameters: {
            query: {
                /** @description The file, as the status names it. */
                path: string;
                /** @description Compare the last commit with the index. */
                staged?: boolean;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitDiffAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    stage_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StageFiles"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitStagingAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_git_status: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitStatusAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    switch_git_branch: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwitchBranch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitHeadAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    unstage_files: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StageFiles"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitStagingAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HookList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    test_hook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description A hook's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HookTestRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HookTestAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_issues: {
        parameters: {
            query?: {
                /** @description Only issues with this status; may be repeated. */
                status?: ("open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened")[] | null;
                /** @description Only issues with this assignment. */
                assignment?: string | null;
                /** @description Words that must all occur in title, text or comments: `"a phrase"`, `prefix*`, `-without`, `OR` between alternatives. The best matches come first. */
                search?: string | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuePage"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_issue: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateIssue"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_issue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueDetailAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    edit_issue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditIssue"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EditedIssue"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_issue_attachments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueAttachments"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    attach_files_to_issue: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AttachFiles"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueAttachments"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    detach_file_from_issue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
                /** @description An upload's id, `upl_...`. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    comment_on_issue: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommentOnIssue"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueUpdateAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_issue_links: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueLinks"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    link_issue: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkIssue"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssueLinkAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    unlink_issue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
                /** @description A link's id, `isl_...`. */
                link_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_todos: {
        parameters: {
            query?: {
                /** @description Include abandoned entries. */
                include_abandoned?: boolean;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChecklistAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_todo: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTodo"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TodoAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    delete_todo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
                /** @description An entry's id, `todo_...`. */
                todo_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    edit_todo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
                /** @description An entry's id, `todo_...`. */
                todo_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditTodo"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TodoAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    transition_issue: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransitionIssue"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransitionedIssue"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_issue_updates: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description The number of an issue within its project. */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_IssueUpdateAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_mcp_servers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpServerList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_mcp_content: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description An MCP server's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpContentAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    enable_mcp_server: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description An MCP server's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnabledAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    move_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoadProject"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_project_permissions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_PermissionAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_project_permission: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePermission"];
            };
        };
        responses: {
            /** @description The same rule existed already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionAnswer"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    delete_project_permission: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description A permission rule's id, `rul_...`. */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_plugins: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    enable_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description A plugin's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnabledAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reload_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    search_symbols: {
        parameters: {
            query?: {
                /** @description Letters of the name in their order, as in editors; before the name parts of what is around it, or of the path (`Basket.total`, `basket total`). An `@` at the start is ignored. Empty: nothing. */
                q?: string;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description A session of the project: return the files of its workspace, if it has one. */
                session_id?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SymbolHits"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    trust_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrustProject"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    distrust_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_workflows: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_WorkflowAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    invoke_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
                /** @description A workflow's name in the project file. */
                workflow: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvokeWorkflow"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowRunAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_workspaces: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A project's id, `prj_...`. */
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_WorkspaceAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_providers: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_ProviderAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    set_provider_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetProviderKey"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    delete_provider_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    test_provider: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TestProvider"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderTestAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A run's id, `run_...`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cancel_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A run's id, `run_...`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    retry_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A run's id, `run_...`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetryRun"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    see_warnings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A run's id, `run_...`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_sent_request: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A run's id, `run_...`. */
                run_id: string;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SentRequestAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                project_id?: string | null;
                state?: ("idle" | "queued" | "running" | "paused" | "archived") | null;
                kind?: string | null;
                issue_number?: number | null;
                /** @description Only sessions whose title contains this. */
                text?: string | null;
                /** @description Only sessions with an open question. */
                asks?: boolean;
                /** @description Only idle sessions whose newest run failed, or was interrupted but not paused. */
                failed?: boolean;
                /** @description Only archived sessions, or only those that are not archived. */
                archived?: boolean | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_ListedSession_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSession"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    import_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The file that an export answered, with whatever content type. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportedSessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    delete_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    update_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeSession"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_agents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_SessionAgent_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    archive_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cancel_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_changes: {
        parameters: {
            query?: {
                /** @description The baseline: start, head, base, or checkpoint: and a checkpoint's id. */
                since?: string;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangePage"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_change: {
        parameters: {
            query?: {
                /** @description The baseline: start, head, base, or checkpoint: and a checkpoint's id. */
                since?: string;
                /** @description Unchanged lines around each hunk. */
                context?: number;
                /** @description Include both texts. */
                content?: boolean;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64. */
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeDiffAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_checkpoints: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_CheckpointAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                checkpoint_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_checkpoint_prompt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                checkpoint_id: string;
                agent_path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PromptAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    edit_checkpoint_prompt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                checkpoint_id: string;
                agent_path: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditPrompt"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PromptAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_commands: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_command: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A shell command's id, `cmd_...`. */
                command_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandOutputAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    stop_command: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A shell command's id, `cmd_...`. */
                command_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandOutputAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    compact_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CompactSession"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_compactions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_CompactionAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    preview_compaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CompactSession"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionPreview"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_compaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A compaction's id, `cmp_...`. */
                compaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    approve_compaction: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A compaction's id, `cmp_...`. */
                compaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    edit_compaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A compaction's id, `cmp_...`. */
                compaction_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditCompaction"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    flag_compaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A compaction's id, `cmp_...`. */
                compaction_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FlagCompaction"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reject_compaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A compaction's id, `cmp_...`. */
                compaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompactionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    continue_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResumedAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    export_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    fork_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForkSession"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_interactions: {
        parameters: {
            query?: {
                /** @description Only those in this state. */
                state?: ("pending" | "answered" | "cancelled" | "expired") | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_InteractionAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_interaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description An interaction's id, `itx_...`. */
                interaction_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InteractionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    answer_interaction: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description An interaction's id, `itx_...`. */
                interaction_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerInteraction"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InteractionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    upload_interaction_file: {
        parameters: {
            query?: {
                /** @description The file name; required with a raw body, and used instead of the name in a form. It is reduced to a safe last part. */
                name?: string | null;
            };
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description An interaction's id, `itx_...`. */
                interaction_id: string;
            };
            cookie?: never;
        };
        /** @description The file itself, or a form with exactly one file part. */
        requestBody: {
            content: {
                "application/octet-stream": string;
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
            507: components["responses"]["Error507"];
        };
    };
    list_messages: {
        parameters: {
            query?: {
                /** @description Include messages that a rollback removed. */
                include_superseded?: boolean;
                /** @description Only messages of one agent, such as `primary`. */
                agent_path?: string | null;
                /** @description Only messages of one run, such as one delegation. */
                run_id?: string | null;
                /** @description Only messages that wait for their turn. */
                waiting?: boolean;
                /** @description Only messages that one rollback or compaction superseded. */
                superseded_by?: string | null;
                /** @description Which messages come first. */
                order?: "oldest" | "newest";
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_MessageAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    post_message: {
        parameters: {
            query?: {
                /** @description As `mode` in the body. */
                mode?: ("queue" | "steer" | "reject") | null;
            };
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PostMessage"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PostedMessageAnswer"];
                };
            };
            /** @description Stored; the message waits for the active run, or for the workspaces of attempts. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PostedMessageAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A message's id, `msg_...`. */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    remove_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A message's id, `msg_...`. */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    edit_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A message's id, `msg_...`. */
                message_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditMessage"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    pause_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseSession"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_session_permissions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_PermissionAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_session_permission: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePermission"];
            };
        };
        responses: {
            /** @description The same rule existed already. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionAnswer"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PermissionAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    delete_session_permission: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A permission rule's id, `rul_...`. */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_prompts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PromptList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    remove_prompt_edit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                agent_path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    resume_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumeSession"] | null;
            };
        };
        responses: {
            /** @description Nothing was left to do; the session is idle. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResumedAnswer"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResumedAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_reverts: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_RevertAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    revert_change: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevertChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevertAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    undo_revert: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A revert's id, `rvt_...`. */
                revert_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevertAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    roll_back_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollBack"];
            };
        };
        responses: {
            /** @description Staged: nothing changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StagedRollbackAnswer"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RollbackAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_rollbacks: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_RollbackAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    undo_rollback: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                rollback_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UndoRollback"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RollbackAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description Include the runs of subagents, which have a `parent_run_id`. */
                all?: boolean;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_RunAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    share_session: {
        parameters: {
            query?: {
                /** @description `html` or `markdown`. */
                format?: "html" | "markdown";
                /** @description What leaves beside the messages; repeat it for several. `results`: arguments and results of tool calls, contents of attached files, notes of the daemon. */
                include?: ("results" | "thinking" | "subagents" | "images")[];
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    preview_share: {
        parameters: {
            query?: {
                /** @description `html` or `markdown`. */
                format?: "html" | "markdown";
                /** @description What leaves beside the messages; repeat it for several. `results`: arguments and results of tool calls, contents of attached files, notes of the daemon. */
                include?: ("results" | "thinking" | "subagents" | "images")[];
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharePreview"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_superseded: {
        parameters: {
            query?: {
                /** @description Whose conversation. */
                agent_path?: string;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SupersededAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_todo_proposals: {
        parameters: {
            query?: {
                state?: ("proposed" | "accepted" | "rejected") | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_ProposalAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    accept_todo_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A proposal's id, `tpr_...`. */
                proposal_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    reject_todo_proposal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                /** @description A proposal's id, `tpr_...`. */
                proposal_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    call_tool: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CallTool"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolEnvelopeAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    discard_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    keep_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    merge_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergeWorkspace"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MergeAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    retry_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    undo_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A session's id, `ses_...`. */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    sync_sessions: {
        parameters: {
            query: {
                sessions: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatchUp"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_TokenAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateToken"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedTokenAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    create_launch_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LaunchLink"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    list_tools: {
        parameters: {
            query?: {
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_ToolAnswer_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    upload_file: {
        parameters: {
            query: {
                /** @description The project of the file. */
                project_id: string;
                /** @description The file name; required with a raw body, and used instead of the name in a form. It is reduced to a safe last part. */
                name?: string | null;
            };
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The file itself, or a form with exactly one file part. */
        requestBody: {
            content: {
                "application/octet-stream": string;
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
            507: components["responses"]["Error507"];
        };
    };
    get_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An upload's id, `upl_...`. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    delete_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An upload's id, `upl_...`. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_upload_content: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description An upload's id, `upl_...`. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file, with its own media type. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                    "application/octet-stream": string;
                };
            };
            /** @description The part that the header `Range` requests. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                    "application/octet-stream": string;
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            /** @description Gone */
            410: components["responses"]["Error410"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_versions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Versions"];
                };
            };
            400: components["responses"]["Error400"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
        };
    };
    list_workflow_runs: {
        parameters: {
            query?: {
                project_id?: string | null;
                workflow?: string | null;
                state?: ("queued" | "running" | "succeeded" | "failed" | "cancelled") | null;
                issue_number?: number | null;
                /** @description Only the run of this session. */
                session_id?: string | null;
                /** @description The maximum number of items. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageOf_WorkflowRunSummary_"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_workflow_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workflow run's id, `wfr_...`. */
                workflow_run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowRunAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    cancel_workflow_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workflow run's id, `wfr_...`. */
                workflow_run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowRunAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_workspace_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workspace's id, `wks_...`. */
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    discard_workspace_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workspace's id, `wks_...`. */
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    keep_workspace_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workspace's id, `wks_...`. */
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    merge_workspace_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workspace's id, `wks_...`. */
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MergeWorkspace"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MergeAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    retry_workspace_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workspace's id, `wks_...`. */
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    undo_workspace_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A workspace's id, `wks_...`. */
                workspace_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceAnswer"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["Error400"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
        };
    };
    launch: {
        parameters: {
            query?: {
                /** @description The code from the launch link. */
                token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
        };
    };
    get_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            400: components["responses"]["Error400"];
            403: components["responses"]["Error403"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
        };
    };
    create_chat_completion: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 255 printable characters. A repeated key with the same body returns the first answer; with another body it is a conflict. */
                "Idempotency-Key"?: string | null;
                /** @description Continue this session with the last message alone. Without it each request starts a new session with all messages. The answer has the header with the session of the request. */
                "X-Kaged-Session"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatCompletionRequest"];
            };
        };
        responses: {
            /** @description The answer. With `stream`: events, each a `ChatCompletionChunk`, then `[DONE]`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["ProtocolError400"];
            401: components["responses"]["ProtocolError401"];
            403: components["responses"]["ProtocolError403"];
            404: components["responses"]["ProtocolError404"];
            408: components["responses"]["ProtocolError408"];
            409: components["responses"]["ProtocolError409"];
            413: components["responses"]["ProtocolError413"];
            429: components["responses"]["ProtocolError429"];
            500: components["responses"]["ProtocolError500"];
            502: components["responses"]["ProtocolError502"];
            503: components["responses"]["ProtocolError503"];
        };
    };
    list_chat_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: components["responses"]["ProtocolError400"];
            401: components["responses"]["ProtocolError401"];
            403: components["responses"]["ProtocolError403"];
            404: components["responses"]["ProtocolError404"];
            429: components["responses"]["ProtocolError429"];
            500: components["responses"]["ProtocolError500"];
            503: components["responses"]["ProtocolError503"];
        };
    };
    get_chat_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `project/agent`. */
                model: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            400: components["responses"]["ProtocolError400"];
            401: components["responses"]["ProtocolError401"];
            403: components["responses"]["ProtocolError403"];
            404: components["responses"]["ProtocolError404"];
            429: components["responses"]["ProtocolError429"];
            500: components["responses"]["ProtocolError500"];
            503: components["responses"]["ProtocolError503"];
        };
    };
}

export const KEYED: ReadonlySet<string> = new Set([
  "POST /api/v1/attempts/{attempt_group_id}/pick",
  "POST /api/v1/projects/load",
  "POST /api/v1/projects/{project_id}/attempts",
  "POST /api/v1/projects/{project_id}/git/branches",
  "POST /api/v1/projects/{project_id}/git/commit",
  "POST /api/v1/projects/{project_id}/git/stage",
  "POST /api/v1/projects/{project_id}/git/switch",
  "POST /api/v1/projects/{project_id}/git/unstage",
  "POST /api/v1/projects/{project_id}/issues",
  "POST /api/v1/projects/{project_id}/issues/{number}/attachments",
  "POST /api/v1/projects/{project_id}/issues/{number}/comments",
  "POST /api/v1/projects/{project_id}/issues/{number}/links",
  "POST /api/v1/projects/{project_id}/issues/{number}/todos",
  "POST /api/v1/projects/{project_id}/issues/{number}/transition",
  "POST /api/v1/projects/{project_id}/permissions",
  "POST /api/v1/projects/{project_id}/workflows/{workflow}/invoke",
  "POST /api/v1/runs/{run_id}/retry",
  "POST /api/v1/sessions",
  "POST /api/v1/sessions/{session_id}/compact",
  "POST /api/v1/sessions/{session_id}/compactions/{compaction_id}/approve",
  "POST /api/v1/sessions/{session_id}/continue",
  "POST /api/v1/sessions/{session_id}/fork",
  "POST /api/v1/sessions/{session_id}/interactions/{interaction_id}/answer",
  "POST /api/v1/sessions/{session_id}/interactions/{interaction_id}/files",
  "POST /api/v1/sessions/{session_id}/messages",
  "POST /api/v1/sessions/{session_id}/permissions",
  "POST /api/v1/sessions/{session_id}/resume",
  "POST /api/v1/sessions/{session_id}/reverts",
  "POST /api/v1/sessions/{session_id}/reverts/{revert_id}/undo",
  "POST /api/v1/sessions/{session_id}/rollback",
  "POST /api/v1/sessions/{session_id}/rollbacks/{rollback_id}/undo",
  "POST /api/v1/sessions/{session_id}/tools/{name}",
  "POST /api/v1/uploads",
  "POST /v1/chat/completions",
]);
