// How long something waits. While an age is on the page it goes on.

import { createSubscriber } from "svelte/reactivity";
import { ago } from "../format.ts";

const OFTEN_MS = 20_000;

const follow = createSubscriber((update) => {
  const timer = setInterval(update, OFTEN_MS);
  return () => clearInterval(timer);
});

/** Return how long ago it was, in words that stay true. */
export function age(time: string): string {
  follow();
  return ago(time);
}
