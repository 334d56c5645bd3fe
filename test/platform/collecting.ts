/** Collects what a test traces and measures, by the real SDK of OpenTelemetry. */
import { metrics, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  type DataPoint,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { beforeEach } from "vitest";

export interface Collected {
  readonly spans: () => readonly ReadableSpan[];
  /** The points of a metric: attributes without their prefix, and the value, or the sum of a histogram. */
  readonly points: (name: string) => Promise<readonly (readonly [attributes: object, value: number])[]>;
}

/** Registers providers for the tests of a file. Each test begins with nothing collected. */
export function collecting(): Collected {
  const exporter = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 2 ** 30 });
  const meters = new MeterProvider({ readers: [reader] });
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  metrics.setGlobalMeterProvider(meters);
  beforeEach(async () => {
    await meters.forceFlush();
    measured.reset();
    exporter.reset();
  });
  return {
    spans: () => exporter.getFinishedSpans(),
    points: async (name) => {
      await meters.forceFlush();
      const found = measured
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
        .filter(({ descriptor }) => descriptor.name === name);
      return found.flatMap(({ dataPoints }) => dataPoints.map(pointOf));
    },
  };
}

function pointOf({ attributes, value }: DataPoint<unknown>): readonly [object, number] {
  const { sum }: { sum?: unknown } = Object(value);
  return [attributes, typeof value === "number" ? value : Number(sum)];
}

/** A span as a test compares it. */
export function shown(span: ReadableSpan): string {
  const { attributes } = span;
  const outcome = ["turn", "step", "wait"].flatMap((what) => attributes[`layover.${what}.outcome`] ?? []).join();
  return `${span.name}: ${outcome}`;
}

/** Spans by their parents: each name with those of its children, in the order in which they began. */
export function treeOf(spans: readonly ReadableSpan[], parentId: string): unknown[] {
  const children = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parentId);
  return children.map((span) => {
    const below = treeOf(spans, span.spanContext().spanId);
    return below.length === 0 ? shown(span) : [shown(span), ...below];
  });
}
