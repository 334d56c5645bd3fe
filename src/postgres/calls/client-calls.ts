/** The calls behind a client's verbs, by kind. One method for each SQL function. */
import type { Query } from "../../core/ports.ts";
import { latestCommit, nextTickMs } from "../../core/waking.ts";
import type * as operations from "../wire-operations.ts";
import type * as replays from "../wire-replay.ts";
import type * as schedules from "../wire-schedules.ts";
import type * as verbs from "../wire-verbs.ts";
import type * as views from "../wire-views.ts";
import * as webhooks from "../wire-webhooks.ts";
import type { CallSender } from "./call-sender.ts";

export type ClientCalls = ReturnType<typeof clientCalls>;

export function clientCalls(sender: CallSender) {
  return {
    /** Checks the API key, for a verb that sends no statement of its own. */
    async checkKey(): Promise<void> {
      if (sender.common.keyId !== undefined) await sender.call("check_key", {});
    },

    ...startCalls(sender),
    ...operationCalls(sender),
    ...scheduleCalls(sender),
    ...arrivalCalls(sender),
    ...readCalls(sender),
    ...replayCalls(sender),
  };
}

/** Starts of runs, and signals to them. */
const startCalls = (sender: CallSender) => ({
  startRun(call: verbs.StartCall): Promise<verbs.StartAnswer> {
    // The run's timeout is armed by the turn that parks the run for longer.
    return sender.armedCall("start_run", { ...call, endpoint: sender.endpoint }, (now) => [
      call.startAt ?? now + (call.delayMs ?? 0),
    ]);
  },

  /** Starts inside the caller's own transaction; armed for an instant beyond its COMMIT. */
  async startRunIn(
    transaction: Query,
    call: verbs.StartCall & { readonly commitWithinMs: number },
  ): Promise<verbs.StartAnswer> {
    const now = await sender.now();
    const commitBy = now + call.commitWithinMs; // not from when the statement gets its turn: the alarm does not wait for that
    const readyAt = Math.max(call.startAt ?? now + (call.delayMs ?? 0), latestCommit(commitBy));
    const armed = await sender.alarms.arm([readyAt]);
    const sent = { ...sender.common, ...call, commitBy, endpoint: sender.endpoint, armed };
    return await sender.sealed("start_run", sent, (sealed) =>
      transaction("select layover.start_run($1) as answer", [JSON.stringify(sealed)]),
    );
  },

  sendSignal(call: verbs.SignalCall): Promise<verbs.SignalAnswer> {
    return sender.armedCall("send_signal", { ...call, endpoint: sender.endpoint }, () => []);
  },

  signalWithStart(call: verbs.SignalWithStartCall): Promise<verbs.SignalWithStartAnswer> {
    return sender.armedCall("signal_with_start", { ...call, endpoint: sender.endpoint }, (now) => [
      call.startAt ?? now + (call.delayMs ?? 0),
    ]);
  },
});

/**
 * Tells when the scheduler has to look after an act. What a resumed run waits for may end at any moment, and nobody has
 * dispatched it for that, so the look comes within a minute.
 */
function looksAfter(verb: operations.ManyVerb): (now: number) => readonly number[] {
  return (now) => (verb === "resume" ? [now + nextTickMs] : []);
}

/** What people do to a run, to many, or to all runs of a workflow. */
const operationCalls = (sender: CallSender) => ({
  operate(verb: operations.SingleVerb, call: operations.OperationCall): Promise<operations.OperationAnswer> {
    return sender.armedCall(`${verb}_run`, { ...call, endpoint: sender.endpoint }, looksAfter(verb));
  },

  repair(
    verb: "retry" | "restart" | "fork",
    call: operations.RetryCall | operations.RestartCall | operations.ForkCall,
  ): Promise<operations.RepairAnswer | verbs.Unknown> {
    return sender.armedCall(`${verb}_run`, { ...call, endpoint: sender.endpoint }, () => []);
  },

  upgradeRun(call: replays.UpgradeCall): Promise<replays.UpgradeAnswer | verbs.Unknown> {
    // Hosts of the old version have armed what the run waits for. They may be gone, so this call has the scheduler look.
    return sender.armedCall("upgrade_run", { ...call, endpoint: sender.endpoint }, looksAfter("resume"));
  },

  operateRuns(call: operations.OperateRunsCall): Promise<operations.OperateRunsAnswer> {
    return sender.armedCall("operate_runs", { ...call, endpoint: sender.endpoint }, looksAfter(call.verb));
  },

  changeWorkflow(verb: "pause" | "resume", call: operations.WorkflowCall): Promise<operations.WorkflowAnswer> {
    // A resume has the scheduler look at the workflow's schedules.
    return sender.armedCall(`${verb}_workflow`, { ...call, endpoint: sender.endpoint }, () => []);
  },
});

