// Builds the pages into app/api/web/built, which is committed: whoever runs kaged needs no node.
// `npm run build -- --outDir FOLDER` builds into another folder.

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { compressed } from "./build/compressed.ts";
import { strictStyles } from "./build/strict_styles.ts";

const PAGES = ["index", "reference", "sign_in", "sign_in_button"];

export default defineConfig({
  // Every address is relative: a proxy may serve the daemon below a prefix.
  base: "./",
  plugins: [svelte(), strictStyles(), compressed()],
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
            { name: "dom", test: /src\/(dom|address)\.js$/, priority: 2 },
            { name: "parts", test: /src\/.*\.(js|ts|svelte)$/, minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
  },
});
