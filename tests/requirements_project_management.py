"""The requirements of project management: issues, todos, interactions, workflows."""

from __future__ import annotations

PROJECT_MANAGEMENT: dict[str, str] = {
    # 7 issues
    "R7.issues.tool": "every case of the testing notes of kaged.issue",
    "R7.issues.rest": "issues over REST: list, file, show, edit, comment, transition, with every error",
    "R7.issues.states": "the states and their legal moves; comments where they are required",
    "R7.issues.updates": "every change leaves an entry in the history, with old and new value",
    "R7.issues.visibility": "comments for all, or for operators only",
    "R7.issues.links": "issues block, relate to and duplicate each other",
    "R7.issues.attachments": "files are attached to issues and read again",
    "R7.issues.search": "search with the same syntax and hits on both databases; hostile queries",
    "R7.issues.speed": "search over 50,000 issues is measured",
    "R7.issues.writers": "fifty writers at once: numbers without holes, on both databases",
    "R7.issues.events": "changes are told on the sessions that are bound to the issue",
    "R7.issues.audit": "every change is audited with who made it",
    "R7.issues.machine": "any order of operations on issues and todos keeps the invariants",
    # 7 todos
    "R7.todos.tool": "every case of the testing notes of kaged.todo",
    "R7.todos.rest": "the checklist over REST",
    "R7.todos.coaching": "texts that look like ids, ambiguous and unknown texts are answered with help",
    "R7.todos.sticky": "the sticky reminder is sent and never stored",
    "R7.todos.echo": "notes are echoed under the task in progress",
    "R7.todos.bound": "sessions are bound to an issue, and go on with the same list",
    "R7.todos.criteria": "criteria are claimed by the agent and signed off by the operator",
    "R7.todos.proposals": "what subagents propose is persisted under auto and review, with its origin",
    # 7 interactions
    "R7.interactions.ask": "kaged.ask: questions with options, answered and checked",
    "R7.interactions.form": "kaged.form: fields of every type, files included",
    "R7.interactions.question": "the locked question tool, as its contract says",
    "R7.interactions.pause": "an interaction pauses the session with a checkpoint of its own",
    "R7.interactions.permission": "permission requests survive a restart and are answered after it",
    "R7.interactions.restart": "a question is answered after a restart",
    "R7.interactions.once": "of two answers at once one counts",
    "R7.interactions.checked": "answers are checked field by field",
    "R7.interactions.headless": "in a headless session the answer is a fixed refusal",
    "R7.interactions.socket": "questions are answered over the WebSocket",
    "R7.interactions.ended": "resume, cancel and rollback close a question and answer its call",
    # 7 uploads
    "R7.uploads.two_stage": "a file is uploaded first and named later; bounded, checked, removed when unused",
    # 7 workflows
    "R7.workflows.tools": "every case of the testing notes of the workflow tools",
    "R7.workflows.rest": "workflows are listed, invoked, shown and cancelled over REST",
    "R7.workflows.inputs": "inputs of every type are checked field by field",
    "R7.workflows.session": "a run is a session: prompt with fragment, tools cut down, inputs as data",
    "R7.workflows.result": "output, duration, cost and error of a run",
    "R7.workflows.queue": "concurrency of each workflow, a fair queue, also over a restart",
    "R7.workflows.timeout": "a run that takes too long fails; waiting for a human does not count",
    "R7.workflows.cancel": "a run is cancelled while it waits and while it works",
    "R7.workflows.schedule": "a schedule starts one run for each of its times",
    "R7.workflows.durable": "a killed daemon takes its runs up again; finished calls are not repeated",
    "R7.workflows.assignment": "an assignment to primary, a workflow or a session has its effect",
    # 7 principal scope
    "R7.scope": "every case of the testing notes of the principal scope",
    # 7 command line and page
    "R7.cli.issue": "kaged issue: everything that REST can",
    "R7.cli.run": "kaged run starts a workflow and follows it",
    "R7.cli.answer": "questions are answered from the command line",
    "R7.page.issues": "issues, checklists and their sign-off in the web page",
    "R7.page.questions": "questions and forms are answered in the web page",
    "R7.page.workflows": "workflows are started and followed in the web page",
    # 7 story
    "R7.story": "an issue from its filing to its resolution, with the whole of it in the audit",
}

SHOWN: tuple[str, ...] = (
    "R7.issues.attachments",
    "R7.issues.audit",
    "R7.issues.events",
    "R7.issues.links",
    "R7.issues.machine",
    "R7.issues.rest",
    "R7.issues.search",
    "R7.issues.speed",
    "R7.issues.states",
    "R7.issues.tool",
    "R7.issues.updates",
    "R7.issues.visibility",
    "R7.issues.writers",
    "R7.cli.answer",
    "R7.cli.issue",
    "R7.cli.run",
    "R7.interactions",
    "R7.page.issues",
    "R7.page.questions",
    "R7.page.workflows",
    "R7.scope",
    "R7.story",
    "R7.todos.bound",
    "R7.todos.coaching",
    "R7.todos.criteria",
    "R7.todos.echo",
    "R7.todos.proposals",
    "R7.todos.rest",
    "R7.todos.sticky",
    "R7.todos.tool",
    "R7.uploads",
    "R7.workflows",
)
"""Beginnings of the names that have tests."""

IN_HAND: dict[str, str] = {name: "in hand" for name in PROJECT_MANAGEMENT if not name.startswith(SHOWN)}
