// The way from the composer to the panel beside the conversation.

/** Whether the panel has a tab of this name. */
export function tabExists(name: string): boolean {
  return document.getElementById(`tab-${name}`) !== null;
}

/** Open the panel with this tab. */
export function showTab(name: string): void {
  const opener = document.getElementById("open-details");
  if (opener?.getAttribute("aria-expanded") === "false") opener.click();
  document.getElementById(`tab-${name}`)?.click();
}
