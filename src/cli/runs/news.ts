/** Finds the news since the last look: of the runs that fit a filter, or of one run. */
import type { HistoryView, OperationView, RecordView } from "../../client/history-view.ts";
import type { HttpClient } from "../../client/over-http/http-client.ts";
import { isOver, type RunStatus, type RunView } from "../../client/run-view.ts";
import type { ErrorValue } from "../../core/codec/error-value.ts";

/** A run that has come, or has changed. */
export interface RunEvent {
  readonly event: "run";
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly id: string | undefined;
  readonly status: RunStatus;
  /** Undefined: the run was not seen before. */
  readonly was: RunStatus | undefined;
  readonly records: number;
  readonly customStatus: unknown;
  readonly error: ErrorValue | undefined;
}

export type RunNews =
  | RunEvent
  | ({ readonly event: "record"; readonly runId: string; readonly epoch: number } & RecordView)
  | ({ readonly event: "attempt"; readonly runId: string } & HistoryView["attempts"][number])
  | ({ readonly event: "operation"; readonly runId: string } & OperationView);

/** Remembers runs as they were seen, and tells which have come or changed since, the oldest first. */
export class ChangedRuns {
  readonly #seen = new Map<string, { readonly status: RunStatus; readonly print: string }>();

  of(runs: readonly RunView[]): readonly RunEvent[] {
    const events: RunEvent[] = [];
    for (const run of runs.toReversed()) {
      const { runId, workflow, version, id, status, records, epoch, customStatus, error } = run;
      const before = this.#seen.get(runId);
      const print = JSON.stringify([
        status,
        records,
        epoch,
        run.readyAt === undefined,
        run.blocked,
        String(customStatus),
      ]);
      if (before?.print === print) continue;
      this.#seen.set(runId, { status, print });
      const was = before?.status;
      events.push({ event: "run", runId, workflow, version, id, status, was, records, customStatus, error });
    }
    return events;
  }
}

const pageSize = 1_000;

/** How many pages of records one look asks for. What is left comes with the next one. */
const mostPages = 5;

/** One run: its records, failed attempts, operations and statuses, each once. */
export class OneRun {
  readonly #client: Pick<HttpClient, "get" | "history">;
  readonly #runId: string;
  readonly #lastShown: number;
  readonly #changed = new ChangedRuns();
  readonly #told = new Set<string>();
  #epoch: number | undefined;
  #after = 0;

  /** `lastShown`: how many of the last records are told at the first look. */
  constructor(client: Pick<HttpClient, "get" | "history">, runId: string, lastShown: number) {
    this.#client = client;
    this.#runId = runId;
    this.#lastShown = lastShown;
  }

  async look(): Promise<{ readonly news: readonly RunNews[]; readonly isOver: boolean }> {
    const run = await this.#client.get(this.#runId);
    const isFirst = this.#epoch === undefined;
    if (isFirst) this.#after = Math.max(0, run.records - this.#lastShown);
    const news: RunNews[] = [];
    let isComplete = false;
    for (let pages = 0; pages < mostPages && !isComplete; pages += 1) {
      const page = await this.#client.history(this.#runId, { after: this.#after, limit: pageSize });
      if (this.#epoch !== undefined && page.epoch !== this.#epoch) {
        // the records that it began with were told in the epoch before
        this.#after = page.epochs.find(({ epoch }) => epoch === page.epoch)?.kept ?? 0;
        this.#epoch = page.epoch;
        continue;
      }
      this.#epoch = page.epoch;
      news.push(...this.#further(page, isFirst));
      this.#after = page.records.at(-1)?.position ?? this.#after;
      isComplete = page.next === undefined;
    }
    news.push(...this.#changed.of([run]));
    return { news, isOver: isOver(run.status) && isComplete };
  }

  /** The first look tells no attempts and operations: they may be old. */
  #further({ records, attempts, operations, epoch }: HistoryView, isFirst: boolean): readonly RunNews[] {
    const runId = this.#runId;
    const isNew = (key: string) => !this.#told.has(key) && this.#told.add(key) && !isFirst;
    return [
      ...operations
        .filter(({ callId, verb }) => isNew(`${verb} ${callId}`))
        .map((each) => ({ event: "operation" as const, runId, ...each })),
      ...attempts
        .filter(({ path, occurrence, number }) => isNew(`${epoch} ${path} ${occurrence} ${number}`))
        .map((each) => ({ event: "attempt" as const, runId, ...each })),
      ...records.map((each) => ({ event: "record" as const, runId, epoch, ...each })),
    ];
  }
}
