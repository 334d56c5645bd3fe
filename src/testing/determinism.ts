/**
 * Finds handlers that are not deterministic. The kit keeps runs in memory, so a handler is hardly ever replayed there,
 * and what it asks for by the clock, by chance or by the timezone would be noticed in production alone. So runs are
 * replayed in other worlds, and what the handler asks for is compared with what it asked for at first.
 *
 * A run is replayed when it has asked for twice as much as at the last check, and at its end. So all checks of a run cost
 * a few replays, however often a test looks.
 */

import { readExport } from "../client/exports.ts";
import type { Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";
import { type Demand, placeName } from "../core/replay/demand.ts";
import { Registry } from "../engine/registry.ts";
import { type ReplayVerdict, replayStored, type StoredRun } from "../engine/replay/replay-stored.ts";
import { laterLine } from "../engine/replay/source-line.ts";
import type { Calls } from "../postgres/calls.ts";
import { TestKitError } from "./kit-error.ts";
import { inWorld, otherWorlds } from "./other-worlds.ts";
import { macrotask, realPause } from "./timers.ts";

interface First {
  readonly place: string;
  readonly kind: string;
  readonly after: number;
  readonly findLine: () => string | undefined;
}

interface Noted {
  readonly epoch: number;
  /** What the handler asked for at first, in order. */
  readonly asked: First[];
  /** How much of it was there at the last check. */
  checked: number;
}

/** How many runs are checked that no test looks at itself. */
const mostUnasked = 100;

export class Determinism {
  readonly #registry: Registry;
  readonly #patienceMs: number;
  readonly #runs = new Map<string, Noted>();
  #unasked = 0;

  constructor(given: {
    readonly workflows: readonly Workflow[];
    readonly schedules: readonly Schedule[];
    readonly patienceMs: number;
  }) {
    this.#registry = new Registry(given.workflows, given.schedules);
    this.#patienceMs = given.patienceMs;
  }

  /** Notes what a handler asks for. What it asks for again in a replay of its own changes nothing. */
  readonly note = (demand: Demand, { runId, epoch }: { readonly runId: string; readonly epoch: number }): void => {
    const known = this.#runs.get(runId);
    const noted = known?.epoch === epoch ? known : { epoch, asked: [], checked: 0 };
    this.#runs.set(runId, noted);
    const { kind } = demand.wanted;
    noted.asked[demand.ordinal] ??= {
      place: placeName(demand),
      kind,
      after: demand.demandedAfter,
      findLine: laterLine(),
    };
  };

  /** Checks this run if it has asked for more, or all runs that have asked for twice as much as at their last check. */
  async check(calls: Calls, runId?: string): Promise<void> {
    for (const [id, noted] of this.#runs) {
      const count = noted.asked.length;
      if (
        runId === undefined
          ? count < 2 * noted.checked || count === noted.checked
          : id !== runId || count === noted.checked
      )
        continue;
      if (runId === undefined && noted.checked === 0 && ++this.#unasked > mostUnasked) continue;
      noted.checked = count;
      await this.#checkRun(calls, id, noted);
    }
  }

  async #checkRun(calls: Calls, runId: string, noted: Noted): Promise<void> {
    const first = await calls.readReplay({ runId });
    if (first.outcome !== "read" || first.epoch !== noted.epoch) return; // deleted, or begun anew
    const stored = await readExport(async (after) => {
      const page = after === 0 ? first : await calls.readReplay({ runId, after });
      if (page.outcome !== "read") throw new Error(`the run ${runId} is gone`);
      return page;
    });
    const workflow = this.#registry.find(stored.run.workflow, stored.run.version);
    if (workflow === undefined || stored.status === "blocked") return; // it tells so itself
    for (const world of otherWorlds) {
      const replayed = (tellsLines: boolean) => inWorld(world, () => this.#replay(workflow, stored, tellsLines));
      if (difference(noted.asked, await replayed(false), stored.position) === undefined) continue;
      const found = difference(noted.asked, await replayed(true), stored.position); // once more, with the lines
      if (found !== undefined) throw notDeterministic(workflow, found);
    }
  }

  #replay(workflow: Workflow, stored: StoredRun, tellsLines: boolean): Promise<ReplayVerdict> {
    const patience = () => realPause(this.#patienceMs);
    return replayStored(workflow, stored, { registry: this.#registry, patience, atRest: macrotask, tellsLines });
  }
}

/** Describes the first demand that differs: what it was at first, and what it is in the replay. */
function difference(
  asked: readonly First[],
  verdict: ReplayVerdict | undefined,
  position: number,
): readonly [string, string] | undefined {
  if (verdict === undefined) return undefined; // nobody could replay it
  // What was asked for beyond the last record is asked for anew by whoever carries on the run.
  const before = asked.filter(({ after }) => after <= position);
  for (let index = 0; index < Math.max(before.length, verdict.asked.length); index += 1) {
    const [one, other] = [before[index], verdict.asked[index]];
    if (one?.place === other?.place && one?.kind === other?.kind && one?.after === other?.after) continue;
    return [describe(one, one?.findLine()), describe(other, other?.line)];
  }
  return undefined;
}

function describe(asked: Pick<First, "kind" | "place" | "after"> | undefined, line: string | undefined): string {
  if (asked === undefined) return "nothing more";
  const where = line === undefined ? "" : ` (${line})`;
  return `${asked.kind} ${JSON.stringify(asked.place)} after record ${asked.after}${where}`;
}

function notDeterministic({ contract: { name } }: Workflow, [first, then]: readonly [string, string]): TestKitError {
  return new TestKitError(
    "not_deterministic",
    `The handler of ${JSON.stringify(name)} asked for ${first}. Replayed with another clock, other random numbers and another timezone, it asks for ${then}.`,
    {
      hint: "Decide by what a step gives, or by step.now(), step.random() and step.uuid(). To have no run checked: testEngine({ determinism: false }).",
    },
  );
}
