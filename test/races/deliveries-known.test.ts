/** Shows by what a delivery is known again, and what is written down of its tries. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;
const expires = noon + 96 * hour;
let made = 0;

const starting = (id: string): DeedCall => ({
  runId: `00000000-0000-7000-8000-${String(++made).padStart(12, "0")}`,
  workflow: "order",
  version: 1,
  id,
  encodedInput: "0null",
});

describeSomePostgres(
  "a delivery that is known",
  (database) => {
    const stage = stageOn(database);
    const receive = (delivery: string, more: object) =>
      stage.onlooker.call("receive_delivery", {
        webhook: "shop",
        delivery,
        deeds: [],
        armed: [soon, expires],
        bodyWindowMs: hour,
        ...more,
      });
    const written = (columns: string) =>
      stage.look(`select namespace, webhook, id, ${columns} from layover.delivery order by namespace, webhook, id`);

    test("by its id and its body is so in its own webhook and namespace alone", async () => {
      const places = [
        { namespace: "default", webhook: "shop" },
        { namespace: "default", webhook: "till" },
        { namespace: "other", webhook: "shop" },
      ];
      for (const place of places)
        expect(await receive("d1", { ...place, bodyMac: "m1" })).toMatchObject({ outcome: "done" });
      expect(await written("attempts")).toEqual(places.map((place) => ({ ...place, id: "d1", attempts: 1 })));
    });

    test('is of the namespace "default" if its call names none', async () => {
      await receive("d1", { namespace: undefined });
      expect(await receive("d1", {})).toMatchObject({ outcome: "duplicate" });
      expect(await written("attempts")).toEqual([{ namespace: "default", webhook: "shop", id: "d1", attempts: 1 }]);
    });

    test("says whether it was refused, or whether its code failed", async () => {
      expect(await receive("d1", { refused: "too new" })).toMatchObject({ outcome: "refused", reason: "too new" });
      expect(await receive("d2", { failed: "a bug" })).toMatchObject({ outcome: "failed", reason: "a bug" });
      const row = { namespace: "default", webhook: "shop" };
      expect(await written("outcome, reason")).toEqual([
        { ...row, id: "d1", outcome: "refused", reason: "too new" },
        { ...row, id: "d2", outcome: "failed", reason: "a bug" },
      ]);
    });

    test("by its body is another one after the window, and all others are still known", async () => {
      const mine = { bodyMac: "m1" };
      await receive("d1", mine);
      await receive("d2", { bodyMac: "m2" });
      await receive("d1", { ...mine, webhook: "till" });
      await receive("d1", { ...mine, namespace: "other" });
      await database.pool.query("update layover.delivery set received_at = received_at - interval '2 hours'");
      expect(await receive("d3", mine)).toMatchObject({ outcome: "done", delivery: "d3" });
      expect((await written("body_mac as mac")).map(({ id, mac }) => [id, mac])).toEqual([
        ["d1", null],
        ["d2", "m2"],
        ["d3", "m1"],
        ["d1", "m1"],
        ["d1", "m1"],
      ]);
    });

    test("by its body under a secret that is being replaced is so within the window", async () => {
      await receive("d1", { bodyMac: "old 1" });
      const mine = { bodyMac: "new 1", olderBodyMacs: ["older 1", "old 1"] };
      expect(await receive("d2", mine)).toMatchObject({ outcome: "duplicate", delivery: "d1" });
      expect(await receive("d3", { bodyMac: "new 2", olderBodyMacs: ["old 2"] })).toMatchObject({ outcome: "done" });
      await database.pool.query("update layover.delivery set received_at = received_at - interval '2 hours'");
      expect(await receive("d4", mine)).toMatchObject({ outcome: "done", delivery: "d4" });
      expect((await written("body_mac as mac")).map(({ id, mac }) => [id, mac])).toEqual([
        ["d1", null],
        ["d3", "new 2"],
        ["d4", "new 1"],
      ]);
    });

    test("by its id and by another one's body is the one of its id; by its body alone the one of that", async () => {
      await receive("d1", { bodyMac: "m1" });
      await receive("d2", { bodyMac: "m2" });
      expect(await receive("d2", { bodyMac: "m1" })).toMatchObject({ outcome: "duplicate", delivery: "d2" });
      expect(await receive("d3", { bodyMac: "m2" })).toMatchObject({ outcome: "duplicate", delivery: "d2" });
      expect(await written("attempts")).toHaveLength(2);
    });

    test("by its body keeps its signals under the id of the one that came first", async () => {
      const signal = { workflow: "order", id: "a", signalId: randomUUID(), name: "address", encodedPayload: "0null" };
      await receive("d1", { bodyMac: "m1", refused: "too new" });
      expect(await receive("d2", { bodyMac: "m1", deeds: [signal] })).toMatchObject({
        outcome: "done",
        delivery: "d1",
      });
      expect(await stage.look("select delivery from layover.kept_signal")).toEqual([{ delivery: "d1" }]);
      await stage.clock.set(expires);
      expect(await stage.onlooker.call("send_kept_signals", { limit: 10, armed: [expires + minute] })).toMatchObject({
        left: [{ delivery: "d1", outcome: "expired" }],
      });
      expect(await written("outcome")).toEqual([
        { namespace: "default", webhook: "shop", id: "d1", outcome: "expired" },
      ]);
    });

    test("and was refused is tried anew: its event, its headers and the instant are those of the last try", async () => {
      await receive("d1", { refused: "too new", event: "1", headers: "1" });
      await database.pool.query("update layover.delivery set decided_at = decided_at - interval '1 hour'");
      await receive("d1", { refused: "still", event: "2", headers: "2" });
      const since = "decided_at >= received_at as is_late";
      const row = { namespace: "default", webhook: "shop", id: "d1" };
      expect(await written(`event, headers, reason, attempts, ${since}`)).toEqual([
        { ...row, event: "2", headers: "2", reason: "still", attempts: 2, is_late: true },
      ]);
      const replay = { by: "ada", reason: "now it may" };
      await receive("d1", { refused: "not yet", replay });
      await receive("d1", { refused: "no" }); // from the sender again
      expect(await written("event, headers, jsonb_array_length(replays::jsonb) as replays")).toEqual([
        { ...row, event: "2", headers: "2", replays: 1 },
      ]);
    });

    test("and is replayed has the deeds of its replay, and keeps its first ones where that is refused", async () => {
      await receive("d1", { deeds: [starting("a")] });
      const before = await written("deeds");
      const replay = { by: "ada" };
      expect(await receive("d1", { refused: "no", replay })).toMatchObject({ outcome: "refused" });
      expect(await written("deeds")).toEqual(before);
      expect(await receive("d1", { deeds: [starting("b")], replay })).toMatchObject({ outcome: "done" });
      expect(await written("deeds")).not.toEqual(before);
    });
  },
  { perTest: true },
);
