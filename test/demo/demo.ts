/**
 * `npm run demo`: an order outlives its server, twice. Plays the story with a real server (`layover dev`), which it
 * kills with SIGKILL in the middle of a charge and again while the run waits for a person; checks what it tells, and
 * exits with 1 if anything is not as told.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DevServer } from "../platform/dev-server.ts";
import { Follower, type Look } from "./follower.ts";
import { paint, Screen } from "./screen.ts";
import { type Bar, drawTimeline, type Lane } from "./timeline.ts";
import { openWorld } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "layover-demo-"));
const data = join(folder, "data");
const items = ["lamp", "desk", "chair"];
const screen = new Screen();
const world = await openWorld();
/** Each time that a server was there. */
const lives: Bar[] = [];
let server: DevServer | undefined;
let leaving: Promise<never> | undefined;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => void leave(130));
}

try {
  await play();
  await leave(0);
} catch (error) {
  if (leaving === undefined) complain(error);
  await leave(1);
}

async function play(): Promise<void> {
  screen.plain(paint("bold", "layover demo: an order outlives its server, twice"));

  screen.act("A server, and Postgres in a folder");
  let life = await begin();

  screen.act("An order comes in");
  const input = { customer: "Ada", amount: 42, items, address: { street: "1 Rose St", city: "London" } };
  const started = await life.server.api("POST", "/v1/workflows/order/runs", { id: "order-1", input });
  check(started.status === 201, `POST …/runs answers 201, not ${JSON.stringify(started)}`);
  const runId = String(started.body["runId"]);
  const run = new Follower(screen, runId);
  screen.say("do", `POST /v1/workflows/order/runs → 201, run ${runId}`);
  await untilAsked("charge", 1);
  screen.say("wait", "charge: the payment provider took the money, its answer is on the way");
  await delay(500);
  const lostFrom = world.asked("charge")[0]?.at ?? Number.NaN;
  const firstKill = await end(life, "in the middle of the charge; the answer has nowhere to go");
  check(world.asked("charge").length === 1, "the charge has begun once");

  screen.act("The same folder, another server: nobody tells the run to go on");
  life = await begin(life);
  await untilAsked("charge", 2);
  screen.say("wait", "charge: asked again, with the same idempotency key");
  await run.until(life.server, "the run waits for a person", ({ pending }) => isPending(pending, "callback"));
  const [url = ""] = await life.server.untilSaid(/http:\S+\/callbacks\/[\w.-]+/);
  screen.say("wait", `approval: waits for a person, for three days if need be. ${paint("dim", shortened(url))}`);
  await end(life, "while it waits. For a second nobody is there at all");
  await delay(1_000);

  screen.act("A third server, and a person with a browser");
  life = await begin(life);
  await resolveByPage(life.server, run, url);
  const address = { street: "1 Main St", city: "Turin" };
  const signal = await life.server.api("POST", `/v1/runs/${runId}/signals/address`, { payload: address });
  check(signal.status === 202, `the signal is accepted, not ${JSON.stringify(signal)}`);
  screen.say("do", "POST …/signals/address → 202: the customer has moved. It is kept until the run looks");
  const last = await run.until(life.server, "the run is over", ({ status }) => status === "completed");
  const result = await life.server.api("GET", `/v1/runs/${runId}/result`);
  screen.say("ok", paint("bold", `completed: ${JSON.stringify(result.body["result"])}`));
  await stop(life);

  screen.act("What happened, by the run's own history");
  const lost: Bar = { beganAt: lostFrom, endedAt: firstKill, kind: "lost" };
  screen.plain(drawTimeline([{ name: "server", bars: lives }, ...lanesOf(last, lost)]));

  screen.act("What happened outside");
  screen.plain(
    `  charge   asked ${world.asked("charge").length} times, done ${paint("bold", `${done("charge")} time`)}`,
  );
  for (const item of items)
    screen.plain(`  parcel   ${item.padEnd(5)} sent ${paint("bold", `${done("parcel", item)} time`)}`);
  check(world.asked("charge").length === 2 && done("charge") === 1, "the charge is asked for twice and done once");
  for (const item of items) check(done("parcel", item) === 1, `the parcel with the ${item} is sent once`);
  check(JSON.stringify(result.body["result"]).includes("Turin"), "the parcels went to the new address");
  screen.plain(
    `\n${paint("green", "✓")} one run, three servers, ${screen.seconds.toFixed(1)} s; nothing was lost, nothing was done twice`,
  );
}

