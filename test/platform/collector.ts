/** A receiver of traces that speaks OTLP over HTTP, in JSON. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";

/** What OTLP's JSON has, as far as tests read it. */
const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          scope: z.object({ name: z.string() }),
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              attributes: z.array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) })),
            }),
          ),
        }),
      ),
    }),
  ),
});
export type Span = z.infer<typeof Sent>["resourceSpans"][number]["scopeSpans"][number]["spans"][number];

export interface Collector {
  /** Address for an exporter of traces. */
  readonly url: string;
  /** All spans that have come, in order. */
  readonly spans: Span[];
  /** The path and the content type of each request. */
  readonly types: string[];
  /** A request that comes is taken and answered once this has resolved. */
  opens: Promise<void>;
  close(): void;
}

export async function openCollector(): Promise<Collector> {
  const [spans, types]: [Span[], string[]] = [[], []];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    await collector.opens;
    types.push(`${request.url} ${request.headers["content-type"]}`);
    const { resourceSpans } = Sent.parse(JSON.parse(Buffer.concat(chunks).toString()));
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const collector: Collector = {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    types,
    opens: Promise.resolve(),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return collector;
}

/** Answers the value of an attribute. */
export function attributeOf({ attributes }: Span, name: string): unknown {
  return Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];
}
