// Written by `make clients-typescript`. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AttemptChecked
         * @description The check of an attempt began or ended. `state` is `running`, `passed`, `failed`, `stopped`, or `none`
         *     when the session continues and the check will run again. `problem` says why it failed.
         */
        AttemptChecked: {
            /** Attempt Group Id */
            attempt_group_id: string;
            /**
             * Exit Code
             * @default null
             */
            exit_code?: number | null;
            /**
             * Problem
             * @default null
             */
            problem?: string | null;
            /** State */
            state: string;
        };
        /**
         * BudgetSeen
         * @description A person has seen the warnings of a run: they have left the inbox.
         */
        BudgetSeen: {
            /** Run Id */
            run_id: string;
        };
        /**
         * BudgetWarning
         * @description A limit is near (`reached` false) or reached; `limit` and `used` are in `unit`. `shared`: the limit is
         *     that of all attempts together. With `unpriced_model` it does not hold: what calls of that model cost is
         *     not known, nor in `used`.
         */
        BudgetWarning: {
            /** Limit */
            limit: number;
            /** Reached */
            reached: boolean;
            /**
             * Shared
             * @default false
             */
            shared?: boolean;
            /**
             * Unit
             * @enum {string}
             */
            unit: "tokens" | "usd" | "seconds" | "steps";
            /**
             * Unpriced Model
             * @default null
             */
            unpriced_model?: string | null;
            /** Used */
            used: number;
        };
        /**
         * ChangesUpdated
         * @description What differs from the session's start is not what it was: `paths` are the files in question, at most
         *     100. `total`, `additions` and `deletions` are of all changes.
         */
        ChangesUpdated: {
            /** Additions */
            additions: number;
            /** Deletions */
            deletions: number;
            /** Paths */
            paths: string[];
            /** Total */
            total: number;
        };
        /** CheckpointCreated */
        CheckpointCreated: {
            /** Checkpoint Id */
            checkpoint_id: string;
            /** Created By */
            created_by: string;
            /** Detail */
            detail: string | null;
            /** Message Cursor */
            message_cursor: string | null;
            /** Reason */
            reason: string;
        };
        /**
         * CompactionCompleted
         * @description Messages were taken out of what the model is sent; they stay readable as superseded ones.
         */
        CompactionCompleted: {
            /** After Estimate */
            after_estimate: number;
            /** Compaction Id */
            compaction_id: string;
            /** Duration Ms */
            duration_ms: number;
            /** Fallback Reason */
            fallback_reason: string | null;
            /** Strategy */
            strategy: string;
            /** Summary Message Id */
            summary_message_id: string | null;
            /** Superseded Count */
            superseded_count: number;
            /** Threshold Estimate */
            threshold_estimate: number;
            /** Trigger */
            trigger: string;
        };
        /**
         * CompactionDecided
         * @description An operator has decided on a proposal.
         */
        CompactionDecided: {
            /** Compaction Id */
            compaction_id: string;
            /** Decided By */
            decided_by: string;
            /**
             * Decision
             * @enum {string}
             */
            decision: "approved" | "edited" | "rejected";
        };
        /**
         * CompactionFailed
         * @description A strategy failed and another one takes its place.
         */
        CompactionFailed: {
            /** Attempted Strategy */
            attempted_strategy: string;
            /** Compaction Id */
            compaction_id: string;
            /** Fallback Strategy */
            fallback_strategy: string;
            /** Reason */
            reason: string;
        };
        /**
         * CompactionFlagged
         * @description An operator has judged a compaction.
         */
        CompactionFlagged: {
            /** Compaction Id */
            compaction_id: string;
            /** Flag */
            flag: string | null;
            /** Notes Length */
            notes_length: number;
        };
        /**
         * CompactionNoop
         * @description Nothing could be taken away; there is no record.
         */
        CompactionNoop: {
            /** Compaction Id */
            compaction_id: string;
            /** Reason */
            reason: string;
            /** Strategy */
            strategy: string;
        };
        /**
         * CompactionProposed
         * @description The session waits until an operator approves, edits or rejects what is proposed.
         */
        CompactionProposed: {
            /** After Estimate */
            after_estimate: number;
            /** Compaction Id */
            compaction_id: string;
            /** Strategy */
            strategy: string;
            /** Superseded Count */
            superseded_count: number;
            /** Threshold Estimate */
            threshold_estimate: number;
            /** Trigger */
            trigger: string;
        };
        /**
         * CompactionTriggered
         * @description A compaction begins. `threshold_estimate` are the tokens that the next request would be, what is
         *     reserved for the answer included.
         */
        CompactionTriggered: {
            /** Compaction Id */
            compaction_id: string;
            /** Strategy */
            strategy: string;
            /** Threshold Estimate */
            threshold_estimate: number;
            /** Trigger */
            trigger: string;
            /** Window */
            window: number;
        };
        /**
         * Cost
         * @description US dollars of one model call, as the harness source lists them.
         */
        Cost: {
            /**
             * Cacheread
             * @default 0
             */
            cacheRead?: number;
            /**
             * Cachewrite
             * @default 0
             */
            cacheWrite?: number;
            /**
             * Input
             * @default 0
             */
            input?: number;
            /**
             * Output
             * @default 0
             */
            output?: number;
            /**
             * Reasoning
             * @default 0
             */
            reasoning?: number;
            /**
             * Total
             * @default 0
             */
            total?: number;
        };
        /**
         * FrameError
         * @description The error of a frame that the client sent.
         */
        FrameError: {
            /** Code */
            code: string;
            /**
             * Details
             * @default null
             */
            details?: {
                [key: string]: unknown;
            } | null;
            /** Message */
            message: string;
        };
        /** Heartbeat */
        Heartbeat: Record<string, never>;
        /**
         * HookEnded
         * @description A hook has ended. `decision` is what followed: `continue`; `ask` (the operator is asked); `deny` (the
         *     call does not run, or the message is withheld); `sent_back` (the agent goes on); `warning` (the hook
         *     failed, and nothing follows); `ignored` (it would have sent the agent back a fourth time). `exit_code` is
         *     left out for a hook that was killed or not started.
         */
        HookEnded: {
            /**
             * Decision
             * @enum {string}
             */
            decision: "continue" | "ask" | "deny" | "sent_back" | "warning" | "ignored";
            /** Duration Ms */
            duration_ms: number;
            /**
             * Event
             * @enum {string}
             */
            event: "before_tool" | "after_tool" | "on_prompt" | "on_stop";
            /**
             * Exit Code
             * @default null
             */
            exit_code?: number | null;
            /** Hook */
            hook: string;
            /**
             * Reason
             * @default null
             */
            reason?: string | null;
            /**
             * Source
             * @enum {string}
             */
            source: "config" | "project";
            /**
             * Timed Out
             * @default null
             */
            timed_out?: boolean | null;
            /**
             * Tool
             * @default null
             */
            tool?: string | null;
            /**
             * Tool Call Id
             * @default null
             */
            tool_call_id?: string | null;
        };
        /**
         * InteractionAnswered
         * @description A question is not open any more. `state` is `answered`, `cancelled` (its session went on or ended
         *     without an answer) or `expired` (its waiter is gone); only the first has an `answer`, which stands at
         *     `answer_ref` when it is above 64 KB.
         */
        InteractionAnswered: {
            /**
             * Answer
             * @default null
             */
            answer?: {
                [key: string]: unknown;
            } | null;
            /**
             * Answer Ref
             * @default null
             */
            answer_ref?: string | null;
            /**
             * Answered By
             * @default null
             */
            answered_by?: string | null;
            /** Interaction Id */
            interaction_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "ask" | "form" | "question" | "plan";
            /**
             * State
             * @enum {string}
             */
            state: "answered" | "cancelled" | "expired";
            /** Tool Call Id */
            tool_call_id: string;
        };
        /**
         * InteractionRequested
         * @description A tool call asks a person something. `request` has the shape of the kind; one above 64 KB is left out
         *     (null), and `request_ref` is the address of the question.
         */
        InteractionRequested: {
            /** Interaction Id */
            interaction_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "ask" | "form" | "question" | "plan";
            /** Request */
            request: {
                [key: string]: unknown;
            } | null;
            /**
             * Request Ref
             * @default null
             */
            request_ref?: string | null;
            /** Tool Call Id */
            tool_call_id: string;
        };
        /**
         * IssueChanged
         * @description An issue is new or has changed; `status` and `assignment` are those after it. It goes to the
         *     sessions that are bound to the issue, and to who listens to all sessions.
         */
        IssueChanged: {
            /** Actor */
            actor: string;
            /** Assignment */
            assignment: string | null;
            /**
             * Change
             * @enum {string}
             */
            change: "created" | "edited" | "assigned" | "commented" | "transitioned" | "linked" | "unlinked" | "attached" | "detached";
            /** Issue Id */
            issue_id: string;
            /** Number */
            number: number;
            /** Project Id */
            project_id: string;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "triaged" | "assigned" | "in_progress" | "resolved" | "rejected" | "reopened";
        };
        /** MessageDelta */
        MessageDelta: {
            /**
             * Attempt
             * @default 1
             */
            attempt?: number;
            /** Delta */
            delta: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "text" | "thinking";
            /** Messageid */
            messageId: string;
        };
        /**
         * MessageEdited
         * @description A message that waits has another text or turn; above 64 KB only the head of the text is here.
         */
        MessageEdited: {
            /** Content */
            content: string;
            /**
             * Content Ref
             * @default null
             */
            content_ref?: string | null;
            /** Message Id */
            message_id: string;
        };
        /** MessageEnd */
        MessageEnd: {
            /**
             * Errormessage
             * @default null
             */
            errorMessage?: string | null;
            /** Messageid */
            messageId: string;
            /** @default null */
            stats?: components["schemas"]["MessageStats"] | null;
            /**
             * Stopreason
             * @enum {string}
             */
            stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
            /** @default null */
            usage?: components["schemas"]["WireUsage"] | null;
        };
        /**
         * MessagePosted
         * @description A message entered the conversation from outside the model: operator, system or a steer.
         *
         *     It is published once more, with `queued` false, when one that waited gets its place. Of a content
         *     above 64 KB only the head is here, and `content_ref` is the address of the whole message.
         */
        MessagePosted: {
            /** Content */
            content: string;
            /**
             * Content Ref
             * @default null
             */
            content_ref?: string | null;
            /** Created By */
            created_by: string;
            /** Delivery */
            delivery: string;
            /** Message Id */
            message_id: string;
            /** Queued */
            queued: boolean;
            /** Role */
            role: string;
        };
        /**
         * MessageRemoved
         * @description A message that waited was taken away; no run begins with it.
         */
        MessageRemoved: {
            /** Message Id */
            message_id: string;
        };
        /**
         * MessageSnapshot
         * @description What a client that joins in the middle of a message gets in place of the missed deltas.
         */
        MessageSnapshot: {
            /** Attempt */
            attempt: number;
            /** Messageid */
            messageId: string;
            /** Text */
            text: string;
            /** Thinking */
            thinking: string;
            /** Tool Calls */
            tool_calls: {
                [key: string]: unknown;
            }[];
        };
        /** MessageStart */
        MessageStart: {
            /**
             * Attempt
             * @default 1
             */
            attempt?: number;
            /** Messageid */
            messageId: string;
            /** Model */
            model: string;
            /** Provider */
            provider: string;
            /** Runid */
            runId: string;
        };
        /**
         * MessageStats
         * @description Timing and cost of one model call. `ttft` and `duration` are milliseconds, `tps` output
         *     tokens per second; `cost` is null when the model's price is not known.
         */
        MessageStats: {
            cost: components["schemas"]["Cost"] | null;
            /** Duration */
            duration: number;
            /** Tps */
            tps: number;
            /** Ttft */
            ttft: number | null;
        };
        /**
         * MessageToolCall
         * @description Arguments above 64 KB are left out (null), and `argumentsRef` is the address of the message
         *     that has them.
         */
        MessageToolCall: {
            /** Arguments */
            arguments: unknown;
            /**
             * Argumentsref
             * @default null
             */
            argumentsRef?: string | null;
            /**
             * Attempt
             * @default 1
             */
            attempt?: number;
            /** Id */
            id: string;
            /** Messageid */
            messageId: string;
            /** Name */
            name: string;
        };
        /**
         * MessageToolResult
         * @description `content` is what the model reads; above 64 KB only its head is here and `content_ref`
         *     is the address of the whole message, as it is when there are `images`.
         */
        MessageToolResult: {
            /** Content */
            content: string;
            /**
             * Contentref
             * @default null
             */
            contentRef?: string | null;
            /**
             * Durationms
             * @default null
             */
            durationMs?: number | null;
            /**
             * Images
             * @default null
             */
            images?: components["schemas"]["ShownImage"][] | null;
            /** Iserror */
            isError: boolean;
            /** Messageid */
            messageId: string;
            /** Name */
            name: string;
            /** Toolcallid */
            toolCallId: string;
        };
        /**
         * ModelRetry
         * @description A model call failed and will be tried again, here or elsewhere. The next attempt starts the answer
         *     again.
         */
        ModelRetry: {
            /** Attempt */
            attempt: number;
            /** Delay Ms */
            delay_ms: number | null;
            /** Error */
            error: string;
            /** Fallback To */
            fallback_to: string | null;
            /** Message */
            message: string;
            /** Model */
            model: string;
            /** Provider */
            provider: string;
            /** Step */
            step: number;
        };
        /**
         * PermissionAnswered
         * @description A call does not wait any more. `state` is `answered`, `cancelled` (its run was stopped) or
         *     `expired` (the daemon was restarted); only the first has an `answer`. `rules` are those that the
         *     answer stored; `covered_by` is the interaction, rule or mode (`mode:edits`) that answered this as well.
         */
        PermissionAnswered: {
            /**
             * Answer
             * @default null
             */
            answer?: ("once" | "always" | "reject") | null;
            /**
             * Answered By
             * @default null
             */
            answered_by?: string | null;
            /**
             * Comment
             * @default null
             */
            comment?: string | null;
            /**
             * Covered By
             * @default null
             */
            covered_by?: string | null;
            /** Interaction Id */
            interaction_id: string;
            /**
             * Rules
             * @default null
             */
            rules?: components["schemas"]["WireRule"][] | null;
            /**
             * State
             * @enum {string}
             */
            state: "answered" | "cancelled" | "expired";
            /** Tool Call Id */
            tool_call_id: string;
        };
        /**
         * PermissionRequested
         * @description A tool call waits for consent. `subjects` are the parts that need it: of more than 64 KB only
         *     the beginning is here, and `request_ref` is the address of the whole question. `suggestions` are
         *     the rules that the answer `always` stores.
         */
        PermissionRequested: {
            /** Interaction Id */
            interaction_id: string;
            /** Permission */
            permission: string;
            /** Reason */
            reason: string;
            /**
             * Request Ref
             * @default null
             */
            request_ref?: string | null;
            /**
             * Source
             * @enum {string}
             */
            source: "rule" | "watchdog" | "hook";
            /** Subjects */
            subjects: string[];
            /** Suggestions */
            suggestions: components["schemas"]["WireRule"][];
            /** Tool */
            tool: string;
            /** Tool Call Id */
            tool_call_id: string;
        };
        /**
         * Pong
         * @description The answer to a `ping`, with its `id`.
         */
        Pong: {
            /** Id */
            id: string | number | null;
        };
        /**
         * PromptFailed
         * @description The files of these prompts are missing, empty or unreadable: the last good text of each stays.
         */
        PromptFailed: {
            /** Prompts */
            prompts: components["schemas"]["UnusablePrompt"][];
        };
        /**
         * PromptReloaded
         * @description The prompts of these agents have another text, which holds from the next message boundary on.
         */
        PromptReloaded: {
            /** Agents */
            agents: string[];
        };
        /**
         * Resync
         * @description The log no longer reaches back to what the client asked for: reload from `snapshot`.
         */
        Resync: {
            /** From Seq */
            from_seq: number;
            /** Snapshot */
            snapshot: string;
        };
        /**
         * RollbackUndone
         * @description The conversation is again as it was before the rollback.
         */
        RollbackUndone: {
            /** Rollback Id */
            rollback_id: string;
            /** Undone By */
            undone_by: string;
        };
        /** RunEnded */
        RunEnded: {
            /** Cost Usd */
            cost_usd: number | null;
            /** Duration Ms */
            duration_ms: number | null;
            /**
             * Error
             * @default null
             */
            error?: {
                [key: string]: unknown;
            } | null;
            /** Reason */
            reason: string;
            /** Run Id */
            run_id: string;
            /** State */
            state: string;
            /** Steps */
            steps: number;
            /** Total Cost Usd */
            total_cost_usd: number | null;
            total_usage: components["schemas"]["Usage"];
            usage: components["schemas"]["Usage"];
        };
        /** RunQueued */
        RunQueued: {
            /** Message Id */
            message_id: string;
            /** Position */
            position: number;
            /**
             * Reason
             * @enum {string}
             */
            reason: "busy" | "capacity" | "workspace";
        };
        /** RunStarted */
        RunStarted: {
            /**
             * Background
             * @description True when the parent does not wait for it.
             * @default null
             */
            background?: boolean | null;
            /**
             * Checkpoint Id
             * @default null
             */
            checkpoint_id?: string | null;
            /** Model */
            model: string;
            /**
             * Parent Run Id
             * @description The run whose subagent this is.
             * @default null
             */
            parent_run_id?: string | null;
            /** Run Id */
            run_id: string;
            /** Trigger Message Id */
            trigger_message_id: string | null;
        };
        /**
         * SessionCreated
         * @description A session is stored: created, forked or imported. It comes before the session's own events, so only
         *     subscribers to all sessions get it.
         */
        SessionCreated: {
            /** Project Id */
            project_id: string;
            /** Title */
            title: string;
        };
        /**
         * SessionRolledBack
         * @description What came after `message_cursor` is no part of the conversation any more (null: all of it).
         *     `compactions` are those that were undone by it, because they were made later; `files` is how many
         *     files were restored.
         */
        SessionRolledBack: {
            /** Checkpoint Id */
            checkpoint_id: string | null;
            /** Compactions */
            compactions: string[];
            /** Created By */
            created_by: string;
            /**
             * Files
             * @default 0
             */
            files?: number;
            /** Message Cursor */
            message_cursor: string | null;
            /** Rollback Id */
            rollback_id: string;
        };
        /**
         * SessionStateChanged
         * @description A session has another state. With the reason `cannot_run`, `detail` says why the message that waited
         *     does not run; it stays, and goes with the next one.
         */
        SessionStateChanged: {
            /**
             * Detail
             * @default null
             */
            detail?: string | null;
            /** Previous */
            previous: string;
            /**
             * Reason
             * @default null
             */
            reason?: string | null;
            /** State */
            state: string;
        };
        /**
         * SessionUpdated
         * @description A session has another title, works on another issue of its project (null: on none), has another
         *     model from its next run on (null: its agent's), or another mode from the next call on, or a person has
         *     seen the end of a run (`seen_run_id`).
         */
        SessionUpdated: {
            /**
             * Issue Number
             * @default null
             */
            issue_number?: number | null;
            /**
             * Mode
             * @default ask
             */
            mode?: string;
            /**
             * Model
             * @default null
             */
            model?: string | null;
            /**
             * Seen Run Id
             * @default null
             */
            seen_run_id?: string | null;
            /** Title */
            title: string;
        };
        /**
         * ShownImage
         * @description A picture that a model was shown; it is kept with its message.
         */
        ShownImage: {
            /** Mediatype */
            mediaType: string;
            /**
             * Size
             * @description Bytes of the picture.
             */
            size: number;
        };
        /** StepEnded */
        StepEnded: {
            /** Message Id */
            message_id: string;
            /** Step */
            step: number;
            /**
             * Stop Reason
             * @enum {string}
             */
            stop_reason: "stop" | "length" | "toolUse" | "error" | "aborted";
            /** Tool Calls */
            tool_calls: number;
        };
        /** StepStarted */
        StepStarted: {
            /** Message Id */
            message_id: string;
            /** Step */
            step: number;
        };
        /** Sync */
        Sync: {
            /** From Seq */
            from_seq: number;
            /** Through Seq */
            through_seq: number;
        };
        /**
         * TodoChanged
         * @description The checklist of an issue has changed: `todos` are its entries after that, without what was
         *     abandoned. Above 64 KB they are left out, and `todos_ref` is the address of the list. It goes
         *     where `issue.changed` goes.
         */
        TodoChanged: {
            /** Actor */
            actor: string;
            /**
             * Change
             * @enum {string}
             */
            change: "set" | "added" | "started" | "completed" | "dropped" | "noted" | "reopened" | "edited" | "accepted" | "rejected";
            /** Issue Id */
            issue_id: string;
            /** Number */
            number: number;
            /** Open */
            open: number;
            /** Project Id */
            project_id: string;
            /**
             * Todos
             * @default null
             */
            todos?: components["schemas"]["WireTodo"][] | null;
            /**
             * Todos Ref
             * @default null
             */
            todos_ref?: string | null;
            /** Total */
            total: number;
        };
        /**
         * TodoProposed
         * @description A subagent's answer proposes entries for the checklist of its session's issue (`number`, null without
         *     one), for a person or the root agent to decide about: `GET /sessions/{id}/todo-proposals`. Accepting
         *     one publishes `todo.changed`.
         */
        TodoProposed: {
            /** Number */
            number: number | null;
            /** Project Id */
            project_id: string | null;
        };
        /**
         * TodoRejected
         * @description An operator has rejected a proposal for the checklist of the session's issue.
         */
        TodoRejected: {
            /** Number */
            number: number | null;
            /** Project Id */
            project_id: string | null;
            /** Proposal Id */
            proposal_id: string;
        };
        /** ToolProgress */
        ToolProgress: {
            /** Text */
            text: string;
            /** Tool Call Id */
            tool_call_id: string;
        };
        /**
         * UnusablePrompt
         * @description A prompt's file, below the project's root, and why its text cannot be used.
         */
        UnusablePrompt: {
            /** Agent Path */
            agent_path: string;
            /** File */
            file: string;
            /** Message */
            message: string;
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
         * WireRule
         * @description A permission rule as events and answers show it.
         */
        WireRule: {
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
         * WireTodo
         * @description An entry of a checklist as events show it. `accepted`: an operator has signed the criterion off.
         */
        WireTodo: {
            /** Accepted */
            accepted: boolean;
            /** Content */
            content: string;
            /** Id */
            id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "step" | "criterion";
            /** Origin Agent */
            origin_agent: string | null;
            /** Phase */
            phase: string | null;
            /** Position */
            position: number;
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "in_progress" | "completed";
        };
        /**
         * WireUsage
         * @description Token counts as the `message.end` contract names them.
         */
        WireUsage: {
            /** Cachereadtokens */
            cacheReadTokens: number;
            /** Cachewritetokens */
            cacheWriteTokens: number;
            /** Inputtokens */
            inputTokens: number;
            /** Outputtokens */
            outputTokens: number;
            /** Reasoningtokens */
            reasoningTokens: number;
            /** Totaltokens */
            totalTokens: number;
        };
        /**
         * WorkflowEnded
         * @description A run is over. `error` is `{code, message}` of one that failed.
         */
        WorkflowEnded: {
            /**
             * Cost Usd
             * @default null
             */
            cost_usd?: number | null;
            /** Duration Ms */
            duration_ms: number;
            /**
             * Error
             * @default null
             */
            error?: {
                [key: string]: unknown;
            } | null;
            /** Project Id */
            project_id: string;
            /**
             * State
             * @enum {string}
             */
            state: "succeeded" | "failed" | "cancelled";
            /** Workflow */
            workflow: string;
            /** Workflow Run Id */
            workflow_run_id: string;
        };
        /**
         * WorkflowQueued
         * @description A run is stored. It has no session before its turn comes, so only subscribers to all sessions get
         *     this event.
         */
        WorkflowQueued: {
            /**
             * Cause
             * @enum {string}
             */
            cause: "operator" | "agent" | "schedule" | "issue";
            /** Invoked By */
            invoked_by: string;
            /**
             * Issue Number
             * @default null
             */
            issue_number?: number | null;
            /** Project Id */
            project_id: string;
            /** Workflow */
            workflow: string;
            /** Workflow Run Id */
            workflow_run_id: string;
        };
        /**
         * WorkflowStarted
         * @description The session of a run works for the first time.
         */
        WorkflowStarted: {
            /**
             * Issue Number
             * @default null
             */
            issue_number?: number | null;
            /** Project Id */
            project_id: string;
            /** Workflow */
            workflow: string;
            /** Workflow Run Id */
            workflow_run_id: string;
        };
        /**
         * WorkspaceUpdated
         * @description The folder of its own that a session works in has another state. `step` says what is done meanwhile;
         *     `detail` what is wrong, or worth knowing. For a subagent's workspace the frame has its `agent_path`.
         */
        WorkspaceUpdated: {
            /**
             * Detail
             * @default null
             */
            detail?: string | null;
            /** State */
            state: string;
            /**
             * Step
             * @default null
             */
            step?: string | null;
            /** Workspace Id */
            workspace_id: string;
        };
        /** message.start */
        "message.start": {
            agent_path?: string;
            /** @constant */
            channel: "output";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageStart"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.start";
        };
        /** message.delta */
        "message.delta": {
            agent_path?: string;
            /** @constant */
            channel: "output";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageDelta"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.delta";
        };
        /** message.tool_call */
        "message.tool_call": {
            agent_path?: string;
            /** @constant */
            channel: "output";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageToolCall"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.tool_call";
        };
        /** message.tool_result */
        "message.tool_result": {
            agent_path?: string;
            /** @constant */
            channel: "output";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageToolResult"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.tool_result";
        };
        /** message.end */
        "message.end": {
            agent_path?: string;
            /** @constant */
            channel: "output";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageEnd"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.end";
        };
        /** message.snapshot */
        "message.snapshot": {
            agent_path?: string;
            /** @constant */
            channel: "output";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageSnapshot"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.snapshot";
        };
        /** message.posted */
        "message.posted": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessagePosted"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.posted";
        };
        /** sync */
        sync: {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["Sync"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "sync";
        };
        /** resync */
        resync: {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["Resync"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "resync";
        };
        /** run.queued */
        "run.queued": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["RunQueued"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "run.queued";
        };
        /** run.started */
        "run.started": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["RunStarted"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "run.started";
        };
        /** run.ended */
        "run.ended": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["RunEnded"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "run.ended";
        };
        /** step.started */
        "step.started": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["StepStarted"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "step.started";
        };
        /** step.ended */
        "step.ended": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["StepEnded"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "step.ended";
        };
        /** model.retry */
        "model.retry": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["ModelRetry"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "model.retry";
        };
        /** session.state */
        "session.state": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["SessionStateChanged"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "session.state";
        };
        /** session.updated */
        "session.updated": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["SessionUpdated"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "session.updated";
        };
        /** checkpoint.created */
        "checkpoint.created": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CheckpointCreated"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "checkpoint.created";
        };
        /** prompt.reloaded */
        "prompt.reloaded": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["PromptReloaded"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "prompt.reloaded";
        };
        /** tool.progress */
        "tool.progress": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["ToolProgress"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "tool.progress";
        };
        /** budget.warning */
        "budget.warning": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["BudgetWarning"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "budget.warning";
        };
        /** budget.seen */
        "budget.seen": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["BudgetSeen"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "budget.seen";
        };
        /** heartbeat */
        heartbeat: {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["Heartbeat"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "heartbeat";
        };
        /** permission.requested */
        "permission.requested": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["PermissionRequested"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "permission.requested";
        };
        /** permission.answered */
        "permission.answered": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["PermissionAnswered"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "permission.answered";
        };
        /** session.rolled_back */
        "session.rolled_back": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["SessionRolledBack"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "session.rolled_back";
        };
        /** session.rollback_undone */
        "session.rollback_undone": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["RollbackUndone"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "session.rollback_undone";
        };
        /** compaction.triggered */
        "compaction.triggered": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionTriggered"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.triggered";
        };
        /** compaction.completed */
        "compaction.completed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionCompleted"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.completed";
        };
        /** compaction.noop */
        "compaction.noop": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionNoop"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.noop";
        };
        /** compaction.failed */
        "compaction.failed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionFailed"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.failed";
        };
        /** compaction.proposed */
        "compaction.proposed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionProposed"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.proposed";
        };
        /** compaction.decided */
        "compaction.decided": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionDecided"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.decided";
        };
        /** compaction.flagged */
        "compaction.flagged": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["CompactionFlagged"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "compaction.flagged";
        };
        /** issue.changed */
        "issue.changed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["IssueChanged"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "issue.changed";
        };
        /** todo.changed */
        "todo.changed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["TodoChanged"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "todo.changed";
        };
        /** todo.proposed */
        "todo.proposed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["TodoProposed"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "todo.proposed";
        };
        /** todo.rejected */
        "todo.rejected": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["TodoRejected"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "todo.rejected";
        };
        /** workflow.queued */
        "workflow.queued": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["WorkflowQueued"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "workflow.queued";
        };
        /** workflow.started */
        "workflow.started": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["WorkflowStarted"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "workflow.started";
        };
        /** workflow.ended */
        "workflow.ended": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["WorkflowEnded"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "workflow.ended";
        };
        /** interaction.requested */
        "interaction.requested": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["InteractionRequested"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "interaction.requested";
        };
        /** interaction.answered */
        "interaction.answered": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["InteractionAnswered"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "interaction.answered";
        };
        /** prompt.failed */
        "prompt.failed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["PromptFailed"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "prompt.failed";
        };
        /** hook.ended */
        "hook.ended": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["HookEnded"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "hook.ended";
        };
        /** message.edited */
        "message.edited": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageEdited"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.edited";
        };
        /** message.removed */
        "message.removed": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["MessageRemoved"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "message.removed";
        };
        /** workspace.updated */
        "workspace.updated": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["WorkspaceUpdated"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "workspace.updated";
        };
        /** attempt.checked */
        "attempt.checked": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["AttemptChecked"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "attempt.checked";
        };
        /** session.created */
        "session.created": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["SessionCreated"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "session.created";
        };
        /** changes.updated */
        "changes.updated": {
            agent_path?: string;
            /** @constant */
            channel: "events";
            parent_tool_call_id?: string;
            payload: components["schemas"]["ChangesUpdated"];
            run_id?: string;
            seq: number;
            session_id: string;
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "changes.updated";
        };
        /** pong */
        pong: {
            /** @constant */
            channel: "events";
            payload: components["schemas"]["Pong"];
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "pong";
        };
        /** error */
        error: {
            /** @constant */
            channel: "events";
            payload: components["schemas"]["FrameError"];
            /** Format: date-time */
            ts: string;
            /** @constant */
            type: "error";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;

export const EVENT_TYPES = [
  "message.start",
  "message.delta",
  "message.tool_call",
  "message.tool_result",
  "message.end",
  "message.snapshot",
  "message.posted",
  "sync",
  "resync",
  "run.queued",
  "run.started",
  "run.ended",
  "step.started",
  "step.ended",
  "model.retry",
  "session.state",
  "session.updated",
  "checkpoint.created",
  "prompt.reloaded",
  "tool.progress",
  "budget.warning",
  "budget.seen",
  "heartbeat",
  "permission.requested",
  "permission.answered",
  "session.rolled_back",
  "session.rollback_undone",
  "compaction.triggered",
  "compaction.completed",
  "compaction.noop",
  "compaction.failed",
  "compaction.proposed",
  "compaction.decided",
  "compaction.flagged",
  "issue.changed",
  "todo.changed",
  "todo.proposed",
  "todo.rejected",
  "workflow.queued",
  "workflow.started",
  "workflow.ended",
  "interaction.requested",
  "interaction.answered",
  "prompt.failed",
  "hook.ended",
  "message.edited",
  "message.removed",
  "workspace.updated",
  "attempt.checked",
  "session.created",
  "changes.updated",
] as const;

export type KnownEvent = components["schemas"][(typeof EVENT_TYPES)[number]];
