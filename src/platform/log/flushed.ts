/** Sends traces and metrics before an invocation ends, and never keeps it for long. */
import type { HostClock } from "../../core/ports.ts";
import { within } from "../../core/waits.ts";
import type { Report } from "../../engine/events.ts";
import type { Telemetry } from "../../engine/telemetry.ts";

/** The longest wait for a collector. What it does not take by then may be lost with the process, and no turn is. */
const longestMs = 2_000;

/** Resolves when all is sent, or is given up. An error is reported. It never rejects. */
export async function flushed(telemetry: Telemetry | undefined, host: HostClock, report: Report): Promise<void> {
  try {
    const sent = telemetry?.flush();
    if (sent !== undefined) await within(host, longestMs, sent, late);
  } catch (error) {
    report(error, "sending traces and metrics");
  }
}

function late(): Error {
  return new Error(`the option \`flush\` of telemetry took longer than ${longestMs / 1_000} s`);
}
