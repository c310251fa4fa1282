// What a person does on a card: one thing at a time.

export class Acts {
  busy = $state(false);

  /** Do `work`, unless something is being done already; tell `done` or `failed` of its end. */
  async run(work: () => Promise<unknown>, done: () => void, failed: (error: unknown) => void): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      await work();
      done();
    } catch (error) {
      failed(error);
    }
    this.busy = false;
  }
}
