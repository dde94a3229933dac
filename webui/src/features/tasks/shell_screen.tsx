import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef } from "react";
import { useDark } from "../../components/theme";
import { bytesOf, greeting, hear, lotBytes, pieces } from "./shell_protocol";
import { strictStyles } from "./strict_styles";

/** How it ended: the shell's status, or undefined where the connection was lost. */
export type End = { readonly status: number | undefined };

interface ShellScreenProps {
  /** Of the shell's WebSocket. */
  readonly address: string;
  readonly onEnd: (end: End) => void;
  /** Shift+Escape: the keyboard leaves, for a terminal keeps Tab to itself. */
  readonly onLeave: () => void;
}

/** The colours of the page around it. */
function themeOf(element: Element): ITheme {
  const { color, backgroundColor } = getComputedStyle(element);
  return { foreground: color, background: backgroundColor, cursor: color, cursorAccent: backgroundColor, selectionBackground: "#4a86c866" };
}

/** A terminal that is connected while it is shown. */
export function ShellScreen({ address, onEnd, onLeave }: ShellScreenProps) {
  const box = useRef<HTMLDivElement>(null);
  const screen = useRef<Terminal>(undefined);
  const tell = useRef({ onEnd, onLeave });
  tell.current = { onEnd, onLeave };
  const dark = useDark();

  useEffect(() => {
    const place = box.current;
    if (place === null) return;
    const relax = strictStyles();
    const terminal = new Terminal({
      fontFamily: 'ui-monospace, "SF Mono", "Liberation Mono", monospace',
      fontSize: 13,
      minimumContrastRatio: 4.5,
      scrollback: 10_000,
      theme: themeOf(place),
    });
    screen.current = terminal;
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(place);
    fit.fit();
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.shiftKey && event.key === "Escape") {
        if (event.type === "keydown") tell.current.onLeave();
        return false;
      }
      if (!(event.ctrlKey && event.shiftKey && event.code === "KeyC")) return true;
      event.preventDefault(); // a browser's own meaning of it
      if (event.type === "keydown") document.execCommand("copy"); // navigator.clipboard is not there without TLS
      return false;
    });
    terminal.focus();

    const socket = connect(address, terminal, (end) => {
      terminal.options.disableStdin = true;
      terminal.options.cursorBlink = false;
      tell.current.onEnd(end);
    });
    const resized = new ResizeObserver(() => fit.fit());
    resized.observe(place);
    return () => {
      resized.disconnect();
      socket.close();
      terminal.dispose();
      relax();
    };
  }, [address]);

  useEffect(() => {
    if (screen.current && box.current) screen.current.options.theme = themeOf(box.current);
  }, [dark]);
  return <div className="shell-screen" ref={box} />;
}

/** Connects the terminal with the shell behind the address. Closing the socket hangs the shell up; Task details goes on. */
function connect(address: string, terminal: Terminal, onEnd: (end: End) => void): { readonly close: () => void } {
  const socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  let status: number | undefined;
  let over = false;
  let shown = 0;
  const early: (string | Uint8Array<ArrayBuffer>)[] = []; // who types at once is not made to wait
  const say = (message: string | Uint8Array<ArrayBuffer>) => {
    if (socket.readyState === WebSocket.CONNECTING) early.push(message);
    if (socket.readyState === WebSocket.OPEN) socket.send(message);
  };
  const type = (bytes: Uint8Array) => {
    for (const piece of pieces(bytes)) say(piece as Uint8Array<ArrayBuffer>);
  };
  const taken = (bytes: number) => {
    shown += bytes;
    if (shown < lotBytes) return;
    say(JSON.stringify({ taken: shown }));
    shown = 0;
  };
  socket.onopen = () => {
    say(greeting({ columns: terminal.cols, rows: terminal.rows }));
    for (const message of early) say(message);
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    const heard = hear(data);
    if (heard.kind === "output") terminal.write(heard.bytes, () => taken(heard.bytes.length));
    if (heard.kind === "exit") status = heard.status;
  };
  socket.onclose = () => !over && onEnd({ status });
  const encoder = new TextEncoder();
  terminal.onData((text) => type(encoder.encode(text)));
  terminal.onBinary((text) => type(bytesOf(text)));
  terminal.onResize(({ cols, rows }) => say(JSON.stringify({ columns: cols, rows })));
  const close = () => {
    over = true;
    socket.close();
  };
  return { close };
}
