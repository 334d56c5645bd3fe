/**
 * The story of a refund, on any host: the order is cancelled while it waits for a person, and the host dies in the middle
 * of the refund. The run goes on with its undo. Whatever is not as told is thrown.
 */
import { setTimeout as delay } from "node:timers/promises";
import { paint } from "./screen.ts";
import { check, type Stage } from "./stage.ts";
import { type Bar, drawTimeline, lanesOf } from "./timeline.ts";

export async function playSaga(stage: Stage): Promise<void> {
  const { screen, world, host } = stage;
  const { words } = host;
  screen.plain(paint("bold", `layover demo: ${words.titles.saga}`));

  await stage.begin(words.begins[0]);
  const run = await stage.order();
  await run.until("the run waits for a person", ({ pending }) => pending.some(({ kind }) => kind === "callback"));

  screen.act("The customer cancels");
  const reason = "the customer has changed her mind";
  const cancelled = await host.api("POST", `/v1/runs/${run.runId}/cancel`, { reason });
  check(cancelled.status === 200, `the cancel is accepted, not ${JSON.stringify(cancelled)}`);
  screen.say("do", `POST …/cancel → 200: ${reason}`);
  await stage.untilAsked("refund", 1);
  screen.say("wait", "refund: the payment provider gave the money back, its answer is on the way");
  await delay(500);
  const { status } = await run.look();
  check(status === "compensating", `the run undoes what it did, and is not ${status}`);
  const lostFrom = world.asked("refund")[0]?.at ?? Number.NaN;
  const killedAt = await stage.kill("in the middle of the refund; the answer has nowhere to go");

  await stage.begin(words.begins[1]);
  await stage.untilAsked("refund", 2);
  screen.say("wait", "refund: asked again, with the same idempotency key");
  const last = await run.until("the run is over", ({ status }) => status === "cancelled");
  const { body } = await host.api("GET", `/v1/runs/${run.runId}`);
  const undos = JSON.stringify(body["undos"]);
  screen.say("ok", paint("bold", `cancelled, undos: ${undos}`));
  await stage.end();

  screen.act("What happened, by the run's own history");
  const lost: Bar = { beganAt: lostFrom, endedAt: killedAt, kind: "lost" };
  screen.plain(drawTimeline([{ name: words.one, bars: stage.lives }, ...lanesOf(last, { "[undo]/charge": lost })]));

  screen.act("What happened outside");
  for (const [kind, times] of [
    ["charge", 1],
    ["refund", 2],
  ] as const) {
    const asked = world.asked(kind).length;
    const done = stage.done(kind);
    screen.plain(
      `  ${kind}   asked ${asked === 1 ? "1 time" : `${asked} times`}, done ${paint("bold", `${done} time`)}`,
    );
    check(asked === times && done === 1, `the ${kind} is asked for ${times} times and done once`);
  }
  check(world.asked("parcel").length === 0, "no parcel is sent");
  host.account?.();
  check(
    undos === JSON.stringify({ owed: 1, done: 1, failed: 0 }),
    `the run tells of one undo, which is done: ${undos}`,
  );
  const seconds = screen.seconds.toFixed(1);
  screen.plain(`\n${paint("green", "✓")} one run, ${words.two}, ${seconds} s; what was charged once was refunded once`);
}
