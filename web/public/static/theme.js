// The theme that a person chose, before anything is painted. It is a file of its own that is not built: the page runs
// nothing that stands in its HTML.
try {
  const theme = localStorage.getItem("kaged.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser keeps nothing.
}
