/** What the demo writes into the terminal: one line an event, with the seconds since it began. */
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

export const paint = (format: Format, text: string): string => styleText(format, text);

const marks = {
  do: paint("cyan", "$"),
  ok: paint("green", "✓"),
  kill: paint("red", "✗"),
  wait: paint("yellow", "…"),
  note: " ",
};

export class Screen {
  readonly #beganAt = Date.now();

  get seconds(): number {
    return (Date.now() - this.#beganAt) / 1_000;
  }

  /** A heading, for what follows. */
  act(title: string): void {
    console.log(`\n${paint("bold", title)}`);
  }

  say(mark: keyof typeof marks, text: string): void {
    console.log(`${paint("dim", `${this.seconds.toFixed(1).padStart(6)} s`)}  ${marks[mark]} ${text}`);
  }

  plain(text: string): void {
    console.log(text);
  }
}
