// Opens the dialog that shares a session. It is fetched when somebody shares for the first time.

import { mount, unmount } from "svelte";
import ShareDialog from "./ShareDialog.svelte";

/** `path` is that of the session. The focus returns to where it was. */
export function openShare(path: string): void {
  const before = document.activeElement;
  const dialog = mount(ShareDialog, {
    target: document.body,
    props: {
      path,
      onClosed: () => {
        void unmount(dialog);
        if (before instanceof HTMLElement) before.focus({ preventScroll: true });
      },
    },
  });
}
