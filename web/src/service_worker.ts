// The worker of the page: it keeps the built files, whose names have a digest, so that a name never means something
// else. The page itself and every answer of the interface come from the daemon each time: nothing of a person is kept,
// and no page of an older release is shown.

export {};

interface Waiting extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Asked extends Waiting {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface Worker extends EventTarget {
  registration: { scope: string };
  clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
}

/** The names of this release: the build writes them. */
declare const BUILT_FILES: string[];

const worker = globalThis as unknown as Worker;
const FILES = new Set(BUILT_FILES);
/** Daemons below other paths of this host have keeps of their own. */
const KEEP = `kaged ${worker.registration.scope}`;
const FOLDER = new URL("static/", worker.registration.scope).href;

worker.addEventListener("install", (event) => (event as Waiting).waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => (event as Waiting).waitUntil(tidy().then(() => worker.clients.claim())));
worker.addEventListener("fetch", (event) => {
  const { request } = event as Asked;
  if (request.method === "GET" && isBuilt(request.url)) (event as Asked).respondWith(answer(request));
});

function isBuilt(address: string): boolean {
  return address.startsWith(FOLDER) && FILES.has(address.slice(FOLDER.length));
}

async function answer(request: Request): Promise<Response> {
  const keep = await caches.open(KEEP);
  const known = await keep.match(request.url);
  if (known) return known;
  const fresh = await fetch(request);
  // Only the file itself: not a refusal, not a page to sign in, not where something else led.
  if (fresh.status === 200 && fresh.type === "basic" && !fresh.redirected) await keep.put(request.url, fresh.clone()).catch(() => undefined);
  return fresh;
}

/** Forget the files of other releases. */
async function tidy(): Promise<void> {
  const keep = await caches.open(KEEP);
  const old = (await keep.keys()).filter((request) => !isBuilt(request.url));
  await Promise.all(old.map((request) => keep.delete(request)));
}
