/**
 * Traces and metrics by OpenTelemetry. It speaks to `@opentelemetry/api` alone: which SDK collects and sends, and where to,
 * is yours. A deployment that does not import this loads none of it.
 *
 *   import { telemetry } from "layover/telemetry";
 *   serve({ workflows, telemetry: telemetry({ flush: () => provider.forceFlush() }) });
 */
export type { Telemetry } from "../../engine/telemetry.ts";
export { type TelemetryOptions, telemetry } from "./telemetry.ts";
