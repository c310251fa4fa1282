// Short news of what went well: they leave by themselves. What went wrong stays until somebody closes it (notices.ts).

import { findById, h } from "../dom.ts";

const SECONDS = 5;

export function toast(text: string): void {
  const news = h("p", {}, text);
  findById("toasts")?.append(news);
  setTimeout(() => news.remove(), SECONDS * 1000);
}
