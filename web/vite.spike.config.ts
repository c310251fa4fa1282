// Builds spike/ as the page is built: with the same plugins, for the same policy.

import { defineConfig } from "vite";
import page from "./vite.config.ts";

export default defineConfig({ ...page, root: "spike", publicDir: false, build: { ...page.build, rolldownOptions: { ...page.build?.rolldownOptions, input: "spike/index.html" } } });
