/** Looks at the rows whenever they may have changed, and asks the rules whether all is right. */

import { describeRun } from "./describe.ts";
import type { Fleet } from "./fleet.ts";
import type { Line } from "./line.ts";
import type { Operators } from "./operators.ts";
import type { Outside } from "./outside/outside.ts";
import type { Passage } from "./passage.ts";
import { longestWaitMs } from "./recovery.ts";
import { Rules } from "./rules.ts";
import type { Scenario } from "./scenario.ts";
import type { ServerClock } from "./server-clock.ts";
import type { RunRows, Snapshot } from "./snapshot.ts";
import type { TroubleSoFar } from "./trouble-so-far.ts";
import type { Values } from "./values.ts";

type Note = (line: () => string) => void;

interface LookoutSources {
  readonly line: Line;
  readonly scenario: Scenario;
  /** The instant at which the world began. */
  readonly beginning: number;
  /** The world's. */
  readonly time: () => number;
  readonly clock: ServerClock;
  readonly fleet: Fleet;
  readonly outside: Outside;
  readonly passage: Passage;
  readonly operators: Operators;
  readonly trouble: TroubleSoFar;
  readonly values: Values;
  /** Called with what is wrong. */
  readonly object: (wrongs: readonly string[]) => void;
  /** Left out: nobody reads what changes. */
  readonly note: Note | undefined;
}

export class Lookout {
  readonly #sources: LookoutSources;
  readonly #rules = new Rules();
  /** When a group of suspects was under way the last time; the database's. */
  #groupAt = 0;
  /** When a run moved the last time; the world's. */
  movedAt = 0;
  snapshot: Snapshot = { orphans: 0, bare: 0, runs: [], kept: [] };

  constructor(sources: LookoutSources) {
    this.#sources = sources;
  }

  rowsOf(runId: string): RunRows | undefined {
    return this.snapshot.runs.find((run) => run.runId === runId);
  }

  /** Something may have changed the rows. */
  async look(): Promise<void> {
    const before = this.snapshot;
    this.snapshot = this.#sources.values.opened(await this.#sources.line.look());
    if (positionsIn(before) !== positionsIn(this.snapshot)) this.movedAt = this.#sources.time();
    const { note } = this.#sources;
    if (note !== undefined) this.#noteChanges(before, note);
    this.check();
  }

  #noteChanges(before: Snapshot, note: Note): void {
    for (const run of this.snapshot.runs) {
      const old = before.runs.find(({ runId }) => runId === run.runId);
      const words = describeRun(run);
      if (old === undefined || describeRun(old) !== words) note(() => `  ${words}`);
    }
  }

  check(): void {
    const { scenario, beginning, clock, fleet, outside, passage, operators, trouble, object } = this.#sources;
    const { isNew, settledAt, isBeginning } = fleet;
    const now = clock.read();
    const { offMs, steppedMs, setAheadMs, latest } = clock;
    const { platform } = scenario;
    const { rungInVainAt } = outside;
    const alarms = outside.standing();
    if (fleet.hasGroup) this.#groupAt = now;
    object(
      this.#rules.check(this.snapshot, {
        alarms: alarms.map((alarm) => ({ ...alarm, at: alarm.at + offMs, ringsAt: alarm.ringsAt + offMs })),
        // Until a process learns of it by an answer, alarms ring so much too early or too late.
        isExact: outside.isExact && steppedMs === 0,
        graceMs: outside.graceMs + steppedMs,
        rungInVainAt: rungInVainAt === undefined ? undefined : rungInVainAt + offMs,
        since: isNew ? now : beginning + settledAt + Math.max(0, offMs),
        now,
        carries: ({ version }) => fleet.carries(version),
        mostDispatches: (runId) => (outside.taken?.(runId) ?? Number.POSITIVE_INFINITY) + trouble.uncounted,
        mayBeDeleted: (runId) => operators.of(runId).mayBeDeleted,
        isTakenOver: platform === "embedded",
        latest,
        isBeginning,
        calmAt: beginning + trouble.calmAt + offMs,
        longestWaitMs: (dispatches) => longestWaitMs({ ...scenario, isHintLost: passage.isHintLost }, dispatches),
        groupAt: this.#groupAt,
        steppedMs,
        // An isolate of a cron without alarms may be new at each ring, so that nothing knows of the clock as it was.
        lateMs: platform === "cron" ? steppedMs : setAheadMs,
      }),
    );
  }
}

/** How far each run has come. */
function positionsIn({ runs }: Snapshot): string {
  return runs.map(({ runId, status, turn, lastPosition }) => `${runId} ${status} ${turn} ${lastPosition}`).join();
}
