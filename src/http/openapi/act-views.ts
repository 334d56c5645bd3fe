/** What became of signals, operations, callbacks and deliveries, as JSON Schema. */
import type { DeliveryPage, DeliveryView } from "../../client/deliveries.ts";
import type { CallbackView } from "../../client/mail.ts";
import { type ManyPage, type Refused, refusals } from "../../client/many.ts";
import type { OperationReceipt } from "../../client/operations.ts";
import type { UpgradeReceipt } from "../../client/over-postgres/upgrades.ts";
import type { ForkReceipt, RepairReceipt, RestartPlan } from "../../client/repairs.ts";
import type { SignalReceipt } from "../../client/run.ts";
import type { ScheduleCreated, SchedulePage, ScheduleView } from "../../client/schedules.ts";
import type { WorkflowPage } from "../../client/workflow-pause.ts";
import type { ScheduleDefinition } from "../../core/contract/schedule.ts";
import type { Place } from "../../postgres/wire.ts";
import type { CutRecord } from "../../postgres/wire-operations.ts";
import type { ReplayPage, WireTake } from "../../postgres/wire-replay.ts";
import type { WireDeed } from "../../postgres/wire-webhooks.ts";
import { place, recordKind } from "./run-views.ts";
import {
  anything,
  described,
  flag,
  instant,
  integer,
  type JsonSchema,
  list,
  nullable,
  object,
  oneOf,
  optional,
  record,
  ref,
  text,
  uuid,
} from "./schema.ts";

const manyPage = {
  callId: uuid,
  runs: described("How many runs were meant.", integer),
  outcomes: record(integer),
  refused: list(object<Refused>({ code: oneOf(...refusals), runs: integer, runIds: list(uuid) })),
  statuses: record(integer),
  runIds: list(uuid),
  cursor: optional(text),
};

