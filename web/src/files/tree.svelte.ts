// The tree of a project's files: folders are read when they are opened, page by page.

import { address, request } from "../api.ts";
import type { Schemas } from "../workspace/types.ts";

export type Entry = Schemas["FileEntry"];

interface Folder {
  items: Entry[];
  cursor: string | null;
  total: number;
}

/** A row of the tree as it is shown. */
export type Row =
  | { kind: "entry"; key: string; entry: Entry; level: number; place: number; of: number; open: boolean; above: string }
  | { kind: "more"; key: string; folder: string; level: number; rest: number };

const PAGE = 100;
const ROOT = "";
/** How often git is asked again that takes long, and after how many milliseconds. */
const PATIENCE = 20;
const PAUSE = 1500;

export class Tree {
  folders = $state.raw<Record<string, Folder>>({});
  open = $state.raw<ReadonlySet<string>>(new Set());
  git = $state.raw<Schemas["GitStateAnswer"] | null>(null);
  complete = $state(true);
  ignored = $state(false);
  readonly project: string;
  readonly session: string;
  #closed = false;
  #asked = 0;
  #due: ReturnType<typeof setTimeout> | undefined;

  constructor(project: string, session: string) {
    this.project = project;
    this.session = session;
  }

  rows: Row[] = $derived.by(() => this.#rows(ROOT, 1));

  async read(folder = ROOT): Promise<void> {
    const shown = Math.max(PAGE, this.folders[folder]?.items.length ?? 0);
    const items: Entry[] = [];
    let page: Schemas["FileTreePage"] | null = null;
    do {
      page = (await this.#page(folder, page?.next_cursor ?? null)) as Schemas["FileTreePage"];
      items.push(...page.items);
    } while (page.next_cursor !== null && items.length < shown);
    this.#take(folder, items, page);
  }

  async more(folder: string): Promise<void> {
    const known = this.folders[folder];
    if (!known?.cursor) return;
    const page = await this.#page(folder, known.cursor);
    this.#take(folder, [...known.items, ...page.items], page);
  }

  async toggle(entry: Entry, open = !this.open.has(entry.path)): Promise<void> {
    if (open && !this.folders[entry.path]) await this.read(entry.path);
    const next = new Set(this.open);
    if (open) next.add(entry.path);
    else next.delete(entry.path);
    this.open = next;
  }

  /** Open all folders above a path. */
  async reveal(path: string): Promise<void> {
    const names = path.startsWith("~bytes:") ? [] : path.split("/").slice(0, -1);
    const above = names.map((_, index) => names.slice(0, index + 1).join("/"));
    for (const folder of above) {
      if (!this.folders[folder]) await this.read(folder);
    }
    this.open = new Set([...this.open, ...above]);
  }

  /** Read again what is shown. A folder that is gone is closed. */
  async again(): Promise<void> {
    await this.read();
    for (const folder of this.open) {
      try {
        await this.read(folder);
      } catch (error) {
        if ((error as { status?: number }).status !== 404) throw error;
        this.open = new Set([...this.open].filter((one) => one !== folder));
      }
    }
  }

  async showIgnored(shown: boolean): Promise<void> {
    this.ignored = shown;
    this.folders = {};
    await this.again();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#due);
  }

  #page(folder: string, cursor: string | null): Promise<Schemas["FileTreePage"]> {
    return request("GET", address(`${this.project}/files`, { path: folder || ".", session_id: this.session, limit: PAGE, ignored: this.ignored, cursor }));
  }

  #take(folder: string, items: Entry[], page: Schemas["FileTreePage"]): void {
    if (this.#closed) return;
    this.folders = { ...this.folders, [folder]: { items, cursor: page.next_cursor, total: page.total ?? items.length } };
    this.git = page.git;
    this.complete = page.complete;
    if (page.git.state !== "pending" || this.#due || this.#asked >= PATIENCE) return;
    this.#asked += 1;
    this.#due = setTimeout(() => {
      this.#due = undefined;
      // What fails here is told when somebody asks for something.
      this.again().catch(() => undefined);
    }, PAUSE);
  }

  #rows(folder: string, level: number): Row[] {
    const known = this.folders[folder];
    if (!known) return [];
    const rows: Row[] = known.items.flatMap((entry, index) => {
      const open = entry.kind === "folder" && this.open.has(entry.path);
      const row: Row = { kind: "entry", key: entry.path, entry, level, place: index + 1, of: known.total, open, above: folder };
      return open ? [row, ...this.#rows(entry.path, level + 1)] : [row];
    });
    if (known.cursor) rows.push({ kind: "more", key: `more:${folder}`, folder, level, rest: known.total - known.items.length });
    return rows;
  }
}
