// Builds spike/ as the page is built: with the same plugins, for the same policy.

import { defineConfig } from "vite";
import page, { plugins } from "./vite.config.ts";

export default defineConfig({ ...page, plugins, root: "spike", publicDir: false, build: { ...page.build, rolldownOptions: { ...page.build?.rolldownOptions, input: "spike/index.html" } } });
