/** Refuses to judge encrypted values: the commands that read the database themselves have no keys. */
import { isSealed } from "../../core/codec/stored-value.ts";
import type { StoredRun } from "../../engine/replay/replay-stored.ts";
import type { WireSignal } from "../../postgres/wire.ts";
import { UsageError } from "../usage-error.ts";

const hints = {
  "replay-check": "Have a deployment judge that has the keys: layover replay-check --at URL. It mounts replayCheck().",
  upgrade: "Have a deployment judge that has the keys: layover upgrade … --at URL. It mounts replayCheck().",
  replay: "Have a deployment write it decrypted: layover export RUN --with-secrets. Then replay that file.",
} as const;

/** @throws UsageError */
export function refuseSealed({ runId, run, records }: StoredRun, command: keyof typeof hints): void {
  const texts = [run.input, ...records.map(([, , , , value]) => value)];
  if (texts.some((text) => text !== null && isSealed(text))) throw sealed(runId, command);
}

/** @throws UsageError */
export function refuseSealedMail(runId: string, signals: readonly WireSignal[]): void {
  if (signals.some(({ payload }) => isSealed(payload))) throw sealed(runId, "upgrade");
}

function sealed(runId: string, command: keyof typeof hints): UsageError {
  return new UsageError(`The values of the run ${runId} are encrypted, and this command has no keys.`, {
    hint: hints[command],
  });
}
