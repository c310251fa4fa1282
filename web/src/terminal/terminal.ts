// A terminal in the page, loaded when the first one is opened.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

export interface TerminalColours {
  background: string;
  foreground: string;
  cursor: string;
}

export interface OpenTerminal {
  readonly columns: number;
  write(text: string): Promise<void>;
  paint(colours: TerminalColours): void;
  fit(): void;
  close(): void;
}

export function openTerminal(place: HTMLElement, colours: TerminalColours, onInput: (text: string) => void): OpenTerminal {
  const terminal = new Terminal({ fontFamily: "var(--mono)", fontSize: 12.5, theme: { ...colours }, scrollback: 5000, screenReaderMode: true });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  terminal.onData(onInput);
  fit.fit();
  return {
    get columns() {
      return terminal.cols;
    },
    write: (text) => new Promise((done) => terminal.write(text, done)),
    paint: (next) => {
      terminal.options.theme = { ...next };
    },
    fit: () => fit.fit(),
    close: () => terminal.dispose(),
  };
}
