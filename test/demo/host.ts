/** Where the demo's order is carried out: something that dies and is begun again, as often as the story asks for it. */
import type { Answer } from "../platform/dev-server.ts";
import type { Screen } from "./screen.ts";

export interface Host {
  readonly words: Words;
  /** Begins the process, for the first time or on what the one before has left, and shows how on the screen. */
  begin(): Promise<void>;
  /** Kills the process as `kill -9` does. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Ends the process, if there is one, and all that belongs to it. */
  end(): Promise<void>;
  /** Id of the process that runs now. */
  readonly pid: number;
  /** Everything that the process has written. */
  readonly output: string;
  /** Resolves when the process has written this. */
  untilSaid(pattern: RegExp): Promise<RegExpExecArray>;
  /** Calls the API. */
  api(method: string, path: string, value?: unknown): Promise<Answer>;
  /** Converts an instant of the database's clock to the clock of this machine, both in epoch milliseconds. */
  wallTime(at: number): number;
  /** Shows at the end what only this host has. Throws where that is not as it must be. */
  account?(): void;
}

/** The words that differ from host to host. */
export interface Words {
  /** The titles of the stories. */
  readonly titles: { readonly order: string; readonly saga: string };
  /** Name of what dies, such as `server`. */
  readonly one: string;
  readonly two: string;
  readonly three: string;
  /** The headings under which it begins for the first, second and third time. */
  readonly begins: readonly [string, string, string];
}

export interface HostOptions {
  readonly screen: Screen;
  /** A folder for this host alone, which is removed in the end. */
  readonly folder: string;
  /** Address that functions/workflows/effects.ts asks for what is outside. */
  readonly effectsUrl: string;
}
