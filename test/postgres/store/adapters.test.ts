/** The stores that layover ships, each on the real thing: a folder, R2 in workerd, and the SDK of S3 on the wire. */
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3 } from "@aws-sdk/client-s3";
import { type R2BucketLike, r2Store, s3Store, type ValueStore } from "layover/store";
import { folderStore } from "layover/store/folder";
import { Miniflare } from "miniflare";
import { afterAll, describe, expect, test } from "vitest";

interface Opened {
  readonly store: ValueStore;
  close(): Promise<void>;
}

async function openFolder(): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), "values-"));
  return { store: folderStore(folder), close: async () => {} };
}

async function openR2(): Promise<Opened> {
  const miniflare = new Miniflare({
    modules: true,
    script: "export default { fetch: () => new Response() }",
    r2Buckets: ["VALUES"],
    compatibilityDate: "2026-01-01",
  });
  const { VALUES } = await miniflare.getBindings<{ VALUES: R2BucketLike }>();
  return { store: r2Store(VALUES), close: () => miniflare.dispose() };
}

/** The three requests of S3, as its documents say them, on a server of HTTP. */
async function openS3(refusesDeletes = false): Promise<Opened> {
  const objects = new Map<string, Buffer>();
  const bytesOf = async (request: IncomingMessage) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://s3");
    const key = decodeURIComponent(pathname).replace("/values/", "");
    const body = await bytesOf(request);
    const xml = (status: number, text: string) =>
      response
        .writeHead(status, { "content-type": "application/xml" })
        .end(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
    if (request.method === "PUT") {
      objects.set(key, body);
      response.writeHead(200, { etag: '"1"' }).end();
    } else if (request.method === "POST" && searchParams.has("delete")) {
      const keys = [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, one = ""]) => one);
      const errors = keys.map(
        (one) => `<Error><Key>${one}</Key><Code>AccessDenied</Code><Message>no</Message></Error>`,
      );
      if (!refusesDeletes) for (const one of keys) objects.delete(one);
      xml(200, `<DeleteResult>${refusesDeletes ? errors.join("") : ""}</DeleteResult>`);
    } else {
      const found = objects.get(key);
      if (found === undefined) xml(404, "<Error><Code>NoSuchKey</Code><Message>It does not exist.</Message></Error>");
      else response.writeHead(200, { "content-length": found.length }).end(found);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = new S3({
    endpoint: `http://127.0.0.1:${port}`,
    region: "eu-central-1",
    forcePathStyle: true,
    credentials: { accessKeyId: "a", secretAccessKey: "s" },
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  return {
    store: s3Store({ client, bucket: "values" }),
    async close() {
      client.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const signal = new AbortController().signal;
const bytes = (length: number, by: number) => Uint8Array.from({ length }, (_, index) => (index * by) % 251);

describe.each([
  ["a folder", openFolder],
  ["a bucket of R2", openR2],
  ["a bucket of S3", openS3],
])("%s", (_, open) => {
  let opened: Opened | undefined;
  const ready = async () => {
    opened ??= await open();
    return opened.store;
  };
  afterAll(async () => await opened?.close());

  test("answers what was put, byte by byte, and the last of two puts", async () => {
    const store = await ready();
    const [first, second] = [bytes(3_000_000, 7), bytes(3_000_001, 11)];
    await store.put("space/run one/value", first, signal);
    await store.put("space/run one/value", second, signal);
    await store.put("space/empty", new Uint8Array(), signal);
    const got = await store.get("space/run one/value", signal);
    expect(Buffer.compare(got ?? new Uint8Array(), second)).toBe(0);
    expect((await store.get("space/empty", signal))?.length).toBe(0);
  });

  test("answers nothing for what is not there", async () => {
    const store = await ready();
    expect(await store.get("space/nothing", signal)).toBeUndefined();
  });

  test("deletes a hundred at once, of which some are not there, and twice, and no other", async () => {
    const store = await ready();
    const keys = Array.from({ length: 100 }, (_, index) => `many/${index}`);
    await store.put("many/else", bytes(10, 3), signal);
    for (const key of keys.slice(0, 20)) await store.put(key, bytes(10, 3), signal);
    await store.delete(keys, signal);
    await store.delete(keys, signal);
    expect(await store.get("many/19", signal)).toBeUndefined();
    expect(await store.get("many/else", signal)).toHaveLength(10);
  });
});

test("a bucket of S3 that refuses to delete says which, so that it is asked again", async () => {
  const { store, close } = await openS3(true);
  await store.put("one", bytes(10, 3), signal);
  await expect(store.delete(["one"], signal)).rejects.toThrow("1 values were not deleted, such as one: AccessDenied");
  await close();
});

test("a folder keeps no part of a value: not of a put that failed, nor of a process that died amid it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "values-"));
  const store = folderStore(folder);
  await expect(store.put("one", bytes(3_000_000, 7), AbortSignal.abort())).rejects.toThrow();
  expect(await readdir(folder)).toEqual([]);
  await writeFile(join(folder, "two.part"), bytes(10, 3));
  await store.delete(["two"], signal);
  expect(await readdir(folder)).toEqual([]);
});

test("no key leads out of the folder", async () => {
  const outside = await mkdtemp(join(tmpdir(), "values-"));
  const store = folderStore(join(outside, "in"));
  await store.put("../../up/.../x", bytes(10, 3), signal);
  expect(await readdir(outside)).toEqual(["in"]);
  expect(await store.get("../../up/.../x", signal)).toHaveLength(10);
});
