/** Where the demo's order is carried out: something that dies and is begun again, as often as the story asks for it. */
import type { Answer } from "../platform/dev-server.ts";
import type { Screen } from "./screen.ts";

export interface Host {
  readonly words: Words;
  /** Begins it for the first time, or on what the one before has left, and tells how. */
  begin(): Promise<void>;
  /** As `kill -9`: resolves when nobody is there any more. */
  kill(): Promise<void>;
  /** Ends it, if it is there at all, with all that belongs to it. */
  end(): Promise<void>;
  /** Of whoever is there. */
  readonly pid: number;
  /** All that it has said. */
  readonly output: string;
  /** Resolves when it has said this. */
  untilSaid(pattern: RegExp): Promise<RegExpExecArray>;
  /** A call of the API. */
  api(method: string, path: string, value?: unknown): Promise<Answer>;
  /** An instant of the database's, on the clock of this machine: both in epoch milliseconds. */
  wallTime(at: number): number;
  /** Tells what only this host has, at the end. Throws where that is not as it must be. */
  account?(): void;
}

/** What is called differently on each. */
export interface Words {
  readonly title: string;
  /** Of what dies: `server`. */
  readonly one: string;
  readonly three: string;
  /** The headings under which it begins for the first, second and third time. */
  readonly begins: readonly [string, string, string];
}

export interface HostOptions {
  readonly screen: Screen;
  /** Its own; not there any more in the end. */
  readonly folder: string;
  /** Where functions/workflows/effects.ts asks for what is outside. */
  readonly effectsUrl: string;
}
