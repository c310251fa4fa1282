// The conversation of the open session on the page: what is said to it from outside, and where its parts stand.

import { mount, tick, unmount } from "svelte";
import { byId } from "../dom.ts";
import { SessionStore, type Stored } from "./session.svelte.ts";
import { followScroll, type Follower } from "./scroll.ts";
import ThreadView from "./ThreadView.svelte";
import Waiting from "./Waiting.svelte";
import type { Actions, Frame, Interaction, Message, Run } from "./types.ts";

interface Given {
  /** An answer has ended of which something was missed. */
  onGap(): void;
  /** The reader comes to the first message that is shown. Returns whether there are more. */
  onOlder(): Promise<boolean>;
  actions: Actions;
}

export class Conversation {
  readonly root: HTMLElement;
  readonly waiting: HTMLElement;
  readonly scroll: Follower;
  /** What is known of the open session; another one once everything was read again. */
  store = $state.raw<SessionStore | null>(null);
  readonly #given: Given;
  #mounted: Record<string, unknown>[] = [];

  constructor(root: HTMLElement, waiting: HTMLElement, given: Given) {
    this.root = root;
    this.waiting = waiting;
    this.#given = given;
    this.scroll = followScroll(byId("conversation-scroll"), byId("to-end"));
  }

  get empty(): boolean {
    return this.store?.empty ?? true;
  }

  clear(): void {
    for (const one of this.#mounted) void unmount(one);
    this.#mounted = [];
    this.store = null;
    this.root.replaceChildren();
    this.waiting.replaceChildren();
  }

  /** Show the end of a stored conversation in place of what is shown. */
  load(stored: Stored): void {
    const store = new SessionStore({ actions: this.#given.actions, onGap: this.#given.onGap });
    store.load(stored);
    this.clear();
    this.store = store;
    const onOlder = () => this.#given.onOlder().catch(this.#given.actions.failed);
    this.#mounted = [
      mount(ThreadView, { target: this.root, props: { store, thread: store.root, onOlder } }),
      mount(Waiting, { target: this.waiting, props: { store } }),
    ];
  }

  /** Put older messages above what is shown, which stays where it is. */
  async older(messages: Message[], more: boolean): Promise<void> {
    await this.scroll.keepPlace(async () => {
      this.store?.older(messages, more);
      await tick();
    });
  }

  knows(runId: string): boolean {
    return this.store?.knows(runId) ?? true;
  }

  know(runs: Run[]): void {
    this.store?.know(runs);
  }

  asks(question: Interaction): void {
    this.store?.asks(question);
  }

  answered(question: Interaction): void {
    this.store?.answered(question);
  }

  interrupted(): void {
    this.store?.interrupted();
  }

  frame(frame: Frame): void {
    this.store?.frame(frame);
  }

  /** Bring a message or the end of a run into view, and mark it. Older messages are read until it is there. */
  async show(id: string): Promise<boolean> {
    const store = this.store;
    while (store && !store.root.stretchOf(id)) {
      if (!store.root.more || !(await this.#given.onOlder())) break;
      if (store !== this.store) return false;
    }
    const stretch = store?.root.stretchOf(id);
    if (!store || !stretch) return false;
    stretch.shown = true;
    store.marked = id;
    await tick();
    const element = this.root.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
    if (!element) return false;
    this.scroll.show(element);
    element.focus({ preventScroll: true });
    return true;
  }
}
