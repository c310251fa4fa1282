// The hint that notifications exist, above what is open, for who was away while an agent asked.

import { mount, unmount } from "svelte";
import { byId } from "../dom.js";
import Offer from "./Offer.svelte";

let open = false;

export function offer(): void {
  // The inbox has it already.
  if (open || document.querySelector(".notify-offer")) return;
  open = true;
  const target = document.createElement("div");
  byId("connection-banner")?.after(target);
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
