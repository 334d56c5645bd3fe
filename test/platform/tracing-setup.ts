/** The example of src/platform/telemetry/README.md: test/rooms.test.ts holds that they are the same. */
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { telemetry } from "layover/telemetry";

const provider = new TracerProvider({
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
});
trace.setGlobalTracerProvider(provider);
export const tracing = telemetry({ flush: () => provider.forceFlush() });
