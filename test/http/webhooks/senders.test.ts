/** Stripe, GitHub and Slack, as their documents say: what they give up, try again and send in another order, and what is lost. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../postgres/clock.ts";
import { testDatabase } from "../../postgres/database.ts";
import { isWhole } from "../../size.ts";
import { type Fate, Post, type PostOptions, troubles } from "./a-post.ts";
import { type Happening, senders } from "./senders.ts";

const database = testDatabase();
let clock: Clock;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  clock = await database.turnClock();
});
afterAll(() => {
  vi.useRealTimers();
});

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const types = ["paid", "moved", "noted"] as const;
const happenings = Array.from({ length: 12 }, (_, index): Happening => {
  const type = types[index % types.length] ?? "noted";
  return { id: `h${index + 1}`, type, order: `o${Math.floor(index / types.length)}` };
});
const [paid, moved, noted] = happenings as [Happening, Happening, Happening];
const each = (count: number, ...of: readonly Happening[]) => Object.fromEntries(of.map(({ id }) => [id, count]));

/** The database is away until this time. */
const awayUntil =
  (untilMs: number) =>
  (ms: number): Fate =>
    ms < untilMs ? "away" : "passes";

async function played(options: PostOptions, ...sent: readonly Happening[]): Promise<Post> {
  const post = await Post.begin(database, clock, options);
  for (const happening of sent) post.send(happening);
  await post.play();
  return post;
}

/** The name under which a delivery is kept. */
const keptAs = (sender: keyof typeof senders, { id }: Happening) => (sender === "github" ? `1:${id}` : id);

const seeds = Array.from({ length: isWhole ? 12 : 2 }, (_, index) => index + 1);
const ways = (["stripe", "github", "slack"] as const).flatMap((sender) =>
  (["after", "before"] as const).map((respond) => ({ sender, respond })),
);

describe.each(ways)("what $sender sends, answered $respond", ({ sender: name, respond }) => {
  const sender = senders[name];

  test.each(seeds)("is done once if it was answered, whatever fails on the way: seed %i", async (seed) => {
    const { chance, fateOf } = troubles(seed);
    const brokenFrom = chance.below(10) * minuteMs;
    const isBroken = (ms: number) => seed % 2 === 0 && ms >= brokenFrom && ms < brokenFrom + 7 * minuteMs;
    const isQueueAway = () => chance.below(4) === 0;
    const post = await Post.begin(database, clock, { sender, respond, fateOf, isBroken, isQueueAway });
    for (const happening of happenings) {
      post.send(happening, chance.below(20) * 30_000);
      if (chance.below(4) === 0) post.send(happening, chance.below(30) * 30_000); // sent twice
    }
    await post.play();
    const done = await post.done();
    const rows = new Map((await post.deliveries()).map((row) => [row.id, row]));
    const open = new Set((await post.deliveries("&open=true")).map(({ id }) => id));
    for (const happening of happenings) {
      const { id } = happening;
      const row = rows.get(keptAs(name, happening));
      const isDone = row?.outcome === "done" || row?.outcome === "waiting";
      expect([id, done[id] ?? 0]).toEqual([id, isDone ? 1 : 0]);
      if (isDone && !isBroken(brokenFrom)) expect([id, row.attempts]).toEqual([id, 1]);
      if (post.answered.has(id)) expect([id, isDone]).toEqual([id, true]);
      else expect([id, row === undefined || isDone || open.has(row.id)]).toEqual([id, true]);
    }
    expect(post.deleted).toBe(0);
  });

  test("and never done, since the code threw, is shown, and done when it is played again after the fix", async () => {
    let isFixed = false;
    const post = await played({ sender, respond, isBroken: () => !isFixed }, noted);
    expect([...post.givenUp.keys()]).toEqual([noted.id]);
    expect(await post.deliveries("&open=true")).toMatchObject([{ id: keptAs(name, noted), outcome: "failed" }]);
    isFixed = true;
    expect(await post.replay(keptAs(name, noted))).toBe("done");
    expect(await post.done()).toEqual(each(1, noted));
  });
});

