import type {
  AttemptView,
  EpochView,
  HistoryView,
  OperationView,
  PendingView,
  RecordView,
} from "../../client/history-view.ts";
import type { Page } from "../../client/listing.ts";
import type { SignalReceipt } from "../../client/run.ts";
import {
  type Refusal,
  type RunEnding,
  type RunView,
  runStatuses,
  type Setback,
  type UndoCounts,
} from "../../client/run-view.ts";
import type { ErrorValue } from "../../core/codec/error-value.ts";
import type { PendingKind, RecordKind } from "../../postgres/wire.ts";
import {
  anything,
  described,
  flag,
  instant,
  integer,
  type JsonSchema,
  list,
  object,
  oneOf,
  optional,
  record,
  ref,
  text,
  uuid,
} from "./schema.ts";

/** The answer to a start, and its end if the request waits. */
interface Started extends Partial<Pick<RunEnding, "status" | "result" | "error">> {
  readonly runId: string;
  readonly workflow: string;
  readonly version: number;
  readonly id: string | undefined;
  readonly isNew: boolean;
}

interface SignalledStart extends Pick<Started, "runId" | "workflow" | "isNew"> {
  readonly id: string;
  /** Undefined: its run was there already. */
  readonly version: number | undefined;
  readonly outcome: SignalReceipt["outcome"];
}

export const recordKind = oneOf(
  ...all<RecordKind>()(
    "step",
    "sleep",
    "signal",
    "callback",
    "cancellation",
    "close",
    "closing",
    "ending",
    "start",
    "child",
  ),
);
const pendingKind = oneOf(...all<PendingKind>()("branch", "retry", "sleep", "signal", "callback", "child"));
const status = ref("RunStatus");
const value = described("Any value as plain JSON. One that cannot be shown is `{ unreadable: why }`.", anything);
export const place = {
  path: described("Scopes and name, such as `ship[3]/send`.", text),
  occurrence: described("Its number among those of the same path, from 1.", integer),
};
const started = {
  runId: uuid,
  workflow: text,
  version: integer,
  isNew: described("Whether this request has started it.", flag),
};
const ending = { status: optional(status), result: optional(value), error: optional(ref("Error")) };
export const runViews = {
  RunStatus: oneOf(...runStatuses),
  Run: object<RunView>({
    runId: uuid,
    workflow: text,
    version: integer,
    id: optional(described("The user's own id.", text)),
    status,
    customStatus: optional(value),
    tags: record(text),
    input: optional(value),
    result: optional(value),
    error: optional(ref("Error")),
    undos: optional(object<UndoCounts>({ owed: integer, done: integer, failed: optional(integer) })),
    blocked: optional(described("Why it cannot go on with this code.", text)),
    refusedBy: list(object<Refusal>({ deployment: text, at: instant, why: text })),
    setback: optional(object<Setback>({ reason: text, path: optional(text), since: instant, until: instant })),
    createdAt: instant,
    endedAt: optional(instant),
    readyAt: optional(instant),
    dueAt: optional(instant),
    pausedAt: optional(instant),
    isHeld: described("Whether it was paused with its workflow.", flag),
    leasedUntil: optional(instant),
    timeoutAt: optional(instant),
    closed: list(text),
    untaken: described("How many signals of each name were not taken yet.", record(integer)),
    records: integer,
    interrupted: integer,
    turn: integer,
    epoch: integer,
  }),
  RunPage: object<Page>({ runs: list(ref("Run")), cursor: optional(text) }),
  Started: object<Started>({ ...started, id: optional(text), ...ending }),
  SignalledStart: object<SignalledStart>({
    ...started,
    version: optional(integer),
    id: text,
    outcome: oneOf("sent", "duplicate"),
  }),
  Ending: object<RunEnding>({ runId: uuid, workflow: text, version: integer, ...ending, status }),
  History: object<HistoryView>({
    runId: uuid,
    records: list(
      object<RecordView>({
        ...place,
        position: integer,
        kind: recordKind,
        attempts: integer,
        isFailure: flag,
        isGiven: flag,
        givenBy: optional(text),
        hasTimedOut: flag,
        value: optional(value),
        childRunId: optional(uuid),
        beganAt: optional(instant),
        recordedAt: instant,
      }),
    ),
    next: optional(described("Where the next page goes on: its `after`.", integer)),
    attempts: list(
      object<AttemptView>({
        ...place,
        number: integer,
        beganAt: instant,
        endedAt: instant,
        error: optional(ref("Error")),
        requestId: optional(text),
      }),
    ),
    attemptCount: integer,
    pending: list(
      object<PendingView>({
        ...place,
        kind: pendingKind,
        signal: optional(text),
        childRunId: optional(uuid),
        until: optional(instant),
        readyAt: optional(instant),
        leasedUntil: optional(instant),
        attempts: integer,
        interrupted: integer,
        isQueued: flag,
        epoch: optional(integer),
      }),
    ),
    operations: list(
      object<OperationView>({
        callId: uuid,
        verb: text,
        by: optional(text),
        reason: optional(text),
        at: instant,
        verdict: text,
      }),
    ),
    epoch: integer,
    epochs: list(
      object<EpochView>({
        epoch: integer,
        why: oneOf("continued", "restarted", "retried", "forked"),
        beganAt: instant,
        kept: integer,
      }),
    ),
  }),
  Error: object<ErrorValue>({
    name: text,
    message: text,
    stack: optional(described("Only for keys with the scope `admin`.", text)),
    data: optional(anything),
    code: optional(text),
    cause: optional(ref("Error")),
  }),
} satisfies Readonly<Record<string, JsonSchema>>;

/** Takes all members of a union. One that is forgotten is a type error. */
function all<Union extends string>() {
  return <const Given extends readonly Union[]>(
    ...members: Given & ([Union] extends [Given[number]] ? unknown : never)
  ): readonly Union[] => members;
}
