/**
 * The order's story, on any host: it dies in the middle of a charge, and again while the run waits for a person; the run
 * goes on both times. Whatever is not as told is thrown.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Follower, type Look } from "./follower.ts";
import type { Host } from "./host.ts";
import { paint, type Screen } from "./screen.ts";
import { type Bar, drawTimeline, type Lane } from "./timeline.ts";
import type { World } from "./world.ts";

const items = ["lamp", "desk", "chair"];

interface Stage {
  readonly screen: Screen;
  readonly world: World;
  readonly host: Host;
}

export class Story {
  readonly #screen: Screen;
  readonly #world: World;
  readonly #host: Host;
  /** Each time that the host was there. */
  readonly #lives: Bar[] = [];
  #livesSince = Number.NaN;

  constructor({ screen, world, host }: Stage) {
    this.#screen = screen;
    this.#world = world;
    this.#host = host;
  }

  async play(): Promise<void> {
    const screen = this.#screen;
    const world = this.#world;
    const host = this.#host;
    const { words } = host;
    screen.plain(paint("bold", `layover demo: ${words.title}`));

    screen.act(words.begins[0]);
    await this.#begin();

    screen.act("An order comes in");
    const input = { customer: "Ada", amount: 42, items, address: { street: "1 Rose St", city: "London" } };
    const started = await host.api("POST", "/v1/workflows/order/runs", { id: "order-1", input });
    check(started.status === 201, `POST …/runs answers 201, not ${JSON.stringify(started)}`);
    const runId = String(started.body["runId"]);
    const run = new Follower(screen, host, runId);
    screen.say("do", `POST /v1/workflows/order/runs → 201, run ${runId}`);
    await this.#untilAsked("charge", 1);
    screen.say("wait", "charge: the payment provider took the money, its answer is on the way");
    await delay(500);
    const lostFrom = world.asked("charge")[0]?.at ?? Number.NaN;
    const firstKill = await this.#kill("in the middle of the charge; the answer has nowhere to go");
    check(world.asked("charge").length === 1, "the charge has begun once");

    screen.act(words.begins[1]);
    await this.#begin();
    await this.#untilAsked("charge", 2);
    screen.say("wait", "charge: asked again, with the same idempotency key");
    await run.until("the run waits for a person", ({ pending }) => pending.some(({ kind }) => kind === "callback"));
    const [url = ""] = await host.untilSaid(/http:[\w.:/-]+\/callbacks\/[\w.-]+/);
    screen.say("wait", `approval: waits for a person, for three days if need be. ${paint("dim", shortened(url))}`);
    await this.#kill("while it waits. For a second nobody is there at all");
    await delay(1_000);

    screen.act(words.begins[2]);
    await this.#begin();
    await this.#resolveByPage(run, url);
    const address = { street: "1 Main St", city: "Turin" };
    const signal = await host.api("POST", `/v1/runs/${runId}/signals/address`, { payload: address });
    check(signal.status === 202, `the signal is accepted, not ${JSON.stringify(signal)}`);
    screen.say("do", "POST …/signals/address → 202: the customer has moved. It is kept until the run looks");
    const last = await run.until("the run is over", ({ status }) => status === "completed");
    const result = await host.api("GET", `/v1/runs/${runId}/result`);
    screen.say("ok", paint("bold", `completed: ${JSON.stringify(result.body["result"])}`));
    this.#lives.push({ beganAt: this.#livesSince, endedAt: Date.now(), kind: "up" });
    await host.end();

    screen.act("What happened, by the run's own history");
    const lost: Bar = { beganAt: lostFrom, endedAt: firstKill, kind: "lost" };
    screen.plain(drawTimeline([{ name: words.one, bars: this.#lives }, ...lanesOf(last, lost)]));

    screen.act("What happened outside");
    screen.plain(
      `  charge   asked ${world.asked("charge").length} times, done ${paint("bold", `${this.#done("charge")} time`)}`,
    );
    for (const item of items)
      screen.plain(`  parcel   ${item.padEnd(5)} sent ${paint("bold", `${this.#done("parcel", item)} time`)}`);
    host.account?.();
    const asked = world.asked("charge").length;
    check(asked === 2 && this.#done("charge") === 1, "the charge is asked for twice and done once");
    for (const item of items) check(this.#done("parcel", item) === 1, `the parcel with the ${item} is sent once`);
    check(JSON.stringify(result.body["result"]).includes("Turin"), "the parcels went to the new address");
    const seconds = screen.seconds.toFixed(1);
    screen.plain(
      `\n${paint("green", "✓")} one run, ${words.three}, ${seconds} s; nothing was lost, nothing was done twice`,
    );
  }

  async #begin(): Promise<void> {
    await this.#host.begin();
    this.#livesSince = Date.now();
  }

  /** Answers when. */
  async #kill(when: string): Promise<number> {
    this.#screen.say("kill", paint("red", `kill -9 ${this.#host.pid} ${when}`));
    const endedAt = Date.now();
    await this.#host.kill();
    this.#lives.push({ beganAt: this.#livesSince, endedAt, kind: "killed" });
    return endedAt;
  }

  /** As a browser would: opens the page, then sends its form. */
  async #resolveByPage(run: Follower, url: string): Promise<void> {
    const page = await fetch(url);
    const html = await page.text();
    const action = /<form method="post" action="([^"]+)">/.exec(html)?.[1];
    check(
      page.status === 200 && action !== undefined,
      `GET of the callback's URL shows a page with a form, not ${html}`,
    );
    const { status } = await run.look();
    check(status === "waiting", `opening the page answers nothing: the run is still waiting, not ${status}`);
    this.#screen.say("do", `GET ${shortened(url)} → 200, a page with a button. The run still waits`);
    const form = new URLSearchParams({ payload: '{"ok": true}' });
    const sent = await fetch(new URL(action ?? "", url), { method: "POST", body: form });
    check(sent.status === 200, `the form is accepted, not ${sent.status} ${await sent.text()}`);
    this.#screen.say("do", 'POST of its form, {"ok": true} → 200');
  }

  #done(kind: string, item?: string): number {
    return this.#world
      .asked(kind)
      .filter((effect) => effect.isNew && (item === undefined || effect.details["item"] === item)).length;
  }

  async #untilAsked(kind: string, times: number): Promise<void> {
    const givenUpAt = Date.now() + 15_000;
    const asked = () => this.#world.asked(kind).length;
    while (asked() < times) {
      check(Date.now() < givenUpAt, `${kind} is asked for ${times} times, not ${asked()}, within 15 s`);
      await delay(20);
    }
  }
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

function shortened(url: string): string {
  return url.replace(/(\/callbacks\/.{10}).*/, "$1…");
}

function check(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what);
}
