/** Tells when one of some files has changed. It watches the folders: many editors replace a file by a new one. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { printAside } from "../screen.ts";

/** How long it waits after a change for further ones. An editor saves a file in several writes. */
const quietMs = 50;

export class WatchedFiles {
  readonly #onChange: (file: string) => void;
  /** The names of the watched files, by folder. */
  readonly #names = new Map<string, Set<string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(onChange: (file: string) => void) {
    this.#onChange = onChange;
  }

  add(file: string): void {
    const folder = dirname(file);
    const names = this.#names.get(folder) ?? new Set();
    names.add(basename(file));
    if (this.#names.has(folder)) return;
    this.#names.set(folder, names);
    try {
      this.#watch(folder, names).on("error", (error) => cannotWatch(folder, error));
    } catch (error) {
      cannotWatch(folder, error);
    }
  }

  #watch(folder: string, names: ReadonlySet<string>): FSWatcher {
    return watch(folder, (_, name) => {
      if (name === null || !names.has(name)) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#onChange(name), quietMs);
    });
  }
}

function cannotWatch(folder: string, error: unknown): void {
  printAside(`Changes in ${folder} will not be seen: ${error instanceof Error ? error.message : String(error)}`);
}
