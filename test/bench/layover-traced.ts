/** layover with its traces and metrics: each span goes by the real exporter to a receiver in a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { telemetry } from "../../src/platform/telemetry/telemetry.ts";
import { contender } from "./layover.ts";

const receiver = `require("node:http").createServer((request, response) => {
  request.resume().on("end", () => response.end("{}"));
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
process.stdin.resume().on("end", () => process.exit());`;

async function sendToReceiver(): Promise<void> {
  const child = spawn(process.execPath, ["-e", receiver], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  // It ends with this process, and does not keep that from ending.
  for (const each of [child, child.stdin, child.stdout])
    if ("unref" in each && typeof each.unref === "function") each.unref();
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${String(port).trim()}/v1/traces` });
  const spanProcessors = [new BatchSpanProcessor({ exporter, maxQueueSize: 100_000 })];
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
}

let sending: Promise<void> | undefined;

function traced(name: string, sample: number) {
  const plain = contender(name, { batch: 1, telemetry: telemetry({ sample }) });
  return {
    ...plain,
    prepare: async (database: Parameters<typeof plain.prepare>[0]) => {
      sending ??= sendToReceiver();
      await sending;
      return await plain.prepare(database);
    },
  };
}

export const layoverTraced = traced("layover, traced", 1);
export const layoverTracedInPart = traced("layover, one run of ten traced", 0.1);
