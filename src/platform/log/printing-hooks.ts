/** What a host prints by itself, where its user takes neither log entries nor events. */
import { exceptErrors, type Tell } from "../../engine/events.ts";
import { guardHooks } from "../../engine/hooks.ts";
import type { EngineOptions } from "../../engine/options.ts";

type Hooks = Pick<EngineOptions, "onLog" | "onEvent" | "onError" | "telemetry">;

export interface Printers {
  readonly printLog: NonNullable<EngineOptions["onLog"]>;
  readonly printEvent: Tell;
}

/** Fills in the host's printers for the hooks that the user does not give. None of the hooks throws. Telemetry is told, too. */
export function printingHooks({ onLog, onEvent, onError, telemetry }: Hooks, { printLog, printEvent }: Printers) {
  const printed = onError === undefined ? printEvent : exceptErrors(printEvent);
  const told = onEvent ?? printed;
  const counted: Tell = (event) => {
    telemetry?.onEvent(event);
    return told(event); // its promise is guarded
  };
  return guardHooks({ onLog: onLog ?? printLog, onError, onEvent: counted });
}
