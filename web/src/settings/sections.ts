// The parts of the settings, in their order. `about` says what else a part is looked for by.

export const SECTIONS = [
  { key: "providers", name: "Providers", about: "keys, sign-in" },
  { key: "models", name: "Models", about: "aliases, prices" },
  { key: "appearance", name: "Appearance", about: "theme, keys" },
  { key: "tokens", name: "Access tokens", about: "API" },
];
