// What language servers find in one file, asked for until they have answered for what it holds now.

import { address, request } from "../api.ts";
import type { Refusal, Schemas } from "../workspace/types.ts";

export type Problem = Schemas["FileProblem"];
type Found = Schemas["FileProblems"];

const WAIT_SECONDS = 5;
const FIRST_PAUSE = 1000;
const SOON = 700;
const LONGEST_PAUSE = 30_000;
const SERIOUS = ["error", "warning", "information"] as const;
/** Words without which code still is what it should be are for editors. */
const isShown = (one: Problem) => one.severity !== "hint";

export class Problems {
  /** Null until the first answer. */
  found = $state.raw<Found | null>(null);
  refused = $state.raw<Refusal | null>(null);
  #address: string;
  #turn = 0;
  #due: ReturnType<typeof setTimeout> | undefined;

  constructor(project: string, path: string, session: string | undefined) {
    this.#address = address(`${project}/files/problems`, { path, session_id: session, wait: WAIT_SECONDS });
  }

  readonly shown = $derived((this.found?.items ?? []).filter(isShown));

  /** How many there are of each kind, the worst kind first. */
  readonly counts = $derived(SERIOUS.map((severity) => ({ severity, count: this.shown.filter((one) => one.severity === severity).length })).filter(({ count }) => count));

  /** The problems that begin at a line, by its number, the worst first. */
  readonly lines = $derived.by(() => {
    const lines = new Map<number, Problem[]>();
    for (const severity of SERIOUS) {
      for (const one of this.shown) {
        if (one.severity === severity) lines.set(one.start.line, [...(lines.get(one.start.line) ?? []), one]);
      }
    }
    return lines;
  });

  /** Ask again after a moment, once for all that happens until then. */
  soon(): void {
    this.#due ??= setTimeout(() => void this.look(), SOON);
  }

  /** Ask, and go on asking while the server has not answered. What was asked before is forgotten. */
  async look(): Promise<void> {
    this.close();
    const mine = this.#turn;
    for (let pause = FIRST_PAUSE; mine === this.#turn; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        const found: Found = await request("GET", this.#address);
        if (mine !== this.#turn) return;
        [this.found, this.refused] = [found, null];
        if (found.state !== "checking") return;
      } catch (error) {
        if (mine === this.#turn) this.refused = error as Refusal;
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  close(): void {
    clearTimeout(this.#due);
    this.#due = undefined;
    this.#turn += 1;
  }
}
