/** Deliveries of webhooks: each is done once, and a signal that comes before its run gets to it. */
import { beforeEach, describe, expect, test } from "vitest";
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon, soon, terms, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hours = 60 * minute;
const expires = noon + 96 * hours;
let made = 0;
const newId = () => `00000000-0000-7000-8000-${String(++made).padStart(12, "0")}`;

const starting = (id: string, input = "0null"): DeedCall => ({
  runId: newId(),
  workflow: "order",
  version: 1,
  id,
  encodedInput: input,
});
const signalling = (id: string, payload = '0"here"'): DeedCall => ({
  workflow: "order",
  id,
  signalId: newId(),
  name: "address",
  encodedPayload: payload,
});

describeSomePostgres(
  "a delivery",
  (database) => {
    const stage = stageOn(database);
    const receive = (by: Session, delivery: string, deeds: readonly DeedCall[], more: object = {}) =>
      by.call("receive_delivery", { webhook: "shop", delivery, deeds, armed: [soon, expires], event: "{}", ...more });
    const runs = () => stage.look("select user_id as id from layover.run order by user_id");
    const signals = () =>
      stage.look(
        "select r.user_id as id, g.payload from layover.signal g join layover.run r on r.id = g.run_id order by g.number",
      );
    const kept = () => stage.look("select user_id as id, payload from layover.kept_signal order by number");
    const sendKept = (by: Session) => by.call("send_kept_signals", { limit: 500, armed: [soon] });
    const claim = async (by: Session, ...ids: readonly string[]) => {
      const rows = await by.query("select id from layover.run where user_id = any ($1) order by id desc", [ids]);
      const turns = rows.map(({ id }) => ({ runId: id, turn: 1, token: tokenOf(String(id)), alone: false }));
      return (await by.call("claim_turns", { ...terms, versions: { order: [1] }, turns })).turns;
    };
    beforeEach(() => {
      made = 0;
    });

    test("that comes twice at once is done by the one that comes first; the other waits and does nothing", async () => {
      const [one, other] = await stage.collide({
        first: (session) => receive(session, "d1", [starting("a")]),
        second: (session) => receive(session, "d1", [starting("b")]),
      });
      expect([one.outcome, other.outcome]).toEqual(["done", "duplicate"]);
      expect(await runs()).toEqual([{ id: "a" }]);
    });

    test("whose first receiver dies is done by the second, at the instant at which that no longer waits", async () => {
      const [, other] = await stage.collide({
        first: (session) => receive(session, "d1", [starting("a")]),
        second: (session) => receive(session, "d1", [starting("b")]),
        meanwhile: () => stage.clock.set(soon),
        ends: "rollback",
      });
      expect(other).toMatchObject({ outcome: "done", now: soon });
      expect(await stage.look("select decided_at from layover.delivery")).toEqual([{ decided_at: new Date(soon) }]);
      expect(await runs()).toEqual([{ id: "b" }]);
    });

    test("that was refused, and comes twice at once, is done by the one that comes first", async () => {
      await receive(stage.onlooker, "d1", [], { refused: "too new" });
      const [one, other] = await stage.collide({
        first: (session) => receive(session, "d1", [starting("a")]),
        second: (session) => receive(session, "d1", [starting("b")]),
      });
      expect([one.outcome, other.outcome]).toEqual(["done", "duplicate"]);
      expect(await runs()).toEqual([{ id: "a" }]);
    });

    test("that is pruned while it comes again is a new one", async () => {
      await receive(stage.onlooker, "d1", [starting("a")]);
      const pruner = await stage.hold("select from layover.delivery where id = 'd1' for update");
      const receiver = await stage.session("receiver");
      const answer = receive(receiver, "d1", [starting("b")]);
      await receiver.untilBlocked(pruner);
      await pruner.query("delete from layover.delivery");
      await pruner.commit();
      expect(await answer).toMatchObject({ outcome: "done", delivery: "d1" });
      expect(await receive(stage.onlooker, "d1", [starting("c")])).toMatchObject({ outcome: "duplicate" });
      expect(await runs()).toEqual([{ id: "a" }, { id: "b" }]);
    });

    test.each([
      ["starts", starting],
      ["signals", signalling],
    ])("and another one with the same %s in another order do not wait for each other in a circle", async (_, make) => {
      if (make === signalling) await receive(stage.onlooker, "d0", [starting("a"), starting("b")]);
      const [one, other] = await stage.collide({
        first: (session) => receive(session, "d1", [make("a"), make("b")]),
        second: (session) => receive(session, "d2", [make("b"), make("a")]),
      });
      expect([one.outcome, other.outcome]).toEqual(["done", "done"]);
      expect(await runs()).toEqual([{ id: "a" }, { id: "b" }]);
    });

    test("is refused as a whole, and leaves nothing behind but the reason", async () => {
      await receive(stage.onlooker, "d0", [starting("b", '0"other"')]);
      const answer = await receive(stage.onlooker, "d1", [starting("a"), signalling("c"), starting("b")]);
      expect(answer).toMatchObject({ outcome: "refused", deeds: [], turns: [] });
      expect([await runs(), await kept()]).toEqual([[{ id: "b" }], []]);
      expect(await receive(stage.onlooker, "d1", [starting("a")])).toMatchObject({ outcome: "done" });
      expect(await stage.look("select id, outcome, attempts from layover.delivery order by id")).toEqual([
        { id: "d0", outcome: "done", attempts: 1 },
        { id: "d1", outcome: "done", attempts: 2 },
      ]);
    });

    test("with a body that came before under another id does nothing, for as long as its sender says", async () => {
      const mac = { bodyMac: "m", bodyWindowMs: 10 * minute };
      await receive(stage.onlooker, "d1", [starting("a")], mac);
      expect(await receive(stage.onlooker, "d2", [starting("b")], mac)).toMatchObject({
        outcome: "duplicate",
        delivery: "d1",
      });
      await stage.clock.advance(10 * minute);
      expect(await receive(stage.onlooker, "d3", [starting("c")], mac)).toMatchObject({ outcome: "done" });
      expect(await runs()).toEqual([{ id: "a" }, { id: "c" }]);
    });

    test("of another webhook or namespace is another one", async () => {
      await receive(stage.onlooker, "d1", [starting("a")]);
      for (const more of [{ webhook: "other" }, { namespace: "other" }])
        expect(await receive(stage.onlooker, "d1", [starting("b")], more)).toMatchObject({ outcome: "done" });
    });

    describe("with a signal to a run that is not there", () => {
      const armed = { due_at: new Date(soon), expires_at: new Date(expires) };

      test("is kept, in order, until the first claim takes it: one run of a set as well", async () => {
        await receive(stage.onlooker, "d1", [signalling("a", "01"), signalling("b", "02")]);
        await receive(stage.onlooker, "d2", [signalling("a", "03")]);
        expect(await stage.look("select distinct due_at, expires_at from layover.kept_signal")).toEqual([armed]);
        await receive(stage.onlooker, "d3", [starting("c"), starting("a"), starting("d")]);
        const claimed = await claim(stage.onlooker, "a", "c", "d");
        expect(claimed.map(({ outcome }) => outcome)).toEqual(["claimed", "claimed", "claimed"]);
        const offered = claimed.flatMap((turn) => ("signals" in turn ? (turn.signals ?? []) : []));
        expect(offered.map(({ payload }) => payload)).toEqual(["01", "03"]);
        expect(await kept()).toEqual([{ id: "b", payload: "02" }]);
      });

      test("gets to the run whose first claim came before it was kept, when the scheduler looks", async () => {
        const receiver = await stage.session("receiver");
        await receiver.begin();
        expect(await receive(receiver, "d1", [signalling("a")])).toMatchObject({ deeds: [{ signal: "kept" }] });
        await receive(stage.onlooker, "d2", [starting("a")]);
        await claim(stage.onlooker, "a");
        await receiver.commit();
        expect(await signals()).toEqual([]);
        await stage.clock.set(soon);
        const listed = await stage.onlooker.call("list_due", { limit: 10, versions: { order: [1] }, isNew: false });
        expect(listed).toMatchObject({ kept: { expiresAt: expires } });
        expect(await sendKept(stage.onlooker)).toMatchObject({ turns: [], left: [], isMore: false });
        expect(await signals()).toEqual([{ id: "a", payload: '0"here"' }]);
        expect(await kept()).toEqual([]);
      });

      test("is looked at again when it expires, if nobody has started the run", async () => {
        await receive(stage.onlooker, "d1", [signalling("a")]);
        const listing = { limit: 10, versions: { order: [1] }, isNew: false };
        expect(await stage.onlooker.call("list_due", listing)).toMatchObject({ nextDueAt: soon, kept: null });
        await stage.clock.set(soon);
        await sendKept(stage.onlooker);
        expect(await stage.onlooker.call("list_due", listing)).toMatchObject({ nextDueAt: expires, kept: null });
        await stage.clock.set(expires);
        expect(await stage.onlooker.call("list_due", listing)).toMatchObject({ kept: { expiresAt: null } });
        expect(await sendKept(stage.onlooker)).toMatchObject({
          left: [{ webhook: "shop", delivery: "d1", outcome: "expired" }],
        });
        expect(await kept()).toEqual([]);
        expect(await stage.look("select outcome, reason from layover.delivery")).toEqual([
          { outcome: "expired", reason: 'no run "a" of workflow order was started within 96 hours' },
        ]);
        expect(await receive(stage.onlooker, "d1", [signalling("a")])).toMatchObject({ outcome: "done" });
      });

      test("is taken once, by the claim or by the scheduler, whoever comes first", async () => {
        for (const [index, scheduler] of ["first", "second"].entries()) {
          const id = `r${index}`;
          const receiver = await stage.session(`receiver of ${id}`);
          await receive(stage.onlooker, `d1 ${id}`, [signalling(id)]);
          await receive(stage.onlooker, `d2 ${id}`, [starting(id)]);
          await receiver.close();
          await stage.clock.set(soon);
          const claiming = (session: Session) => claim(session, id);
          await stage.collide<unknown, unknown>({
            first: scheduler === "first" ? sendKept : claiming,
            second: scheduler === "first" ? claiming : sendKept,
          });
          expect((await signals()).filter((signal) => signal["id"] === id)).toHaveLength(1);
          await stage.clock.set(noon);
        }
      });

      test("that the run takes no more is refused, and the operator is told", async () => {
        await receive(stage.onlooker, "d1", [signalling("a")]);
        await receive(stage.onlooker, "d2", [starting("a")]);
        await stage.onlooker.query("update layover.run_state set closed = '{address}'");
        await stage.clock.set(soon);
        expect(await sendKept(stage.onlooker)).toMatchObject({
          left: [{ delivery: "d1", outcome: "refused", reason: expect.stringContaining("it has closed that signal") }],
        });
        expect(await kept()).toEqual([]);
      });
    });
  },
  { perTest: true },
);
