/**
 * What stands before each of Neon's databases for clients that have WebSockets only, in front of a Postgres of ours: it
 * passes bytes on, both ways. A Worker, since those have both ends.
 */
import { Miniflare } from "miniflare";

export interface WebSocketProxy {
  /** Address of the proxy, for `neonConfig.wsProxy`. */
  readonly address: string;
  close(): Promise<void>;
}

const worker = `
  import { connect } from "cloudflare:sockets";

  export default {
    fetch(request) {
      const [client, server] = Object.values(new WebSocketPair());
      const postgres = connect(new URL(request.url).searchParams.get("address"));
      const writer = postgres.writable.getWriter();
      const part = () => postgres.close();
      server.binaryType = "arraybuffer";
      server.accept();
      server.addEventListener("message", ({ data }) => writer.write(new Uint8Array(data)).catch(part));
      server.addEventListener("close", part);
      const write = (bytes) => server.send(bytes);
      postgres.readable.pipeTo(new WritableStream({ write })).catch(() => {}).finally(() => server.close());
      return new Response(null, { status: 101, webSocket: client });
    },
  };
`;

export async function openWebSocketProxy(): Promise<WebSocketProxy> {
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: worker }],
    compatibilityDate: "2026-08-01",
    cf: false,
    telemetry: { enabled: false },
  });
  const { host } = await miniflare.ready;
  return { address: `${host}/v2`, close: async () => await miniflare.dispose() };
}
