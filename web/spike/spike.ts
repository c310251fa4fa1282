// A page that uses what the workbench is made of, under the policy of the real one. tests/web/test_policy.py drives it.

import { mount, unmount } from "svelte";
import Spike from "./Spike.svelte";

const violations: string[] = [];
document.addEventListener("securitypolicyviolation", (event) => {
  violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
});

const spike = mount(Spike, { target: document.body, intro: false });
Object.assign(window, { violations, leave: () => unmount(spike) });
