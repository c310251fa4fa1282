// Builds the pages into app/api/web/built, which is committed: whoever runs kaged needs no node.
// `npm run build -- --outDir FOLDER` builds into another folder.

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { compressed } from "./build/compressed.ts";
import { serviceWorker } from "./build/service_worker.ts";
import { strictStyles } from "./build/strict_styles.ts";

const PAGES = ["index", "reference", "sign_in", "sign_in_button"];

/** What every build of this folder needs; only the page has a worker. */
export const plugins = [svelte(), strictStyles(), compressed()];

export default defineConfig({
  // Every address is relative: a proxy may serve the daemon below a prefix.
  base: "./",
  plugins: [...plugins, serviceWorker()],
  worker: { format: "es", rolldownOptions: { output: { entryFileNames: "static/[name]-[hash:10].js", chunkFileNames: "static/[name]-[hash:10].js", hashCharacters: "base36" } } },
  build: {
    outDir: "../app/api/web/built",
    emptyOutDir: true,
    assetsDir: "static",
    // The policy allows no styles and fonts in addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    // The first releases with light-dark().
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    rolldownOptions: {
      input: Object.fromEntries(PAGES.map((page) => [page, `${page}.html`])),
      output: {
        entryFileNames: "static/[name]-[hash:10].js",
        chunkFileNames: "static/[name]-[hash:10].js",
        assetFileNames: "static/[name]-[hash:10][extname]",
        hashCharacters: "base36",
        // Few files: the reference has only the first one in common with the page.
        codeSplitting: {
          groups: [
            { name: "dom", test: /src\/(dom|address)\.ts$|preload-helper/, priority: 4 },
            { name: "dialogs", test: /src\/shell\/dialogs/, priority: 5 },
            { name: "svelte", test: /node_modules\/svelte\//, priority: 4 },
            // What the panel beside a new session shows. The views behind its buttons are chunks of their own.
            { name: "changes", test: /src\/changes\/(Changes|ChangeList|session_changes)/, priority: 2 },
            { name: "diff", test: /src\/changes\/(ChangedFile|Reverts|HunkLines|Code|diff_lines|viewed)/, priority: 1 },
            // What comes with the first question.
            { name: "questions", test: /src\/questions\/(?!questions\.svelte|stillness|proposals)/, priority: 2 },
            { name: "notifications", test: /src\/inbox\/(notifications|offer|Offer)/, priority: 1 },
            { name: "highlighting", test: /src\/text\/(highlight|languages)/, minShareCount: 2, priority: 2 },
            // What forms, issues and what waits have in common.
            { name: "fields", test: /src\/(issues\/(checklist|words|proposals)|fields|file_field|act|redraw)\.ts$/, minShareCount: 2, priority: 2 },
            { name: "parts", test: /src\/(?!text\/|(issues\/(checklist|words|proposals)|fields|file_field|act|redraw)\.ts$|changes\/|questions\/(?!questions\.svelte|stillness|proposals)|inbox\/(notifications|offer|Offer)|models\/|thread\/(tools\/|terminal_text|(?!ThreadView)[A-Z]|views|agents|cage|calls|reads|facts|failures)).*\.(ts|svelte)$/, minShareCount: 2, priority: 3 },
          ],
        },
      },
    },
  },
});
