// The hint that notifications exist, above what is open, for who was away while an agent asked.

import { mount, unmount } from "svelte";
import { findById } from "../dom.ts";
import Offer from "./Offer.svelte";

let open = false;

export function offer(): void {
  // The inbox has it already.
  if (open || document.querySelector(".notify-offer")) return;
  open = true;
  const target = document.createElement("div");
  findById("connection-banner")?.after(target);
  const made = mount(Offer, {
    target,
    props: {
      text: "An agent asked you while you looked elsewhere.",
      onDone: () => {
        open = false;
        void unmount(made);
        target.remove();
      },
    },
  });
}
