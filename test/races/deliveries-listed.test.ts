/** Deliveries as people see them, and as they grow old: those of one namespace and webhook are no others. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo } from "./deeds.ts";
import { minute, noon, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const day = 24 * 60 * minute;
const expires = noon + 4 * day;
const elsewhere = { namespace: "elsewhere" };

describeSomePostgres(
  "deliveries",
  (database) => {
    const stage = stageOn(database);
    const receive = (delivery: string, more: object = {}) =>
      stage.onlooker.call("receive_delivery", {
        ...{ webhook: "shop", delivery, deeds: [], armed: [soon, expires], event: `"${delivery}"`, headers: "{}" },
        ...more,
      });
    const show = (delivery: string, more: object = {}) =>
      stage.onlooker.call("get_delivery", { webhook: "shop", delivery, ...more });

    describe("are listed", () => {
      const list = async (more: object = {}) => {
        const { deliveries } = await stage.onlooker.call("list_deliveries", { limit: 10, ...more });
        return deliveries.map(({ webhook, id }) => `${webhook} ${id}`);
      };
      const behind = (webhook: string, id: string, receivedAt = noon) => ({ before: { webhook, id, receivedAt } });
      /** Three of one instant, an older one, and one elsewhere. */
      const some = async () => {
        await receive("old", { refused: "no" });
        await stage.clock.advance(minute);
        for (const [webhook, id] of [
          ["shop", "b"],
          ["till", "a"],
          ["shop", "a"],
        ] as const)
          await receive(id, { webhook });
        await receive("a", { ...elsewhere, refused: "no" });
      };

      test("of their namespace, the newest first, and of one instant by webhook and id", async () => {
        await some();
        expect(await list()).toEqual(["till a", "shop b", "shop a", "shop old"]);
        expect(await list({ namespace: undefined })).toHaveLength(4);
        expect(await list(elsewhere)).toEqual(["shop a"]);
        expect(await list({ namespace: "nobody's" })).toEqual([]);
      });

      test("of one webhook, or those that were not carried out", async () => {
        await some();
        expect(await list({ webhook: "till" })).toEqual(["till a"]);
        expect(await list({ isOpen: true })).toEqual(["shop old"]);
        expect(await list({ isOpen: true, webhook: "till" })).toEqual([]);
      });

      test("a page at a time, each behind the last one of the page before", async () => {
        await some();
        expect(await list({ limit: 2 })).toEqual(["till a", "shop b"]);
        expect(await list({ limit: 2, ...behind("shop", "b", noon + minute) })).toEqual(["shop a", "shop old"]);
        expect(await list({ namespace: undefined, ...behind("shop", "a", noon + minute) })).toEqual(["shop old"]);
        expect(await list(behind("shop", "old"))).toEqual([]);
      });
    });

    describe("are shown", () => {
      test("by their namespace, webhook and id", async () => {
        await receive("d1");
        await receive("d2", { refused: "too new" });
        await receive("d1", { webhook: "till", event: '"of the till"' });
        await receive("d1", { ...elsewhere, event: '"elsewhere"' });
        expect(await show("d1")).toMatchObject({ id: "d1", event: "d1", headers: {}, outcome: "done", replays: [] });
        expect(await show("d1", { namespace: undefined })).toMatchObject({ event: "d1" });
        expect(await show("d1", { webhook: "till" })).toMatchObject({ webhook: "till", event: "of the till" });
        expect(await show("d1", elsewhere)).toMatchObject({ event: "elsewhere" });
        expect(await show("d2")).toMatchObject({ id: "d2", outcome: "refused", reason: "too new" });
        expect(await show("d3")).toEqual({ outcome: "unknown" });
      });

      test("with the number of their own signals that wait", async () => {
        await receive("d1", { deeds: [aSignalTo("a"), aSignalTo("b")] });
        await receive("d2", { deeds: [aSignalTo("a")] });
        await receive("d1", { webhook: "till", deeds: [aSignalTo("a")] });
        await receive("d1", { ...elsewhere, deeds: [aSignalTo("a")] });
        expect(await show("d1")).toMatchObject({ waiting: 2 });
        expect(await show("d2")).toMatchObject({ waiting: 1 });
      });
    });

    describe("that are old", () => {
      const prune = (more: object = {}) =>
        stage.onlooker.call("prune_runs", { keepMs: 1_000 * day, keepFailedMs: 1_000 * day, limit: 10, ...more });
      const left = async (where = "true") =>
        (await stage.look(`select namespace, id from layover.delivery where ${where} order by 1, 2`)).map(
          ({ namespace, id }) => (namespace === "default" ? id : `${id} ${namespace}`),
        );
      const withEvents = () => left("event is not null and headers is not null");
      /** Three of noon, one elsewhere, and one a millisecond later. */
      const some = async () => {
        for (const id of ["c", "b"]) {
          await receive(id);
          await stage.clock.advance(1);
        }
        await stage.clock.set(noon);
        await receive("a", elsewhere);
        await stage.clock.set(noon + 2);
        await receive("a");
      };

      test("lose their events after a week, and go after 30 days: at that very instant, and in their own namespace", async () => {
        await some();
        await stage.clock.set(noon + 7 * day + 1);
        await prune();
        expect(await withEvents()).toEqual(["a", "a elsewhere"]);
        expect(await left("headers is not null")).toEqual(["a", "a elsewhere"]);
        await stage.clock.set(noon + 30 * day + 1);
        await prune();
        expect(await left()).toEqual(["a", "a elsewhere"]);
      });

      test("do so a bounded number at once, the oldest ones first, and the caller is told whether there may be more", async () => {
        await some();
        await stage.clock.set(noon + 8 * day);
        expect(await prune({ limit: 1 })).toMatchObject({ isMore: true });
        expect(await withEvents()).toEqual(["a", "b", "a elsewhere"]);
        await prune({ limit: 1 }); // what has no event any more does not count
        expect(await withEvents()).toEqual(["a", "a elsewhere"]);
        expect(await prune({ limit: 2 })).toMatchObject({ isMore: false });
        await stage.clock.set(noon + 31 * day);
        expect(await prune({ limit: 1 })).toMatchObject({ isMore: true });
        expect(await left()).toEqual(["a", "b", "a elsewhere"]);
        expect(await prune({ limit: 3 })).toMatchObject({ isMore: false });
        expect(await left()).toEqual(["a elsewhere"]);
      });

      test("are left alone while somebody carries them out: nobody waits", async () => {
        await some();
        await stage.clock.set(noon + 8 * day);
        const replay = await stage.hold("select from layover.delivery where id = 'c' for update");
        await prune();
        expect(await withEvents()).toEqual(["c", "a elsewhere"]);
        await stage.clock.set(noon + 31 * day);
        await prune();
        expect(await left()).toEqual(["c", "a elsewhere"]);
        await replay.rollback();
      });
    });

    describe("keep no more signals", () => {
      const full = { webhook: "shop", outcome: "refused" };
      /** Has signals wait already. */
      const wait = async (count: number, payload: string, more: Readonly<Record<string, string>> = {}) => {
        const { namespace = "default", workflow = "flow", id = "'a'", webhook = "shop" } = more;
        await stage.look(
          `insert into layover.kept_signal (namespace, workflow, user_id, id, webhook, delivery, name, payload, kept_at, due_at, expires_at)
             select $1, $2, ${id}, gen_random_uuid(), $3, 'before', 'address', ${payload}, layover.now(), layover.now(), layover.now()
               from generate_series(1, $4::integer) as n`,
          [namespace, workflow, webhook, count],
        );
      };
      const keep = async (delivery: string, payload = "0null") => {
        const { outcome } = await receive(delivery, { deeds: [aSignalTo("a", payload)] });
        return { webhook: "shop", outcome };
      };

      test("than a hundred for a run: those of others do not count", async () => {
        await wait(100, "'0null'", elsewhere);
        await wait(100, "'0null'", { workflow: "other" });
        await wait(100, "'0null'", { id: "'b'" });
        await wait(99, "'0null'", { webhook: "till" });
        expect(await keep("d1")).toMatchObject({ outcome: "done" });
        expect(await keep("d2")).toEqual(full);
      });

      test("than bytes that fit into a run's mail", async () => {
        await wait(1, "repeat('x', 16777216 - 10)", { webhook: "till" });
        expect(await keep("d1", "0123456789x")).toEqual(full);
        expect(await keep("d2", "0123456789")).toMatchObject({ outcome: "done" });
      });

      test("than ten thousand of a webhook: those of others do not count", async () => {
        await wait(10_000, "'0null'", { ...elsewhere, id: "n::text" });
        await wait(10_000, "'0null'", { webhook: "till", id: "n::text || 't'" });
        await wait(9_999, "'0null'", { id: "n::text || 's'" });
        expect(await keep("d1")).toMatchObject({ outcome: "done" });
        expect(await keep("d2")).toEqual(full);
      });

      test("than 64 MiB of a webhook", async () => {
        await wait(4, "repeat('x', 16777216 - case when n = 1 then 10 else 0 end)", { id: "n::text || 's'" });
        expect(await keep("d1", "0123456789x")).toEqual(full);
        expect(await keep("d2", "0123456789")).toMatchObject({ outcome: "done" });
      });
    });
  },
  { perTest: true },
);