describe("Stripe", () => {
  test.each([1, 30, 60])(
    "loses nothing while the database is away for %i hours, in whatever order it sends",
    async (hours) => {
      const post = await played(
        { sender: senders.stripe, respond: "after", fateOf: awayUntil(hours * hourMs) },
        moved,
        noted,
        paid,
      );
      expect(post.givenUp.size).toBe(0);
      expect(await post.done()).toEqual(each(1, paid, moved, noted));
    },
  );

  test("gives up after three days. Nothing shows that here, but it can be sent again by hand", async () => {
    const fateOf = awayUntil(73 * hourMs);
    const post = await played({ sender: senders.stripe, respond: "after", fateOf }, noted);
    expect([post.givenUp.size, await post.deliveries(), await post.done()]).toEqual([1, [], {}]);
    post.send(noted, 80 * hourMs);
    await post.play();
    expect([post.givenUp.size, await post.done()]).toEqual([0, each(1, noted)]);
  });
});

describe("GitHub", () => {
  test("answered after, has a delivery failed while the database is away. It is done once when it is delivered again", async () => {
    const post = await played({ sender: senders.github, respond: "after", fateOf: awayUntil(minuteMs) }, noted);
    expect([post.givenUp.size, await post.deliveries()]).toEqual([1, []]);
    for (const again of [1, 2]) post.send(noted, again * hourMs);
    await post.play();
    expect([post.givenUp.size, await post.done()]).toEqual([0, each(1, noted)]);
  });

  test.each([11, 100])("answered before, loses nothing while the database is away for %i hours", async (hours) => {
    const fateOf = awayUntil(hours * hourMs);
    const post = await played({ sender: senders.github, respond: "before", fateOf }, moved, noted, paid);
    expect([post.answered.size, post.deleted, await post.done()]).toEqual([3, 0, each(1, paid, moved, noted)]);
  });

  test("answered before, is answered after where the queue takes nothing; where the database is away too, it is told so", async () => {
    const isQueueAway = () => true;
    const well = await played({ sender: senders.github, respond: "before", isQueueAway }, noted);
    expect([well.answered.size, await well.done()]).toEqual([1, each(1, noted)]);
    const fateOf = awayUntil(minuteMs);
    const badly = await played({ sender: senders.github, respond: "before", isQueueAway, fateOf }, noted);
    expect([badly.givenUp.size, await badly.done()]).toEqual([1, {}]);
  });
});

describe("Slack", () => {
  test("answered after, tries four times within some six minutes", async () => {
    const fateOf = awayUntil(5 * minuteMs);
    const post = await played({ sender: senders.slack, respond: "after", fateOf }, noted);
    expect([post.retryNumbers, await post.done()]).toEqual([[null, "1", "2", "3"], each(1, noted)]);
  });

  test("answered after, loses what the database is away for longer than that, and nothing shows it here", async () => {
    const fateOf = awayUntil(10 * minuteMs);
    const post = await played({ sender: senders.slack, respond: "after", fateOf }, noted);
    expect([post.givenUp.size, await post.deliveries(), await post.done()]).toEqual([1, [], {}]);
  });

  test("answered before, loses nothing then", async () => {
    const fateOf = awayUntil(11 * hourMs);
    const post = await played({ sender: senders.slack, respond: "before", fateOf }, moved, noted, paid);
    expect([post.retryNumbers, await post.done()]).toEqual([[null, null, null], each(1, paid, moved, noted)]);
  });

  test("does not wait for a statement that is under way, and sends again: it is done once", async () => {
    const fates: Fate[] = ["held", "mute"];
    const fateOf = () => fates.shift() ?? "passes";
    const post = await played({ sender: senders.slack, respond: "after", fateOf }, noted);
    expect([post.retryNumbers, post.answered.size, await post.done()]).toEqual([[null, "1", "2"], 1, each(1, noted)]);
  });
});
