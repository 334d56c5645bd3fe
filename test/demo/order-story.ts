/**
 * The order's story, on any host: it dies in the middle of a charge, and again while the run waits for a person; the run
 * goes on both times. Whatever is not as told is thrown.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Follower } from "./follower.ts";
import { paint } from "./screen.ts";
import { check, items, type Stage } from "./stage.ts";
import { type Bar, drawTimeline, lanesOf } from "./timeline.ts";

export async function playOrder(stage: Stage): Promise<void> {
  const { screen, world, host } = stage;
  const { words } = host;
  screen.plain(paint("bold", `layover demo: ${words.titles.order}`));

  await stage.begin(words.begins[0]);
  const run = await stage.order();
  screen.say("wait", "charge: the payment provider took the money, its answer is on the way");
  await delay(500);
  const lostFrom = world.asked("charge")[0]?.at ?? Number.NaN;
  const firstKill = await stage.kill("in the middle of the charge; the answer has nowhere to go");
  check(world.asked("charge").length === 1, "the charge has begun once");

  await stage.begin(words.begins[1]);
  await stage.untilAsked("charge", 2);
  screen.say("wait", "charge: asked again, with the same idempotency key");
  await run.until("the run waits for a person", ({ pending }) => pending.some(({ kind }) => kind === "callback"));
  const [url = ""] = await host.untilSaid(/http:[\w.:/-]+\/callbacks\/[\w.-]+/);
  screen.say("wait", `approval: waits for a person, for three days if need be. ${paint("dim", shortened(url))}`);
  await stage.kill("while it waits. For a second nobody is there at all");
  await delay(1_000);

  await stage.begin(words.begins[2]);
  await resolveByPage(stage, run, url);
  const address = { street: "1 Main St", city: "Turin" };
  const signal = await host.api("POST", `/v1/runs/${run.runId}/signals/address`, { payload: address });
  check(signal.status === 202, `the signal is accepted, not ${JSON.stringify(signal)}`);
  screen.say("do", "POST …/signals/address → 202: the customer has moved. It is kept until the run looks");
  const last = await run.until("the run is over", ({ status }) => status === "completed");
  const result = await host.api("GET", `/v1/runs/${run.runId}/result`);
  screen.say("ok", paint("bold", `completed: ${JSON.stringify(result.body["result"])}`));
  await stage.end();

  screen.act("What happened, by the run's own history");
  const lost: Bar = { beganAt: lostFrom, endedAt: firstKill, kind: "lost" };
  screen.plain(drawTimeline([{ name: words.one, bars: stage.lives }, ...lanesOf(last, { charge: lost })]));

  screen.act("What happened outside");
  const asked = world.asked("charge").length;
  screen.plain(`  charge   asked ${asked} times, done ${paint("bold", `${stage.done("charge")} time`)}`);
  for (const item of items)
    screen.plain(`  parcel   ${item.padEnd(5)} sent ${paint("bold", `${stage.done("parcel", item)} time`)}`);
  host.account?.();
  check(asked === 2 && stage.done("charge") === 1, "the charge is asked for twice and done once");
  for (const item of items) check(stage.done("parcel", item) === 1, `the parcel with the ${item} is sent once`);
  check(JSON.stringify(result.body["result"]).includes("Turin"), "the parcels went to the new address");
  const seconds = screen.seconds.toFixed(1);
  screen.plain(
    `\n${paint("green", "✓")} one run, ${words.three}, ${seconds} s; nothing was lost, nothing was done twice`,
  );
}

/** As a browser would: opens the page, then sends its form. */
async function resolveByPage({ screen }: Stage, run: Follower, url: string): Promise<void> {
  const page = await fetch(url);
  const html = await page.text();
  const action = /<form method="post" action="([^"]+)">/.exec(html)?.[1];
  check(page.status === 200 && action !== undefined, `GET of the callback's URL shows a page with a form, not ${html}`);
  const { status } = await run.look();
  check(status === "waiting", `opening the page answers nothing: the run is still waiting, not ${status}`);
  screen.say("do", `GET ${shortened(url)} → 200, a page with a button. The run still waits`);
  const form = new URLSearchParams({ payload: '{"ok": true}' });
  const sent = await fetch(new URL(action ?? "", url), { method: "POST", body: form });
  check(sent.status === 200, `the form is accepted, not ${sent.status} ${await sent.text()}`);
  screen.say("do", 'POST of its form, {"ok": true} → 200');
}

function shortened(url: string): string {
  return url.replace(/(\/callbacks\/.{10}).*/, "$1…");
}
