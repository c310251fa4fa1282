// What the files of a project declare, as suggestions for `@`: classes, functions and the like.

import { address, request } from "../api.ts";
import type { components } from "../../../clients/typescript/src/generated/routes.ts";
import { shownPath, visible } from "../workspace/names.ts";
import type { Suggestion } from "./completion.svelte.ts";

type Hit = components["schemas"]["SymbolHit"];

export interface Offered {
  items: Suggestion[];
  /** More may be found a moment later. */
  pending: boolean;
  /** Why there may be more than is found. */
  note: string;
}

const MOST = 6;
const NOTHING: Offered = { items: [], pending: false, note: "" };
/** A letter alone fits too much; a path is no name, and a number with its sign is an issue. */
const NAME = /^[^/#]{2,}$/;

export async function symbolsLike(query: string, project: string, session: string | undefined): Promise<Offered> {
  if (!NAME.test(query)) return NOTHING;
  let answer: components["schemas"]["SymbolHits"];
  try {
    answer = await request("GET", address(`/projects/${project}/symbols`, { q: query, limit: MOST, session_id: session }));
  } catch {
    return NOTHING;
  }
  const pending = answer.state === "pending";
  const reason = answer.state === "unavailable" ? `Symbols cannot be searched: ${visible(answer.reason ?? "")}` : "";
  return { items: answer.items.map(suggestion), pending, note: pending ? "Source files are being read; more symbols may follow." : reason };
}

function suggestion(hit: Hit): Suggestion {
  const name = hit.container === null ? hit.name : `${hit.container}.${hit.name}`;
  const place = `${mention(hit.path)}:${hit.line}`;
  // What cannot be seen in the message does not get into it.
  const isPlain = visible(name) === name && !/\s/.test(name);
  return {
    kind: "Symbols",
    label: visible(name),
    about: `${hit.kind} · ${shownPath(hit.path)}:${hit.line}`,
    text: isPlain ? `${name} (${place})` : place,
  };
}

/** A path as it stands in a message: in quotation marks where it would end too early. */
export function mention(path: string): string {
  return /^[\w./~:+@=-]+$/.test(path) ? `@${path}` : `@"${path}"`;
}