export const actViews = {
  Signalled: object<SignalReceipt>({ runId: uuid, outcome: oneOf("sent", "duplicate") }),
  Operated: object<OperationReceipt>({
    runId: uuid,
    outcome: oneOf("paused", "resumed", "cancelling", "cancelled", "terminated", "deleted"),
  }),
  ManyOperated: object<ManyPage>(manyPage),
  WorkflowChanged: object<WorkflowPage>({ ...manyPage, mayMissStarts: flag }),
  Repaired: object<RepairReceipt>({
    runId: uuid,
    outcome: oneOf("retried", "restarted"),
    epoch: integer,
    kept: described("How many records it begins with.", integer),
    dropped: integer,
  }),
  RestartPlan: object<RestartPlan>({
    runId: uuid,
    kept: integer,
    dropped: integer,
    records: list(object<CutRecord>({ ...place, position: integer, kind: recordKind, isFailure: flag })),
  }),
  Restarted: { anyOf: [ref("Repaired"), described("With `dryRun`.", ref("RestartPlan"))] },
  Forked: object<ForkReceipt>({ runId: described("Id of the new run.", uuid), outcome: oneOf("forked") }),
  ReplayPage: object<ReplayPage>({
    outcome: oneOf("read"),
    now: integer,
    runId: uuid,
    epoch: integer,
    turn: integer,
    position: described("The position of the last record there is.", integer),
    handedPosition: integer,
    records: described(
      "Each is [kind, path, occurrence, isFailure, value, recordedAt, attempts].",
      list({ type: "array", items: anything }),
    ),
    takes: list(object<WireTake>({ position: integer, number: integer, name: text, receivedAt: integer })),
    rest: described("What only the first page has.", nullable({ type: "object" })),
  }),
  Upgraded: object<UpgradeReceipt>({
    runId: uuid,
    outcome: described("`moved_on`, `at_work`: nothing was done.", oneOf("upgraded", "moved_on", "at_work")),
  }),
  Callback: object<CallbackView>({
    workflow: text,
    version: integer,
    name: text,
    status: oneOf("open", "resolved", "rejected", "expired", "over"),
    deadline: optional(instant),
    title: optional(text),
    text: optional(text),
  }),
  RunCallback: object<CallbackView & Place & { readonly runId: string; readonly url: string }>({
    runId: uuid,
    ...place,
    workflow: text,
    version: integer,
    name: text,
    status: oneOf("open", "resolved", "rejected", "expired", "over"),
    deadline: optional(instant),
    title: optional(text),
    text: optional(text),
    url: described("A new link that answers it.", text),
  }),
  Answered: object<{ readonly outcome: string }>({ outcome: oneOf("resolved", "rejected") }),
  Delivery: object<DeliveryView>({
    webhook: text,
    id: text,
    outcome: oneOf("done", "waiting", "refused", "failed", "expired"),
    reason: optional(text),
    deeds: list(
      object<WireDeed>({
        runId: { type: ["string", "null"], format: "uuid" },
        outcome: optional(oneOf("started", "exists")),
        signal: optional(oneOf("sent", "duplicate", "kept")),
      }),
    ),
    attempts: integer,
    receivedAt: instant,
    decidedAt: instant,
    replays: list(object<DeliveryView["replays"][number]>({ by: optional(text), reason: optional(text), at: instant })),
    event: optional(anything),
    headers: optional(record(text)),
  }),
  DeliveryPage: object<DeliveryPage>({ deliveries: list(ref("Delivery")), cursor: optional(text) }),
  Replayed: object<{ readonly outcome: string; readonly reason?: string }>({
    outcome: oneOf("done", "refused", "failed", "duplicate", "ignored"),
    reason: optional(text),
  }),
  Received: object<{ readonly outcome: string; readonly delivery?: string }>({
    outcome: oneOf("done", "refused", "failed", "duplicate", "ignored"),
    delivery: optional(text),
  }),
  Schedule: object<ScheduleView>({
    name: text,
    workflow: text,
    version: integer,
    owner: optional(described("The deployment whose code declares it.", text)),
    definition: object<ScheduleDefinition>({
      workflow: text,
      version: integer,
      cron: optional(text),
      timezone: optional(text),
      everyMs: optional(integer),
      startAt: optional(integer),
      at: optional(integer),
      jitterMs: optional(integer),
      overlap: optional(oneOf("skip", "allow")),
      catchUp: optional(oneOf("latest", "all", "none")),
      tags: optional(record(text)),
      timeoutMs: optional(integer),
      signature: optional(text),
    }),
    nextAt: optional(instant),
    firesAt: optional(instant),
    lastAt: optional(instant),
    lastFiredAt: optional(instant),
    lastRunId: optional(uuid),
    fired: integer,
    skipped: integer,
    skippedInRow: integer,
    lastSkip: optional(
      object<NonNullable<ScheduleView["lastSkip"]>>({
        cause: text,
        at: instant,
        runId: optional(uuid),
        reason: optional(text),
      }),
    ),
    paused: optional(
      object<NonNullable<ScheduleView["paused"]>>({ at: instant, by: optional(text), reason: optional(text) }),
    ),
    workflowIsPaused: flag,
    isCarried: flag,
    ownerIsLive: flag,
    rivalOwner: optional(text),
    alsoDeclaredBy: optional(list(text)),
    stoppedBecause: optional(text),
    createdAt: instant,
    changedAt: instant,
  }),
  SchedulePage: object<SchedulePage>({ schedules: list(ref("Schedule")), cursor: optional(text) }),
  ScheduleCreated: object<ScheduleCreated>({
    outcome: oneOf("created", "exists", "changed"),
    schedule: ref("Schedule"),
  }),
  ScheduleDeleted: object<{ readonly outcome: string }>({ outcome: oneOf("deleted") }),
  Triggered: object<{ readonly runId: string }>({ runId: described("Id of the run that it has started.", uuid) }),
  Woken: object<{ readonly outcome: string }>({ outcome: oneOf("woken") }),
  Health: object<{ readonly status: string }>({ status: oneOf("ok", "closing") }),
  AnyValue: anything,
  OpenApi: described("This document.", { type: "object" }),
} satisfies Readonly<Record<string, JsonSchema>>;
