// What the page says when its stream ends for good.

const FINAL: Record<number, string> = {
  4401: "This browser is no longer signed in.",
  4403: "The daemon refuses this browser.",
  4404: "This session was deleted.",
};

/** A reason has a sentence of its own, which replaces that of the code. */
const WHY: Record<string, string> = { origin_not_allowed: `The daemon does not know this page's address. Behind a proxy, add ${location.origin} to auth.allowed_origins.` };

export function goneWords(code: number, reason: string): string {
  return WHY[reason] ?? FINAL[code] ?? "The connection is closed.";
}
