// Short news of what went well: they leave by themselves. What went wrong stays until somebody closes it (notices.js).

import { byId, h } from "../dom.js";

const SECONDS = 5;

export function toast(text: string): void {
  const news = h("p", {}, text);
  byId("toasts")?.append(news);
  setTimeout(() => news.remove(), SECONDS * 1000);
}
