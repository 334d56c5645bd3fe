/** Names, values and errors come from others. None of them is to do anything to the terminal that shows them. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { encode } from "../../src/core/codec/codec.ts";
import { layover, type Said } from "./layover.ts";

/** Clears the screen, hides what follows, colours it, turns it round, forges a line. */
const evil = "a\u001b[2J\u001b[8m\u009b31m\u202e\u007f\u2028\u200b\r\nRevoked\u{e0041}";
const runId = "01a1f975-5531-7046-9092-7e7c27daa9ce";
const now = new Date();

const error = { name: evil, message: evil, stack: `${evil}\n  at ${evil}`, cause: { name: evil, message: "because" } };
const run = {
  runId: evil,
  workflow: evil,
  version: 1,
  id: evil,
  status: "failed",
  customStatus: evil,
  tags: { [evil]: evil },
  input: { [evil]: evil },
  result: undefined,
  error,
  createdAt: now,
  endedAt: now,
  records: 60,
  turn: 1,
  epoch: 0,
};
const blocked = { ...run, status: "blocked", blocked: evil, error: undefined };
const place = { epoch: 0, path: evil, occurrence: 1 };
const history = {
  records: [
    { ...place, position: 11, kind: "step", attempts: 1, isFailure: true, value: error, recordedAt: now },
    { ...place, position: 12, kind: evil, attempts: 1, isFailure: false, value: evil, recordedAt: now },
  ],
  attempts: [{ ...place, number: 1, beganAt: now, endedAt: now, error, requestId: evil }],
  pending: [{ ...place, kind: "signal", signal: evil, attempts: 0 }],
};

type Answer = (request: IncomingMessage) => Response;

/** Answers the body in the codec, as layover does. */
function inCodec(value: unknown): Response {
  return new Response(encode(value), { headers: { "content-type": "application/vnd.layover.value" } });
}

/** As a run of such a name would have it, in a deployment that is itself well. */
const namedEvil: Answer = ({ method, url = "" }) => {
  if (method === "POST") return inCodec({ runId: evil, workflow: evil, version: 1, isNew: true, outcome: evil });
  if (url.includes("/history")) return inCodec(history);
  return inCodec(url.startsWith("/v1/runs?") ? { runs: [run, blocked], cursor: evil } : { ...blocked, runId });
};

const failing =
  (code: string): Answer =>
  () => {
    const body = JSON.stringify({ code, detail: evil, hint: evil, title: evil, field: evil });
    return new Response(body, { status: 400, headers: { "content-type": "application/problem+json" } });
  };

async function deployed(answer: Answer): Promise<(...args: readonly string[]) => Promise<Said>> {
  const server = createServer(async (incoming, outgoing) => {
    const response = answer(incoming);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const env = { LAYOVER_URL: `http://127.0.0.1:${port}`, LAYOVER_KEY: "lok_x.y" };
  return async (...args) => await layover(args, { env });
}

/** Everything but line ends that a terminal obeys, or shows as nothing. No colours: nobody looks. */
const obeyed = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;
const commands = [
  ["runs"],
  ["show", runId],
  ["show", runId, "--full"],
  ["show", `${evil}/o1`],
  ["start", "order"],
  ["signal", "order/o1", "go"],
  ["doctor"],
];

describe("what others wrote does nothing to the terminal", () => {
  test.each<[string, Answer]>([
    ["of a run", namedEvil],
    ["of an error that layover has", failing("invalid_request")],
    ["of a refusal", failing("unauthorized")],
    ["of an error that is unknown here", failing(evil)],
    ["in a value that is misread", () => new Response(evil, { headers: { "content-type": "application/json" } })],
  ])("%s", async (_, answer) => {
    const ask = await deployed(answer);
    const all = [...commands, ...commands.map((args) => [...args, "--json"])];
    for (const { stdout, stderr } of await Promise.all(all.map(async (args) => await ask(...args)))) {
      expect(stdout).not.toMatch(obeyed);
      expect(stderr).not.toMatch(obeyed);
      expect(stdout + stderr).not.toMatch(/^Revoked/m);
    }
  });

  test("but is shown escaped to people, and told whole to programs", async () => {
    const ask = await deployed(namedEvil);
    const [listed, shown, told] = await Promise.all([ask("runs"), ask("show", runId), ask("runs", "--json")]);
    expect(listed.stdout).toContain("a\\u001b[2J");
    expect(listed.stdout).toContain("\\u202e\\u007f \\u200b Revoked\\udb40\\udc41\n");
    expect(shown.stdout).toMatch(/^a\\u001b\[2J.*@1 blocked\n/);
    const page = { runs: [{ workflow: evil, input: { [evil]: evil } }, {}], cursor: evil };
    expect(JSON.parse(told.stdout)).toMatchObject(page);
  });
});

test("an error of the command's own shows what was typed without obeying it", async () => {
  const said = await Promise.all([layover([evil]), layover(["dev", evil]), layover(["init", "--on", evil])]);
  for (const { stdout, stderr, status } of said) {
    expect({ stdout, status }).toEqual({ stdout: "", status: 1 });
    expect(stderr).not.toMatch(obeyed);
    expect(stderr).toContain("\\u001b[2J");
  }
});
