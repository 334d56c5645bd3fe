/**
 * Writes what a command has to say: for people, within the width of their terminal and in colour if it has any; or JSON
 * alone. Every command writes by these functions only, so no text of others reaches the terminal unchecked
 * (printable.ts).
 */
import stringWidth from "string-width";
import { toJson } from "../http/plain-json.ts";
import { escaped, printable, printableLines } from "../platform/log/printable.ts";

export interface Column {
  readonly title: string;
  /** Is never cut off: it is there to be copied. */
  readonly isWhole?: boolean;
}

export interface Cell {
  readonly text: string;
  readonly style?: ((text: string) => string) | undefined;
  /** Whether the last column goes on in further lines, instead of being cut off. */
  readonly wraps?: boolean;
}

const gap = "  ";
const narrowest = 8;

/** A colour's beginning or end. Those of others were escaped by {@link plain}, before ours were put around it. */
const style = new RegExp(`(${"\u001b"}\\[\\d+m)`);

export function print(text: string): void {
  const parts = text.split(style).map((part, index) => (index % 2 === 1 ? part : printableLines(part)));
  console.log(parts.join(""));
}

/** Ends the command when nobody reads its output any more, as after `| head`. */
export function endQuietly(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error) => {
      if ("code" in error && error.code === "EPIPE") process.exit();
      throw error;
    });
  }
}

/** Writes lines without colours to stderr. They are not what the command was asked for. */
export function printAside(text: string): void {
  console.error(printableLines(text));
}

/** Writes how far a command is: on one line of the terminal, over and over. Where a program reads, each time a line. */
export function printProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${cutOff(plain(text), screenWidth() - 1)}`);
  else printAside(text);
}

/** Makes the line of the terminal free again. */
export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
}

/** What JSON leaves as it is, and a terminal obeys or hides. */
const unescaped = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes JSON. It also takes values of the codec that JSON does not have. */
export function printJson(value: unknown): void {
  print(JSON.stringify(toJson(value) ?? null, null, 2).replace(unescaped, escaped));
}

/** One line for each value, as programs read them while more come. */
export function printJsonLine(value: unknown): void {
  print(JSON.stringify(toJson(value) ?? null).replace(unescaped, escaped));
}

let painted = 0;

/** Writes lines over those that it has written before. Nothing of the terminal is changed that would have to be undone. */
export function repaint(text: string): void {
  if (painted > 0) process.stdout.write(`\u001b[${painted}A\u001b[J`);
  print(text);
  painted = text.split("\n").length;
}

/** How many lines the terminal has. Undefined: a program reads. */
export function screenHeight(): number | undefined {
  return process.stdout.isTTY ? process.stdout.rows : undefined;
}

/** Infinite where a program reads, which can cut off by itself. */
export function screenWidth(): number {
  return process.stdout.columns ?? (Number(process.env["COLUMNS"]) || Number.POSITIVE_INFINITY);
}

/** Rows under their titles; cells that do not fit are cut off, the widest first. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | Cell)[])[],
  width = screenWidth(),
): string {
  const titles = columns.map(({ title }): Cell => ({ text: title }));
  const lines = [titles, ...rows.map((row) => row.map(cellOf))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => lengthOf(line[index]?.text ?? ""))));
  const room = width - gap.length * (columns.length - 1);
  narrow(columns, widths, room);
  const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, each) => sum + each + gap.length, 0));
  const shown = ({ text, style, wraps }: Cell, index: number): string => {
    const room = widths[index] ?? 0;
    const cut = wraps ? wrapped(text, { indent: starts[index] ?? 0, width }) : cutOff(text, room);
    const padding = index === columns.length - 1 ? "" : " ".repeat(room - lengthOf(cut));
    return (style?.(cut) ?? cut) + padding;
  };
  return lines.map((line) => line.map(shown).join(gap).trimEnd()).join("\n");
}

function cellOf(cell: string | Cell): Cell {
  return typeof cell === "string" ? { text: plain(cell) } : { ...cell, text: plain(cell.text) };
}

function narrow(columns: readonly Column[], widths: number[], room: number): void {
  for (let sum = widths.reduce((total, width) => total + width, 0); sum > room; sum -= 1) {
    const flexible = widths.map((width, index) => (columns[index]?.isWhole ? 0 : width));
    const widest = Math.max(...flexible);
    if (widest <= narrowest) return;
    widths[flexible.lastIndexOf(widest)] = widest - 1;
  }
}

/** Cuts the text off to one line of at most `width` columns. */
export function cutOff(text: string, width: number): string {
  if (lengthOf(text) <= width) return text;
  let kept = "";
  let left = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= lengthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}

const graphemes = new Intl.Segmenter();

/** What others wrote, on one line. Styles come after this. */
export function plain(text: string): string {
  return printable(text.replace(/\s+/g, " "));
}

/** Lines of at most `width`, broken between words, the second and further ones indented. */
export function wrapped(text: string, { indent = 0, width = screenWidth() } = {}): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && lengthOf(longer) > width - indent) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}

/** Counts the columns that a text takes in a terminal. A Chinese character takes two. */
function lengthOf(text: string): number {
  return stringWidth(text);
}
