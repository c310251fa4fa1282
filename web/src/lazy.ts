// Parts of the page that are fetched when they are needed.

import { ApiError, request } from "./api.ts";

/** Return what `load` imports. Throws `ApiError`: the daemon is away, or another release has no such file. */
export async function lazily<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch {
    await request("GET", "/versions");
    throw new ApiError(0, { code: "outdated", message: "This page is of another release than the daemon. Reload the page." });
  }
}
