// The worker that keeps the page's files (service_worker.ts). It is not needed: a browser without it asks the daemon.

import { ownScript } from "../policies.ts";

/** Start the worker once the page has nothing better to do. */
export function install(): void {
  if (!("serviceWorker" in navigator)) return;
  const start = () => navigator.serviceWorker.register(ownScript("./service_worker.js"), { updateViaCache: "none" }).catch(() => undefined);
  addEventListener("load", () => setTimeout(start, 1000), { once: true });
  if (document.readyState === "complete") setTimeout(start, 1000);
}
