// What takes the place of a style element that a library makes: an element that shows nothing and keeps its text as an
// adopted style sheet. The policy of the page allows that, and no text in style elements.

export function adoptedStyles(): HTMLElement {
  const sheet = new CSSStyleSheet();
  const element = document.createElement("template");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    HTMLElement.prototype.remove.call(element);
  };
  return element;
}
