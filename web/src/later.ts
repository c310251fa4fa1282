// Reloads after changes: several changes cause one reload, and reloads never overlap.

const PAUSE = 150;

/** Return a function that does the asynchronous `work` soon; asked for again meanwhile, it is done once more. */
export function later(work: () => Promise<unknown>): () => void {
  let due: ReturnType<typeof setTimeout> | null = null;
  let busy = false;
  let again = false;
  const run = async () => {
    due = null;
    busy = true;
    try {
      await work();
    } finally {
      busy = false;
      if (again) ask();
    }
  };
  const ask = () => {
    again = busy;
    if (!busy) due ??= setTimeout(run, PAUSE);
  };
  return ask;
}
