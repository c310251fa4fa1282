// The views of what is said and done, loaded with the first message.

import "./messages.css";

export { default as PostView } from "./PostView.svelte";
export { default as StretchView } from "./StretchView.svelte";
