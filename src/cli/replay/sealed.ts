/** Refuses to judge values that are encrypted or in a store: the commands that read the database themselves have no keys and no store. */
import { describeStored, isElsewhere, isSealed } from "../../core/codec/stored-value.ts";
import type { StoredRun } from "../../engine/replay/replay-stored.ts";
import type { WireSignal } from "../../postgres/wire.ts";
import { UsageError } from "../usage-error.ts";

type Command = "replay-check" | "upgrade" | "replay";

const judging = {
  "replay-check": "layover replay-check --at URL. It mounts replayCheck().",
  upgrade: "layover upgrade … --at URL. It mounts replayCheck().",
} as const;

/** @throws UsageError */
export function refuseElsewhere({ runId, run, records }: StoredRun, command: Command): void {
  const texts = [run.input, ...records.map(([, , , , value]) => value)];
  const text = texts.find((text) => text !== null && isElsewhere(text));
  if (text == null) return;
  throw isSealed(text) ? sealed(runId, command) : stored(runId, command, text);
}

/** @throws UsageError */
export function refuseSealedMail(runId: string, signals: readonly WireSignal[]): void {
  if (signals.some(({ payload }) => isSealed(payload))) throw sealed(runId, "upgrade");
}

function sealed(runId: string, command: Command): UsageError {
  return new UsageError(`The values of the run ${runId} are encrypted, and this command has no keys.`, {
    hint:
      command === "replay"
        ? "Have a deployment write it decrypted: layover export RUN --with-secrets. Then replay that file."
        : `Have a deployment judge that has the keys: ${judging[command]}`,
  });
}

function stored(runId: string, command: Command, text: string): UsageError {
  return new UsageError(
    `A value of the run ${runId} is kept in a store, ${describeStored(text)}, and this command has no store.`,
    {
      hint:
        command === "replay"
          ? "Have a deployment that has the store write the run: layover export RUN. Then replay that file."
          : `Have a deployment judge that has the store: ${judging[command]}`,
    },
  );
}
