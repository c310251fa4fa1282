// What a message that begins with `/` does instead of being sent.

import { create, request, type Schemas } from "../api.ts";
import { to } from "../routes.ts";
import { showTab, tabExists } from "./panels.ts";
import { fork, rewind } from "./resend.ts";
import type { ComposerState } from "./state.svelte.ts";
import { short } from "./words.ts";

export interface Command {
  name: string;
  about: string;
  can?(composer: ComposerState): boolean;
  run(composer: ComposerState, argument: string): void | Promise<void>;
}

export const COMMANDS: Command[] = [
  { name: "stop", about: "Stop the run", can: ({ situation }) => Boolean(situation?.stop), run: (composer) => composer.act("cancel") },
  { name: "pause", about: "Pause the run", can: ({ situation }) => Boolean(situation?.pause), run: (composer) => composer.act("pause") },
  { name: "resume", about: "Go on from the pause", can: ({ situation }) => Boolean(situation?.resume), run: (composer) => composer.act("resume") },
  { name: "continue", about: "Go on after an answer that was cut off", can: ({ situation }) => Boolean(situation?.continue), run: (composer) => composer.act("continue") },
  { name: "retry", about: "Try the failed run again, with another model if you name one", can: ({ detail }) => detail?.state === "idle" && detail.last_run?.state === "failed", run: retry },
  { name: "mode", about: "Choose how much the agent asks", run: (composer, name) => (name ? composer.change({ mode: name }) : open(composer, "mode")) },
  { name: "model", about: "Choose the model", run: (composer, name) => (name ? composer.change({ model: name }) : open(composer, "model")) },
  { name: "compact", about: "Make room in the context", run: compact },
  { name: "context", about: "Show how full the context is, and the cost", run: (composer) => open(composer, "context") },
  { name: "changes", about: "Show what the session changed", can: () => tabExists("changes"), run: () => showTab("changes") },
  { name: "diff", about: "Show what the session changed", can: () => tabExists("changes"), run: () => showTab("changes") },
  { name: "rewind", about: "Go back to before your last message", can: (composer) => !composer.situation?.active, run: rewind },
  { name: "fork", about: "Go on in another session, from here", run: fork },
  { name: "rename", about: "Give the session another title", run: rename },
  { name: "new", about: "Begin another session", run: begin },
  { name: "help", about: "List the commands", run: (composer) => void (composer.text = "/") },
];

/** Return the command that a text is, with what stands after its name, null for a message. */
export function commandIn(text: string): { command: Command; argument: string } | null {
  const [, name, argument = ""] = /^\/([\w-]+)(?:\s+([^\n]*))?\s*$/.exec(text) ?? [];
  const command = COMMANDS.find((one) => one.name === name);
  return command ? { command, argument: argument.trim() } : null;
}

/** Return the name of a command that there is not, null for a text that names none. A path is no command. */
export function unknownIn(text: string): string | null {
  const name = /^\/([\w-]+)(?=\s|$)/.exec(text)?.[1];
  return name && !COMMANDS.some((one) => one.name === name) ? name : null;
}

/** Carry a command out, or say why it cannot be now. The field is empty then. */
export async function carryOut(composer: ComposerState, command: Command, argument = ""): Promise<void> {
  composer.text = "";
  if (command.can && !command.can(composer)) {
    composer.said = `/${command.name} is not possible now.`;
    return;
  }
  composer.said = "";
  try {
    await command.run(composer, argument);
  } catch (error) {
    composer.handlers.onError(error);
  }
}

function open(composer: ComposerState, popup: "mode" | "model" | "context"): void {
  composer.popup = popup;
}

async function retry(composer: ComposerState, model: string): Promise<void> {
  await create(`/runs/${composer.detail?.last_run?.id}/retry`, model ? { model } : {});
}

async function compact(composer: ComposerState): Promise<void> {
  const { session } = composer;
  if (!session) return;
  composer.said = "Making room in the context…";
  try {
    const { outcome, compaction } = await request<Schemas["CompactAnswer"]>("POST", `${session.path}/compact`, {});
    if (session !== composer.session) return;
    if (compaction === null) composer.said = "There is nothing to leave out of the context yet.";
    else if (outcome === "proposed") composer.said = "A compaction is proposed: look at it and approve it.";
    else composer.said = `The context has ${short(compaction.after_estimate)} tokens now, ${short(compaction.threshold_estimate)} before.`;
    await session.refresh();
  } catch (error) {
    composer.said = "";
    throw error;
  }
}

async function rename(composer: ComposerState, title: string): Promise<void> {
  if (title) await composer.change({ title });
  else composer.said = "Write the title after the command: /rename The new title";
}

async function begin(composer: ComposerState): Promise<void> {
  const made: Schemas["SessionDetail"] = await create("/sessions", { project_id: composer.detail?.project_id });
  location.hash = to.session(made.id);
}
