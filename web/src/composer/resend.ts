// The last message of the conversation: to write it anew, or to fork the session there.

import { create, request, type Page, type Schemas } from "../api.ts";
import { to } from "../routes.ts";
import type { ComposerState } from "./state.svelte.ts";
import type { Message } from "./types.ts";

const RUNS = 20;

/** Return the newest message that a person posted and that is in the conversation, null when there is none. */
export async function lastPosted(path: string): Promise<Message | null> {
  const { items } = await request<Page<Schemas["RunAnswer"]>>("GET", `${path}/runs?limit=${RUNS}`);
  for (const { trigger_message_id: id } of items) {
    if (id === null) continue;
    const message: Message = await request("GET", `${path}/messages/${id}`);
    if (message.role === "operator" && !message.superseded) return message;
  }
  return null;
}

/** Take the last message back into the field: one that waits, else the last of the conversation. */
export async function editLast(composer: ComposerState): Promise<void> {
  const { session, situation } = composer;
  if (!session) return;
  await composer.queue.read();
  const waiting = composer.queue.list.at(-1);
  if (waiting) {
    composer.queue.editing = waiting.id;
    return;
  }
  if (situation?.active) {
    composer.said = "Your last message is being worked on. Stop the run to edit it.";
    return;
  }
  const message = await lastPosted(session.path);
  if (session !== composer.session) return;
  if (message) composer.rewrite(message.id, message.content);
  else composer.said = "There is no message to edit.";
}

/** Rewind to before the last message, which comes back into the field. */
export async function rewind(composer: ComposerState): Promise<void> {
  const { session } = composer;
  const message = session && (await lastPosted(session.path));
  if (!message) {
    composer.said = "There is no message to rewind to.";
    return;
  }
  await create(`${session.path}/rollback`, { message_id: message.id, before: true });
  composer.text = message.content;
  composer.said = "Rewound to before your last message. Restore in the conversation brings it back.";
}

/** Another session with the same conversation. */
export async function fork(composer: ComposerState): Promise<void> {
  const { session } = composer;
  if (!session) return;
  const { items } = await request<Page<Schemas["RunAnswer"]>>("GET", `${session.path}/runs?limit=1`);
  const run = items[0] && (await request<Schemas["RunDetail"]>("GET", `/runs/${items[0].id}`));
  const at = run?.steps.at(-1)?.message_id ?? run?.trigger_message_id ?? null;
  if (at === null) {
    composer.said = "There is nothing to fork yet.";
    return;
  }
  const made: Schemas["SessionDetail"] = await create(`${session.path}/fork`, { message_id: at });
  location.hash = to.session(made.id);
}
