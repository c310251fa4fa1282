// What waits for a person, over all projects, while somebody looks at it; and the finished runs that nobody has looked at.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";
import { allItems, request } from "../api.ts";
import { rail } from "../frame/rail.svelte.ts";
import { asItIs } from "../questions/answering.ts";
import { Stillness } from "../questions/stillness.ts";
import type { Interaction } from "../questions/types.ts";
import { countAgain, NEEDED, ofKinds, readBy, showCount } from "./count.ts";

export type Item = components["schemas"]["InboxItem"];
/** What became of an item: the question, or a sentence. */
export type Receipt = Interaction | string;

interface Found {
  items: Item[];
  total: number;
}

const MOST = 100;
const FINISHED = ["finished_run"];
/** So many requests are on their way at once. */
const AT_ONCE = 6;

class Inbox {
  readonly still = new Stillness(
    () => this.#letGo(),
    () => [...this.items, ...this.finished].every(({ id }) => this.#receipts.has(id)),
  );
  /** What needs a person, of whatever kind, from the oldest on. What is done keeps its place for a while. */
  items = $state.raw<Item[]>([]);
  finished = $state.raw<Item[]>([]);
  /** How many finished runs there are, shown or not. */
  ended = $state(0);
  /** How many things are not shown, as they would move what somebody points at. */
  held = $state(0);
  known = $state(false);
  #receipts = $state.raw<ReadonlyMap<string, Receipt>>(new Map());
  #turn = 0;
  /** Whether a pointer rests below what needs a person. */
  #isBelow = () => false;

  /** What became of an item that still has its place, null when it waits. */
  receipt(id: string): Receipt | null {
    return this.#receipts.get(id) ?? null;
  }

  /** Read what waits. Throws `ApiError`. */
  async read(): Promise<void> {
    const turn = ++this.#turn;
    const [{ items: needed, total }, finished]: [Found, Found] = await Promise.all([page(NEEDED), page(FINISHED)]);
    if (turn !== this.#turn) return;
    const below = this.#isBelow();
    this.items = this.#merged(this.items, needed, below);
    this.finished = this.#merged(this.finished, finished.items, false);
    this.held = below ? needed.filter(({ id }) => !this.items.some((one) => one.id === id)).length : 0;
    this.ended = finished.total;
    this.known = true;
    showCount(total);
  }

  open(): Promise<void> {
    readBy(() => this.read());
    return this.read();
  }

  close(): void {
    this.#turn += 1;
    readBy(null);
    this.known = false;
    this.#receipts = new Map();
    this.items = [];
    this.finished = [];
    this.held = 0;
  }

  /** Follow who is at the list; `isBelow` tells whether a pointer rests below what needs a person. Returns what stops it. */
  watch(list: HTMLElement, isBelow: () => boolean): () => void {
    this.#isBelow = () => this.still.over && isBelow();
    const stop = this.still.watch(list);
    return () => {
      this.#isBelow = () => false;
      stop();
    };
  }

  /** This does not wait any more. */
  done(id: string, receipt: Receipt): void {
    if (this.#receipts.has(id)) return;
    if (this.items.some((one) => one.id === id)) showCount(Math.max(0, rail.inbox - 1));
    else this.ended -= 1;
    this.#keep(id, receipt);
    // An answer that is under way may still name it.
    this.#turn += 1;
    countAgain();
  }

  /** Somebody has seen all finished runs, also those that are not shown. Throws `ApiError`. */
  async seeAll(): Promise<void> {
    const left: Item[] = await allItems(ofKinds(FINISHED));
    const work = async () => {
      for (let one = left.shift(); one; one = left.shift()) {
        const { id, session_id: session, run } = one;
        await request("PATCH", `/sessions/${encodeURIComponent(session)}`, { seen_run_id: run?.id });
        this.finished = this.finished.filter((other) => other.id !== id);
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } finally {
      await this.read();
    }
  }

  #keep(id: string, receipt: Receipt): void {
    this.#receipts = new Map(this.#receipts).set(id, receipt);
    this.still.keep();
  }

  /** Return what is shown from now on. While somebody is at the list, or it has receipts, each item keeps its place. */
  #merged(list: Item[], found: Item[], closed: boolean): Item[] {
    const now = kept(list, found);
    if (!this.still.used && !list.some(({ id }) => this.#receipts.has(id))) return now;
    const byId = new Map(now.map((one) => [one.id, one]));
    for (const item of list) if (!byId.has(item.id) && !this.#receipts.has(item.id)) void this.#left(item);
    const known = new Set(list.map(({ id }) => id));
    return [...list.map((one) => byId.get(one.id) ?? one), ...(closed ? [] : now.filter(({ id }) => !known.has(id)))];
  }

  /** Somebody else has done this, or it has gone on by itself. */
  async #left(item: Item): Promise<void> {
    let receipt: Receipt = item.kind === "finished_run" || item.kind === "failed_run" ? "It was seen, or its session went on" : "It does not wait any more";
    if (item.question) receipt = await asItIs(item.question).catch(() => receipt);
    if (typeof receipt === "string" || receipt.state !== "pending") this.#keep(item.id, receipt);
  }

  #letGo(): void {
    const left = ({ id }: Item) => !this.#receipts.has(id);
    this.items = this.items.filter(left);
    this.finished = this.finished.filter(left);
    this.#receipts = new Map();
    this.#turn += 1;
    countAgain();
  }
}

function page(kinds: string[]): Promise<Found> {
  return request("GET", `${ofKinds(kinds)}&limit=${MOST}`);
}

/** What is the same stays the same: somebody may be at work in it. */
function kept(list: Item[], found: Item[]): Item[] {
  const before = new Map(list.map((one) => [one.id, one]));
  return found.map((one) => {
    const known = before.get(one.id);
    return known && JSON.stringify(known) === JSON.stringify(one) ? known : one;
  });
}

export const inbox = new Inbox();
