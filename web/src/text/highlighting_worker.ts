// The worker of highlighting.ts.

import type { Element, Root, Text } from "hast";
import { common, createLowlight } from "lowlight";
import type { Marked } from "./highlighting.ts";

const lowlight = createLowlight(common);

addEventListener("message", ({ data }: MessageEvent<{ id: number; text: string; language: string }>) => {
  const found = lowlight.registered(data.language) ? flat(lowlight.highlight(data.language, data.text)) : null;
  postMessage({ id: data.id, found });
});

function flat(tree: Root): Marked {
  const found: Marked = [];
  const visit = (node: Element | Text, classes: string): void => {
    if (node.type === "text") {
      found.push([classes, node.value]);
      return;
    }
    const own = (node.properties["className"] as string[] | undefined)?.join(" ") ?? "";
    for (const child of node.children) visit(child as Element | Text, own || classes);
  };
  for (const child of tree.children) visit(child as Element | Text, "");
  return found;
}
