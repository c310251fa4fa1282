// The names for trusted types that this page may make, each once: app/api/boundary.py has the same list. Svelte makes
// its own, "svelte-trusted-html", for the templates of components.

type Name = "kaged-markdown" | "kaged-worker";

/** Return a policy, or null in a browser without trusted types. */
export function policy(name: Name, rules: TrustedTypePolicyOptions): TrustedTypePolicy | null {
  return window.trustedTypes?.createPolicy(name, rules) ?? null;
}

const scripts = policy("kaged-worker", { createScriptURL: own });

/** A script of this page, for a worker. */
export function ownScript(address: string | URL): string {
  const trusted: unknown = scripts?.createScriptURL(String(address)) ?? own(String(address));
  return trusted as string;
}

function own(address: string): string {
  const url = new URL(address, document.baseURI);
  if (url.origin !== location.origin || url.search || !/\.js$/.test(url.pathname)) throw new TypeError(`not a script of this page: ${address}`);
  return url.href;
}
