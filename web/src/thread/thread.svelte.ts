// The thread of one agent: its items in short stretches, so that those far from the screen can leave the page.

import type { Call, Item } from "./items.svelte.ts";
import type { Run } from "./types.ts";

const STRETCH = 12;

export class Stretch {
  readonly id: number;
  items = $state<Item[]>([]);
  /** Whether it stands on the page; else a space of its height does. */
  shown = $state(true);
  height = 0;

  constructor(id: number, items: Item[]) {
    this.id = id;
    this.items = items;
  }
}

export class Thread {
  readonly agent: string;
  readonly runId: string | null;
  stretches = $state<Stretch[]>([]);
  /** Whether older items can be read. */
  more = $state(false);
  /** Of a subagent: its run, whether its thread is open, and whether its messages were read. */
  run = $state.raw<Partial<Run> | null>(null);
  /** Of a subagent: the call that started it, once it was read. */
  call = $state.raw<Call | null>(null);
  open = $state(false);
  loaded = $state(false);
  #made = 0;

  constructor(agent: string, runId: string | null) {
    this.agent = agent;
    this.runId = runId;
  }

  get empty(): boolean {
    return this.stretches.length === 0;
  }

  get last(): Item | undefined {
    return this.stretches.at(-1)?.items.at(-1);
  }

  *items(): Generator<Item> {
    for (const stretch of this.stretches) yield* stretch.items;
  }

  clear(): void {
    this.stretches = [];
    this.more = false;
  }

  append(item: Item): void {
    const last = this.stretches.at(-1);
    if (last && last.items.length < STRETCH) last.items.push(item);
    else this.stretches.push(new Stretch((this.#made += 1), [item]));
  }

  /** Put older items before all others. */
  prepend(items: Item[]): void {
    const made: Stretch[] = [];
    for (let at = items.length; at > 0; at -= STRETCH) made.unshift(new Stretch((this.#made += 1), items.slice(Math.max(0, at - STRETCH), at)));
    this.stretches.unshift(...made);
  }

  /** Return the stretch that has this item. */
  stretchOf(id: string): Stretch | undefined {
    return this.stretches.find((stretch) => stretch.items.some((item) => item.id === id));
  }
}
