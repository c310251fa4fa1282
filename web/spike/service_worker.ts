addEventListener("install", () => {
  void (globalThis as unknown as { skipWaiting(): Promise<void> }).skipWaiting();
});
export {};
