/** The calls of the scheduler, and of the hosts and processes that tick. One method for each SQL function. */

import { latestCommit } from "../../core/waking.ts";
import type * as scheduler from "../wire-scheduler.ts";
import type { KeptAnswer } from "../wire-webhooks.ts";
import type { CallSender } from "./call-sender.ts";

export type SchedulerCalls = ReturnType<typeof schedulerCalls>;

export function schedulerCalls(sender: CallSender) {
  return {
    listDue(call: scheduler.DueCall): Promise<scheduler.DueAnswer> {
      return sender.call("list_due", { ...call, endpoint: sender.endpoint });
    },

    /**
     * Moves due instants on. The new instants must be armed already. A run that was woken after it was listed is left
     * alone and counted. With `soonAt`, which must be armed too, such a run is moved there.
     */
    moveDue(call: scheduler.MoveCall): Promise<scheduler.MoveAnswer> {
      const instants = [
        ...call.moves.flatMap(({ dueAt }) => dueAt ?? []),
        ...(call.soonAt === undefined ? [] : [call.soonAt]),
      ];
      return sender.call("move_due", call, instants);
    },

    /**
     * Looks at the signals that deliveries have kept. The instant at which the first of them expires must be armed. `waits`: also for those
     * that others have locked.
     */
    sendKeptSignals(call: { readonly limit: number; readonly waits?: boolean }): Promise<KeptAnswer> {
      return sender.armedCall("send_kept_signals", { ...call, endpoint: sender.endpoint }, () => []);
    },

    pruneRuns(call: scheduler.PruneCall): Promise<scheduler.PruneAnswer> {
      return sender.call("prune_runs", call);
    },

    /** Answers the keys of stored values that no run holds. */
    sweepValues(call: { readonly limit: number }): Promise<scheduler.SweepAnswer> {
      return sender.call("sweep_values", { ...call, endpoint: sender.endpoint });
    },

    /** Forgets stored values that the store has deleted. */
    forgetValues(call: { readonly keys: readonly string[] }): Promise<{ readonly outcome: "forgotten" }> {
      return sender.call("forget_values", { ...call, endpoint: sender.endpoint });
    },

    /**
     * Fires schedules that are due. `lookAt`: the instants of `list_due` for them. Nobody dispatches a schedule after the
     * call, so instants that come too soon to be relied on are armed as well. If one of them rings before the commit, the
     * motion minute is behind it.
     */
    fireSchedules(call: scheduler.FireCall, lookAt: readonly number[]): Promise<scheduler.FireAnswer> {
      return sender.armed(
        () => lookAt,
        async ({ armed, notAfter }) => {
          const now = sender.clock.now();
          const soon = await sender.alarms.arm(lookAt.filter((at) => at > now && at <= latestCommit(notAfter)));
          const all = [...armed, ...soon];
          const sent = { ...call, endpoint: sender.endpoint, armed: all, ...sender.rings(all), notAfter };
          return sender.send("fire_schedules", sent, notAfter);
        },
      );
    },

    /** Arms only if there are schedules to register: the scheduler looks at new ones in the motion minute. */
    noteDeployment(call: scheduler.NoteCall): Promise<scheduler.NoteAnswer> {
      const sent = { ...call, endpoint: sender.endpoint };
      // Code that declares none may leave one to a deployment that declares something else.
      return call.schedules === undefined
        ? sender.call("note_deployment", sent)
        : sender.armedCall("note_deployment", sent, () => []);
    },

    /** Lists a process, and answers the others. */
    noteProcess(call: scheduler.ProcessCall): Promise<scheduler.ProcessAnswer> {
      return sender.call("note_process", { ...call, endpoint: sender.endpoint });
    },
  };
}
