// Where this page's daemon is: its address with the path prefix of a proxy. It follows from the address of this file.

/** The path prefix, without a slash at its end; "" at the root of a host. */
export const BASE_PATH = new URL("..", /* @vite-ignore */ import.meta.url).pathname.slice(0, -1);

/** The interface, as a path. */
export const API = `${BASE_PATH}/api/v1`;

/** What the daemon must be told, when it does not know its prefix: then cookies and links of it are wrong. Else null. */
export function prefixProblem(): string | null {
  const { basePath } = document.documentElement.dataset;
  if (basePath === BASE_PATH) return null;
  return `This page has the address ${location.origin}${BASE_PATH}/, but daemon.base_path is ${JSON.stringify(basePath)}. Set daemon.base_path to ${JSON.stringify(BASE_PATH)}, and let the proxy pass paths on unchanged.`;
}
