// What the composer fetches when somebody needs it first.

export { default as AttachmentList } from "./AttachmentList.svelte";
export { carryOut, commandIn, unknownIn } from "./commands.ts";
export { Completion, type Suggestion } from "./completion.svelte.ts";
export { default as Popups } from "./Popups.svelte";
export { default as QueueTray } from "./QueueTray.svelte";
export { editLast } from "./resend.ts";
export { default as Suggestions } from "./Suggestions.svelte";