/** A server that is there, and since when. */
interface Life {
  readonly server: DevServer;
  readonly beganAt: number;
}

/** On the port of the one before, so that a URL that was given away stays good. */
async function begin(before?: Life): Promise<Life> {
  const at = Date.now();
  screen.say("do", `layover dev --data ${data}`);
  const port = before?.server.port ?? 0;
  const begun = new DevServer({ data, port, env: { EFFECTS_URL: world.url } });
  server = begun;
  await begun.listening();
  screen.say("note", `ready at ${begun.url} after ${((Date.now() - at) / 1_000).toFixed(1)} s`);
  return { server: begun, beganAt: Date.now() };
}

/** Answers when. */
async function end({ server, beganAt }: Life, when: string): Promise<number> {
  screen.say("kill", paint("red", `kill -9 ${server.pid} ${when}`));
  const endedAt = Date.now();
  await server.kill("SIGKILL");
  lives.push({ beganAt, endedAt, kind: "killed" });
  return endedAt;
}

async function stop({ server, beganAt }: Life): Promise<void> {
  lives.push({ beganAt, endedAt: Date.now(), kind: "up" });
  await server.kill("SIGTERM");
}

/** As a browser would: opens the page, then sends its form. */
async function resolveByPage(server: DevServer, run: Follower, url: string): Promise<void> {
  const page = await fetch(url);
  const html = await page.text();
  const action = /<form method="post" action="([^"]+)">/.exec(html)?.[1];
  check(page.status === 200 && action !== undefined, `GET of the callback's URL shows a page with a form, not ${html}`);
  const { status } = await run.look(server);
  check(status === "waiting", `opening the page answers nothing: the run is still waiting, not ${status}`);
  screen.say("do", `GET ${shortened(url)} → 200, a page with a button. The run still waits`);
  const form = new URLSearchParams({ payload: '{"ok": true}' });
  const sent = await fetch(new URL(action ?? "", url), { method: "POST", body: form });
  check(sent.status === 200, `the form is accepted, not ${sent.status} ${await sent.text()}`);
  screen.say("do", 'POST of its form, {"ok": true} → 200');
}

function lanesOf({ records, createdAt }: Look, lost: Bar): readonly Lane[] {
  return records.map(({ path, kind, beganAt, recordedAt }, index) => {
    const began = beganAt ?? records[index - 1]?.recordedAt ?? createdAt;
    const bar: Bar = { beganAt: began, endedAt: recordedAt, kind: kind === "step" ? "work" : "wait" };
    return path === "charge"
      ? { name: path, bars: [lost, bar], remark: "begun twice, recorded once" }
      : { name: path, bars: [bar] };
  });
}

function isPending(pending: Look["pending"], kind: string): boolean {
  return pending.some((wait) => wait.kind === kind);
}

function done(kind: string, item?: string): number {
  return world.asked(kind).filter((effect) => effect.isNew && (item === undefined || effect.details["item"] === item))
    .length;
}

async function untilAsked(kind: string, times: number): Promise<void> {
  const givenUpAt = Date.now() + 15_000;
  while (world.asked(kind).length < times) {
    check(Date.now() < givenUpAt, `${kind} is asked for ${times} times, not ${world.asked(kind).length}, within 15 s`);
    await delay(20);
  }
}

function shortened(url: string): string {
  return url.replace(/(\/callbacks\/.{10}).*/, "$1…");
}

function check(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what);
}

function complain(error: unknown): void {
  const said = server?.output.slice(-2_000) ?? "nothing";
  console.error(`\n${paint("red", "This is not as told:")} ${String(error)}\n\nThe server said: …${said}`);
}

/** Leaves no process and no folder behind, once, whoever asks. */
function leave(code: number): Promise<never> {
  leaving ??= (async () => {
    if (server?.isRunning) await server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
    process.exit(code);
  })();
  return leaving;
}
