// Giving an answer, once, and reading what became of a question.

import { create, request } from "../api.ts";
import type { Body, Interaction, Problems } from "./types.ts";

export interface Refusal {
  text: string;
  problems: Problems;
}

export function pathOf({ session_id: session, id }: Interaction): string {
  return `/sessions/${encodeURIComponent(session)}/interactions/${encodeURIComponent(id)}`;
}

/** Give an answer. Return the question as it is then, and whether it is this answer that counts, not somebody else's. Throws
 * `ApiError` when the question is still open. */
export async function give(question: Interaction, body: Body): Promise<{ now: Interaction; counts: boolean }> {
  try {
    return { now: await create(`${pathOf(question)}/answer`, body), counts: true };
  } catch (error) {
    const status = (error as { status?: number }).status;
    // Somebody else was faster, or the run has ended.
    if (status === 404 || status === 409) {
      const now = await asItIs(question);
      if (now.state !== "pending") return { now, counts: false };
    }
    throw error;
  }
}

/** Read a question. One that is gone with its session counts as cancelled. */
export async function asItIs(question: Interaction): Promise<Interaction> {
  try {
    return await request("GET", pathOf(question));
  } catch (error) {
    if ((error as { status?: number }).status !== 404) throw error;
    return { ...question, state: "cancelled", closed_at: new Date().toISOString() };
  }
}

/** Return what to show of an error, and what was wrong with which part of the answer. */
export function refusal(error: any): Refusal {
  const problems = (error.details?.fields ?? {}) as Problems;
  if (Object.keys(problems).length) return { text: "", problems };
  const again = error.status === 0 || error.status >= 500 ? " Nothing was lost. Try again." : "";
  return { text: `${error.message}${again}`, problems: {} };
}
