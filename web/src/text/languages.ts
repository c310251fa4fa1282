// The language of a file by its name, as the highlighter calls it.

const BY_ENDING: Record<string, string> = {
  bash: "bash", c: "c", cc: "cpp", cfg: "ini", cpp: "cpp", cs: "csharp", css: "css", cxx: "cpp", diff: "diff", go: "go",
  gql: "graphql", graphql: "graphql", h: "c", hpp: "cpp", htm: "xml", html: "xml", ini: "ini", java: "java", js: "javascript",
  json: "json", jsonc: "json", jsx: "javascript", kt: "kotlin", kts: "kotlin", less: "less", lua: "lua", m: "objectivec",
  markdown: "markdown", md: "markdown", mjs: "javascript", mk: "makefile", patch: "diff", php: "php", pl: "perl", pm: "perl",
  py: "python", pyi: "python", r: "r", rb: "ruby", rs: "rust", scss: "scss", sh: "bash", sql: "sql", svelte: "xml", svg: "xml",
  swift: "swift", toml: "ini", ts: "typescript", tsx: "typescript", vue: "xml", wat: "wasm", xml: "xml", yaml: "yaml",
  yml: "yaml", zsh: "bash",
};
const BY_NAME: Record<string, string> = { gemfile: "ruby", gnumakefile: "makefile", makefile: "makefile", rakefile: "ruby" };

/** Return the language, null for a file whose name tells none. */
export function languageOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const ending = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";
  return BY_NAME[name] ?? (Object.hasOwn(BY_ENDING, ending) ? (BY_ENDING[ending] ?? null) : null);
}
