/** A Worker under test whose turns are traced by OpenTelemetry's own SDK and sent by its exporter. */
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { type AlarmNamespace, serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { telemetry } from "layover/telemetry";
import { playedQueue } from "./sending.ts";
import { workflows } from "./workflows.ts";

/** Put in when it is bundled. */
declare const settings: { readonly tracesUrl: string };

export { LayoverAlarm } from "layover/cloudflare";

interface Env {
  readonly ALARM: AlarmNamespace;
  readonly DATABASE_URL: string;
  readonly FETCH_ENDPOINT: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  /** A test plays the queue. */
  readonly QUEUE_URL: string;
}

const exporter = new OTLPTraceExporter({ url: settings.tracesUrl });
const provider = new TracerProvider({
  spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: 86_400_000, maxExportBatchSize: 2_048 })],
});
trace.setGlobalTracerProvider(provider);

export default serve<Env>({
  workflows,
  database: (env) => neon(env.DATABASE_URL, { fetchEndpoint: env.FETCH_ENDPOINT }),
  publicUrl: (env) => env.PUBLIC_URL,
  secrets: (env) => [env.LAYOVER_SECRET],
  queue: (env) => playedQueue(env.QUEUE_URL),
  alarm: (env) => env.ALARM,
  telemetry: telemetry({ flush: () => provider.forceFlush() }),
});
