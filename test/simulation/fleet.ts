/**
 * The processes of the deployment that is live. One that died is replaced at once; a new deployment replaces all of them.
 * Where one process has everything in memory, its successor begins with a tick.
 */
import type { Move } from "../../src/postgres/wire.ts";
import type { Chance } from "../engine/chance.ts";
import { earliest, type Source } from "../engine/course.ts";
import { Process } from "../engine/process.ts";
import type { Outside } from "./outside/outside.ts";
import type { ProgramContract } from "./programs/contract.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { playing } from "./programs/program.ts";
import type { Scenario } from "./scenario.ts";
import type { Site } from "./site.ts";

export interface FleetOptions {
  readonly site: Site;
  readonly scenario: Scenario;
  readonly contracts: readonly ProgramContract[];
  readonly chance: Chance;
  /** The world's. */
  readonly time: () => number;
  readonly outside: () => Outside;
  readonly world: ProgramWorld;
  readonly note: (line: () => string) => void;
}

const namespace = "simulation";
const environment = "default";

export class Fleet implements Source {
  readonly #options: FleetOptions;
  #processes: Process[] = [];
  /** How many deployments there were. */
  #deployments = 0;
  #born = 0;
  deaths = 0;
  /** No tick of the deployment has succeeded yet. */
  isNew = true;
  /** When one did; the world's time. */
  settledAt = 0;
  /** The successor of a process that took its alarms with it has not ticked yet. */
  isBeginning = false;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get all(): readonly Process[] {
    return this.#processes;
  }

  /** Those that take something now. */
  get takers(): readonly Process[] {
    return this.#processes.filter(({ isDead, isBeginning }) => !isDead && !isBeginning);
  }

  get isAtRest(): boolean {
    return this.#processes.every(({ resting }) => resting === 0);
  }

  /** Whether the live deployment carries the version. */
  carries(version: number): boolean {
    return this.#options.scenario.deployments[this.#deployments - 1]?.without !== version - 1;
  }

  happenings() {
    const { time } = this.#options;
    const next = this.#next;
    const isDue = next !== undefined && next.atMs <= time();
    return [
      ...(isDue ? [{ what: () => deploymentInWords(next), act: () => this.#deploy() }] : []),
      ...this.#processes
        .filter(({ timers }) => (timers.next ?? Number.POSITIVE_INFINITY) <= time())
        .map(({ name, timers }) => ({ what: () => `${name}: a timer fires`, act: () => timers.fire() })),
    ];
  }

  next(): number | undefined {
    return earliest([this.#next?.atMs, ...this.#processes.map(({ timers }) => timers.next)]);
  }

  crash(process: Process): void {
    if (process.isDead) return;
    this.deaths += 1;
    this.#options.note(() => `… ${process.name} dies`);
    process.die();
    this.#options.outside().lose(process);
    this.isBeginning ||= this.#isOne;
  }

  revive(): void {
    this.#processes = this.#processes.map((process, index) => (process.isDead ? this.#beget(index) : process));
  }

  /**
   * One pass of the scheduler, as the platforms of clouds have it. `settle`: is told what was moved, waits until all that
   * was dispatched is sent, and answers whether it was taken.
   */
  async tick(process: Process, settle: (moves: readonly Move[]) => Promise<boolean>): Promise<number> {
    if (this.#isOne) return (await process.engine.tick()).due;
    const { deployment } = this;
    const moved: Move[] = [];
    const onMoved = (moves: readonly Move[]) => void moved.push(...moves);
    const { due, isNew, triedThrough } = await process.engine.tick({ deployment, onMoved });
    const isWhole = await settle(moved);
    if (isWhole && (isNew || triedThrough !== undefined))
      await process.calls.noteDeployment({ environment, deployment, triedThrough });
    this.#settle(deployment);
    return due;
  }

  /** What the live deployment is called. */
  get deployment(): string {
    return `deployment ${this.#deployments}`;
  }

  end(): void {
    const left = this.#processes;
    this.#processes = [];
    for (const process of left) process.die();
  }

  get #next() {
    return this.#options.scenario.deployments[this.#deployments];
  }

  get #isOne(): boolean {
    const { platform } = this.#options.scenario;
    return platform === "node" || platform === "embedded";
  }

  #deploy(): void {
    this.#deployments += 1;
    this.isNew = true;
    const old = this.#processes;
    const count = this.#isOne ? 1 : this.#options.scenario.processes;
    this.#processes = [];
    for (const process of old) {
      process.die();
      this.#options.outside().lose(process);
    }
    this.isBeginning ||= this.#isOne;
    this.#processes = Array.from({ length: count }, (_, index) => this.#beget(index));
    this.#options.outside().deployed();
  }

  #settle(deployment: string): void {
    if (!this.isNew || deployment !== this.deployment) return;
    this.isNew = false;
    this.settledAt = this.#options.time();
  }

  #beget(index: number): Process {
    const { site, scenario, contracts, chance, time, outside, world } = this.#options;
    const { query } = site;
    const process: Process = new Process({
      name: `process ${++this.#born}`,
      workflows: scenario.runs.flatMap(({ program }, number) => {
        const contract = contracts[number];
        return contract === undefined || !this.carries(number + 1) ? [] : [contract.handler(playing(program, world))];
      }),
      namespace,
      query: Object.assign((...call: Parameters<typeof query>) => query(...call), { endpoint: query.endpoint }),
      ports: outside().ports,
      time,
      skewMs: scenario.skewsMs[index],
      warmRuns: scenario.warmRuns,
      invocation: { maxSteps: scenario.maxSteps },
      random: chance.next,
      newToken: chance.uuid,
      onError: (error, doing) =>
        this.#options.note(() => `… ${process.name} reports, while ${doing}: ${String(error)}`),
    });
    if (this.#isOne) this.#begin(process);
    return process;
  }

  /** What died with the last process is armed and dispatched anew. */
  #begin(process: Process): void {
    const isExclusive = this.#options.scenario.platform === "embedded";
    const { deployment } = this;
    process.isBeginning = true;
    const tick = async () => {
      if (isExclusive) await process.calls.voidLeases();
      process.isBeginning = false;
      await process.engine.tick({ isNew: true, isExclusive, looksAhead: true });
    };
    const again = (): void =>
      void tick().then(
        () => {
          if (process.isDead) return;
          this.isBeginning = false;
          this.#settle(deployment);
        },
        () => process.timers.after(1_000, again),
      );
    again();
  }
}

function deploymentInWords({ without }: { readonly without: number | undefined }): string {
  return `a deployment${without === undefined ? "" : ` without version ${without + 1}`}`;
}
