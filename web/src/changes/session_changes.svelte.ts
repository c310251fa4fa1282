// What a session changed, read page by page and again when it changes.

import { address, request } from "../api.ts";
import type { Panel } from "../workspace/panel.svelte.ts";
import type { Schemas } from "../workspace/types.ts";
import { inAddress } from "../workspace/names.ts";

export type Change = Schemas["ChangeAnswer"];
export type Diff = Schemas["ChangeDiffAnswer"];

const PAGE = 100;
const OTHERS = "Commands, people, other sessions";
/** Reading again what changes all the time. */
const PAUSE = 400;

export class SessionChanges {
  items = $state.raw<Change[]>([]);
  total = $state(0);
  additions = $state(0);
  deletions = $state(0);
  incomplete = $state<string | null>(null);
  cursor = $state<string | null>(null);
  loading = $state(true);
  /** How often each file was seen to change. */
  versions = $state<Record<string, number>>({});
  since = $state("start");
  /** Whether no agent was at work when what is shown was asked for: who wrote each file was known then. */
  atRest = $state(false);
  /** Files that were reverted here and are no longer changed: they keep their place in `items`, so that nothing moves
  under the pointer. */
  reverted = $state.raw<ReadonlySet<string>>(new Set());
  readonly path: string;
  readonly #isAtRest: () => boolean;
  readonly #kept = new Map<string, Change>();
  /** Those that are being reverted. */
  readonly #atWork = new Set<string>();
  /** The agents that wrote files last before something of them was reverted here: they stay in that group. */
  readonly #authors = new Map<string, string>();
  #turn = 0;
  readonly #touched = new Set<string>();
  #due: ReturnType<typeof setTimeout> | undefined;

  constructor(path: string, isAtRest: () => boolean) {
    this.path = path;
    this.#isAtRest = isAtRest;
  }

  /** Do the `work` that reverts a file or some of its changes. The list may be read before its answer has come. */
  async reverting<Result>(change: Change, work: () => Promise<Result>): Promise<Result> {
    this.#authors.set(change.path, this.author(change));
    this.#kept.set(change.path, change);
    this.#atWork.add(change.path);
    try {
      const done = await work();
      // What is being read is the list before that.
      this.#turn += 1;
      return done;
    } catch (error) {
      this.#kept.delete(change.path);
      throw error;
    } finally {
      this.#atWork.delete(change.path);
    }
  }

  /** Let reverted files go, as when something else is compared. */
  forget(): void {
    this.#kept.clear();
    this.#authors.clear();
  }

  /** Return who wrote a file last. */
  author({ path, by }: Change): string {
    return this.#authors.get(path) ?? by.at(-1)?.agent_path ?? OTHERS;
  }

  async load(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const isAtRest = this.#isAtRest();
    const shown = Math.max(PAGE, this.items.length);
    try {
      const items: Change[] = [];
      let page: Schemas["ChangePage"] | null = null;
      do {
        page = (await request("GET", address(`${this.path}/changes`, { since: this.since, limit: PAGE, cursor: page?.next_cursor }))) as Schemas["ChangePage"];
        items.push(...page.items);
      } while (page.next_cursor !== null && items.length < shown);
      if (turn !== this.#turn) return;
      this.atRest = isAtRest;
      this.#take(items, page);
    } finally {
      if (turn === this.#turn) this.loading = false;
    }
  }

  async more(): Promise<void> {
    const turn = this.#turn;
    const page: Schemas["ChangePage"] = await request("GET", address(`${this.path}/changes`, { since: this.since, limit: PAGE, cursor: this.cursor }));
    // The list was read again meanwhile: what follows it may be another page.
    if (turn !== this.#turn) return this.cursor === null ? undefined : this.more();
    this.#take([...this.items.filter(({ path }) => !this.reverted.has(path)), ...page.items], page);
  }

  diff(path: string): Promise<Diff> {
    return request("GET", address(`${this.path}/changes/${inAddress(path)}`, { since: this.since, content: true }));
  }

  /** These files have changed: the list is read a moment later, and then those that are still in it. */
  touched(paths: string[], panel: Panel): void {
    for (const path of paths) this.#touched.add(path);
    this.#due ??= setTimeout(() => {
      this.#due = undefined;
      this.#readAgain().catch(panel.failed);
    }, PAUSE);
  }

  async #readAgain(): Promise<void> {
    const paths = [...this.#touched];
    this.#touched.clear();
    await this.load();
    const listed = new Set(this.items.map((item) => item.path));
    for (const path of paths) if (listed.has(path)) this.versions[path] = (this.versions[path] ?? 0) + 1;
  }

  close(): void {
    this.#turn += 1;
    clearTimeout(this.#due);
    this.#due = undefined;
  }

  #take(items: Change[], page: Schemas["ChangePage"]): void {
    const listed = new Set(items.map(({ path }) => path));
    for (const path of listed) if (!this.#atWork.has(path)) this.#kept.delete(path);
    this.reverted = new Set([...this.#kept.keys()].filter((path) => !listed.has(path)));
    this.items = this.reverted.size ? inPlace(items, this.items, this.reverted) : items;
    this.total = page.total;
    this.additions = page.additions;
    this.deletions = page.deletions;
    this.incomplete = page.incomplete;
    this.cursor = page.next_cursor;
  }
}

/** Return the files with those that are kept, each behind the one that it stood behind. */
function inPlace(items: Change[], before: Change[], kept: ReadonlySet<string>): Change[] {
  const found = [...items];
  before.forEach((change, at) => {
    if (!kept.has(change.path)) return;
    const above = before.slice(0, at).findLast((one) => found.some((other) => other.path === one.path));
    found.splice(above ? found.findIndex((one) => one.path === above.path) + 1 : 0, 0, change);
  });
  return found;
}

/** Return the files in groups, each with its name. */
export function grouped(items: Change[], groupOf: (change: Change) => string): [name: string, items: Change[]][] {
  const groups = new Map<string, Change[]>();
  for (const item of items) {
    const name = groupOf(item);
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return [...groups].sort(([one], [other]) => Number(one === OTHERS) - Number(other === OTHERS));
}