const scheduleCalls = (sender: CallSender) => ({
  createSchedule(call: schedules.CreateScheduleCall): Promise<schedules.CreateScheduleAnswer> {
    return sender.armedCall("create_schedule", { ...call, endpoint: sender.endpoint }, () => []);
  },

  changeSchedule(
    verb: "pause" | "resume" | "delete" | "adopt",
    call: schedules.ScheduleCall & { readonly owner?: string },
  ): Promise<schedules.ScheduleAnswer> {
    return sender.armedCall(`${verb}_schedule`, { ...call, endpoint: sender.endpoint }, () => []);
  },

  triggerSchedule(
    call: schedules.ScheduleCall & { readonly runId: string; readonly ignoresOverlap?: true },
  ): Promise<schedules.ScheduleAnswer> {
    return sender.armedCall("trigger_schedule", { ...call, endpoint: sender.endpoint }, () => []);
  },

  getSchedule(call: { readonly name: string }): Promise<schedules.WireSchedule | verbs.Unknown> {
    return sender.call("get_schedule", call);
  },

  listSchedules(call: schedules.ListSchedulesCall): Promise<schedules.ListSchedulesAnswer> {
    return sender.call("list_schedules", call);
  },
});

/** What comes from outside: answers to callbacks, and deliveries of webhooks. */
const arrivalCalls = (sender: CallSender) => ({
  answerCallback(call: verbs.CallbackCall): Promise<verbs.CallbackAnswer> {
    return sender.armedCall("answer_callback", { ...call, endpoint: sender.endpoint }, () => []);
  },

  readCallback(call: verbs.CallbackUrl): Promise<verbs.CallbackState> {
    return sender.call("read_callback", call);
  },

  receiveDelivery(call: webhooks.DeliveryCall): Promise<webhooks.DeliveryAnswer> {
    return sender.armedCall("receive_delivery", { ...call, endpoint: sender.endpoint }, (now) =>
      call.deeds.flatMap((deed) => [
        ...("encodedInput" in deed ? [deed.startAt ?? now + (deed.delayMs ?? 0)] : []),
        ...("encodedPayload" in deed ? [now + webhooks.keptMs] : []),
      ]),
    );
  },

  listDeliveries(call: webhooks.ListDeliveriesCall): Promise<webhooks.ListDeliveriesAnswer> {
    return sender.call("list_deliveries", call);
  },

  getDelivery(call: webhooks.DeliveryKey): Promise<webhooks.WireDelivery | verbs.Unknown> {
    return sender.call("get_delivery", call);
  },
});

/** What people see of runs. */
const readCalls = (sender: CallSender) => ({
  /** `longestInput`: in bytes; a longer one is left out. */
  getRun(key: verbs.RunKey & { readonly longestInput?: number }): Promise<views.WireRunView | verbs.Unknown> {
    return sender.call("get_run", key);
  },

  listRuns(call: views.ListCall): Promise<views.ListAnswer> {
    return sender.call("list_runs", call);
  },

  countRuns(call: views.ListCall): Promise<views.CountAnswer> {
    return sender.call("list_runs", { ...call, isCount: true });
  },

  getHistory(
    call: verbs.RunKey & { readonly after?: number; readonly limit?: number; readonly epoch?: number },
  ): Promise<views.WireHistory | verbs.Unknown> {
    return sender.call("get_history", call);
  },
});

/** What a replay without a claim reads. */
const replayCalls = (sender: CallSender) => ({
  readReplay(call: verbs.RunKey & replays.ReplayCall): Promise<replays.ReplayAnswer> {
    return sender.call("read_replay", call);
  },

  readMail(call: verbs.RunKey & replays.MailCall): Promise<replays.MailPage | verbs.Unknown> {
    return sender.call("read_mail", call);
  },

  listParked(call: replays.ParkedCall): Promise<replays.ParkedPage> {
    return sender.call("list_parked", call);
  },

  exportRun(call: replays.ExportCall): Promise<replays.ExportAnswer> {
    return sender.call("export_run", { ...call, endpoint: sender.endpoint });
  },
});
