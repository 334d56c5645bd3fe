/** Which builds of each host are alive: a host may be released alone while the others stand (releases.ts). */
import { earliest, type Happening, type Source } from "../../engine/course.ts";
import { type HostName, type Release, releaseInWords } from "../releases.ts";
import type { Ground } from "./outside.ts";

export interface Build {
  readonly id: string;
  /** The version that it lacks, beside what its host lacks. */
  readonly without: number | undefined;
}

export interface BuildsOptions {
  readonly ground: Ground;
  readonly hosts: readonly HostName[];
  /** Is told that other builds of a host are alive now. */
  readonly onChange: (host: HostName, what: "released" | "over" | "rolled back") => void;
}

interface UnderWay {
  readonly release: Release;
  readonly before: Build;
  readonly after: Build;
}

export class Builds implements Source {
  readonly #options: BuildsOptions;
  /** The live builds of each host, the newest one last. Left out: the one that came with the deployment of all hosts. */
  readonly #live = new Map<HostName, readonly Build[]>();
  readonly #underWay = new Map<HostName, UnderWay>();
  #left: readonly Release[];
  #deployment = "";
  #released = 0;
  /** When the builds of a host last changed. */
  changedAt: number | undefined;

  constructor(options: BuildsOptions) {
    this.#options = options;
    this.#left = options.ground.releases.filter(({ host }) => options.hosts.includes(host));
  }

  of(host: HostName): readonly [...Build[], Build] {
    const deployment = this.#options.ground.deployment();
    if (deployment !== this.#deployment) {
      this.#deployment = deployment;
      this.#live.clear();
      this.#underWay.clear();
    }
    const [first, second] = this.#live.get(host) ?? [];
    if (first === undefined) return [{ id: deployment, without: undefined }];
    return second === undefined ? [first] : [first, second];
  }

  /** Whether each live build of the host carries the version, as far as releases say. */
  carry(host: HostName, version: number): boolean {
    return this.of(host).every(({ without }) => without !== version);
  }

  happenings(): readonly Happening[] {
    const { ground } = this.#options;
    const time = ground.timeOf(ground.now());
    return [
      ...this.#left
        .filter(({ atMs }) => atMs <= time)
        .map((release) => ({ what: () => releaseInWords(release), act: () => this.#begin(release) })),
      ...[...this.#underWay.values()]
        .filter(({ release: { atMs, forMs } }) => atMs + forMs <= time)
        .map(({ release: { host, isRolledBack }, before, after }) => ({
          what: () => `${host} is ${isRolledBack ? "rolled back" : "released"}`,
          act: () => this.#end(host, isRolledBack ? before : after, isRolledBack ? "rolled back" : "over"),
        })),
    ];
  }

  next(): number | undefined {
    const ends = [...this.#underWay.values()].map(({ release: { atMs, forMs } }) => atMs + forMs);
    return earliest([...this.#left.map(({ atMs }) => atMs), ...ends]);
  }

  /** One release of a host at a time. */
  #begin(release: Release): void {
    const { host, without, isGradual } = release;
    this.#left = this.#left.filter((other) => other !== release);
    const [before, beside] = this.of(host);
    if (beside !== undefined || this.#underWay.has(host)) return;
    const after = { id: `${this.#deployment}, release ${++this.#released}`, without };
    this.#underWay.set(host, { release, before, after });
    this.#set(host, isGradual ? [before, after] : [after], "released");
  }

  #end(host: HostName, winner: Build, what: "over" | "rolled back"): void {
    this.#underWay.delete(host);
    this.#set(host, [winner], what);
  }

  #set(host: HostName, builds: readonly Build[], what: "released" | "over" | "rolled back"): void {
    this.#live.set(host, builds);
    this.changedAt = this.#options.ground.now();
    this.#options.onChange(host, what);
  }
}
