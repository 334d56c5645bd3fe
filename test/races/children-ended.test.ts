/** The end of a run reaches the one that waits for it, and no other run: what is told, who is ready then, and when it is looked at. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { repairsOn } from "./next-epochs.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aRecord, aRunAtWork, aWaitFor, minute, noon, Run, second, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the end of a run",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "the end of a run has reached the one that waits for it",
        "a parked run of which a sleep, a wait or a retry is over is ready",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "a parked run is ready once a run has ended in time that it waits for",
        "a run that has closed, or ends, has nothing to wait for",
        "a run that is over has neither leases, nor pending rows, nor a due instant",
      ],
    });
    const { wait, set, setWaits } = rowsOn(stage);
    const { repair, claim } = repairsOn(stage);
    /** The first run waits for the second one, which is at work. */
    async function aFamily() {
      const parent = await aRunAtWork(stage);
      const start = aChild("it", { isBound: true });
      await parent.finish(stage.onlooker, { token: "first", children: [start] });
      const child = new Run(stage, start.runId);
      await child.claim(stage.onlooker, { token: "child" });
      return { parent, child };
    }
    const end = (child: Run, more: object = {}) =>
      child.finish(stage.onlooker, { token: "child", next: "completed", value: '0"done"', ...more });
    const rows = (run: Run) =>
      stage.look(
        `select path, occurrence, child_status, child_value, layover.to_ms(child_ended_at)::float8 as ended, is_released
           from layover.pending where run_id = $1 order by path, occurrence`,
        [run.id],
      );
    const row = async (run: Run) =>
      (
        await stage.look(
          `select status, has_mail, layover.to_ms(ready_at)::float8 as ready, layover.to_ms(due_at)::float8 as due
             from layover.run_state where run_id = $1`,
          [run.id],
        )
      )[0];
    const at = (ms: number) => `layover.now() + interval '${ms} ms'`;
    const place = { path: "it", occurrence: 1 };
    const told = { ...place, child_status: "completed", child_value: '0"done"', ended: noon, is_released: false };
    const untold = { ...place, child_status: null, child_value: null, ended: null, is_released: false };
    let family: Awaited<ReturnType<typeof aFamily>>;
    let other: Awaited<ReturnType<typeof aFamily>>;
    beforeEach(async () => {
      [family, other] = [await aFamily(), await aFamily()];
      for (const { parent } of [family, other]) await set(parent, `due_at = ${at(30 * minute)}`);
    });

    test("is told to the one that waits, which is ready, and to nobody else", async () => {
      const before = await row(other.parent);
      expect(await end(family.child)).toMatchObject({ others: [{ runId: family.parent.id, turn: 2 }] });
      expect(await rows(family.parent)).toEqual([told]);
      expect(await rows(other.parent)).toEqual([untold]);
      expect(await row(family.parent)).toEqual({ status: "parked", has_mail: true, ready: 0, due: soon });
      expect(await row(other.parent)).toEqual(before);
    });

    test("tells why it has failed", async () => {
      await end(family.child, { next: "failed", value: '0"why"' });
      expect(await rows(family.parent)).toEqual([{ ...told, child_status: "failed", child_value: '0"why"' }]);
    });

    test.each<readonly [what: string, change: Columns]>([
      ["and not at another occurrence", { occurrence: "2" }],
      ["and not at another path", { path: "'that'" }],
    ])("is told at its place, %s", async (_, change) => {
      await wait(family.parent, "child", { child_run_id: `'${family.child.id}'`, ...change });
      await end(family.child);
      const statuses = (await rows(family.parent)).map(({ child_status: status }) => status);
      expect(new Set(statuses)).toEqual(new Set(["completed", null]));
    });

    test("is not told where that place waits for another run", async () => {
      await setWaits(family.parent, "child_run_id = gen_random_uuid()");
      expect(await end(family.child)).toMatchObject({ others: [] });
      expect(await rows(family.parent)).toEqual([untold]);
      expect(await row(family.parent)).toMatchObject({ has_mail: false, ready: null });
    });

    test("hands over the value that a store keeps", async () => {
      const value = `2stored.7.${"0".repeat(64)}.key`;
      await stage.onlooker.query(
        "insert into layover.stored_value (namespace, key, run_id, bytes) values ('default', 'key', $1, 7)",
        [family.child.id],
      );
      await end(family.child, { value });
      const held = await stage.look("select key, bytes::integer from layover.stored_value where run_id = $1", [
        family.parent.id,
      ]);
      expect(held).toEqual([{ key: "key", bytes: 7 }]);
    });

    test("is not told to another run that names it at the same place", async () => {
      await setWaits(other.parent, `child_run_id = '${family.child.id}'`);
      await end(family.child);
      expect([await rows(family.parent), await rows(other.parent)]).toEqual([[told], [untold]]);
    });

    test("is not told twice", async () => {
      const first = { child_status: "'failed'", child_value: "'0\"first\"'", child_ended_at: at(-5) };
      await setWaits(
        family.parent,
        Object.entries(first)
          .map(([name, value]) => `${name} = ${value}`)
          .join(", "),
      );
      expect(await end(family.child)).toMatchObject({ others: [] });
      expect(await rows(family.parent)).toMatchObject([
        { child_status: "failed", child_value: '0"first"', ended: noon - 5 },
      ]);
    });

    test("is told to nobody where it comes again, after the one that waited has recorded the first one", async () => {
      await end(family.child, { next: "failed", value: '0"why"' });
      await family.parent.claim(stage.onlooker, { token: "second", turn: 2 });
      const record = aRecord("child", "it", { value: '0"why"', isFailure: true });
      await family.parent.finish(stage.onlooker, { token: "second", records: [record], demands: [aWaitFor("go")] });
      await repair(family.child, "retry");
      await claim(family.child, "again");
      const [before, waits] = [await row(family.parent), await rows(family.parent)];
      expect(before).toMatchObject({ status: "parked", has_mail: false });
      expect(await end(family.child, { token: "again" })).toMatchObject({ outcome: "finished", others: [] });
      expect(await row(family.parent)).toEqual(before);
      expect(await rows(family.parent)).toEqual(waits);
    });

    describe("makes the one that waits ready", () => {
      test.each<readonly [what: string, change: string, expected: object, turn: number | null]>([
        ["where it was to be ready later", `ready_at = ${at(minute)}`, { ready: 0, due: soon }, 2],
        ["unless it is so", "ready_at = layover.now()", { ready: noon, due: noon + 30 * minute }, null],
        ["and leaves an instant that is nearer", `due_at = ${at(second)}`, { ready: 0, due: noon + second }, 2],
        [
          "and lets nobody look at it while it is paused",
          "paused_at = layover.now(), due_at = null",
          { ready: 0, due: null },
          null,
        ],
        [
          "and lets nobody look at it while it is blocked",
          "blocked = 'why', due_at = null",
          { ready: 0, due: null },
          null,
        ],
      ])("%s", async (_, change, expected, turn) => {
        await set(family.parent, change);
        const others = turn === null ? [] : [{ runId: family.parent.id, turn }];
        expect(await end(family.child)).toMatchObject({ others });
        expect(await row(family.parent)).toEqual({ status: "parked", has_mail: true, ...expected });
      });

      test("once its turn is over", async () => {
        await set(family.parent, "ready_at = 'epoch'");
        await family.parent.claim(stage.onlooker, { token: "second", turn: 2 });
        await set(family.parent, `ready_at = null, due_at = ${at(30 * minute)}`);
        expect(await end(family.child)).toMatchObject({ others: [] });
        expect(await row(family.parent)).toEqual({
          status: "running",
          has_mail: true,
          ready: null,
          due: noon + 30 * minute,
        });
      });

      test("in time alone", async () => {
        await setWaits(family.parent, `until = ${at(-1)}`);
        expect(await end(family.child)).toMatchObject({ others: [] });
        expect(await row(family.parent)).toMatchObject({ has_mail: true, ready: null });
      });
    });

    describe("that is waited for no more", () => {
      const leave = (run: Run) => setWaits(run, "is_released = true, child_bond = 'cancelled'");
      const lease = { token: "gen_random_uuid()", leased_until: at(1) };

      test("leaves nothing, and its parent has no mail", async () => {
        await leave(family.parent);
        await wait(family.parent, "callback", { path: "'that'" });
        await wait(family.parent, "callback", { occurrence: "2" });
        expect(await end(family.child)).toMatchObject({ others: [] });
        expect((await rows(family.parent)).map(({ path, occurrence }) => [path, occurrence])).toEqual([
          ["it", 2],
          ["that", 1],
        ]);
        expect(await rows(other.parent)).toEqual([untold]);
        expect(await row(family.parent)).toEqual({
          status: "parked",
          has_mail: false,
          ready: null,
          due: noon + 30 * minute,
        });
      });

      test("leaves the mail of its parent to be read", async () => {
        await leave(family.parent);
        await set(family.parent, "has_mail = true");
        await end(family.child);
        expect(await row(family.parent)).toMatchObject({ has_mail: true });
      });

      test("lets its parent go on that closes", async () => {
        await leave(family.parent);
        await set(family.parent, `is_closing = true, ready_at = ${at(minute)}`);
        expect(await end(family.child)).toMatchObject({ others: [{ runId: family.parent.id, turn: 2 }] });
        expect(await row(family.parent)).toEqual({ status: "parked", has_mail: false, ready: 0, due: soon });
      });

      test.each<readonly [what: string, change: Columns]>([
        ["that was not asked to end yet", { child_bond: "'cancel'" }],
        ["that was asked to", { child_bond: "'cancelled'", until: at(1) }],
      ])("lets its parent wait for another run %s", async (_, change) => {
        await leave(family.parent);
        await set(family.parent, `is_closing = true, ready_at = ${at(minute)}`);
        await wait(family.parent, "child", { path: "'that'", child_run_id: `'${other.child.id}'`, ...change });
        expect(await end(family.child)).toMatchObject({ others: [] });
        expect(await row(family.parent)).toMatchObject({ ready: noon + minute });
      });

      test.each<readonly [what: string, kind: string, change: Columns]>([
        ["a branch is at work, whose lease the next claim waits for", "branch", lease],
        ["a run goes on that was waited for for a day", "child", { child_bond: "'cancelled'", until: at(0) }],
        ["a run goes on that need not end with it", "child", {}],
      ])("lets its parent go on that closes, though %s", async (_, kind, change) => {
        await leave(family.parent);
        await set(family.parent, `is_closing = true, ready_at = ${at(minute)}`);
        await wait(family.parent, kind, { path: "'that'", ...change });
        expect(await end(family.child)).toMatchObject({ others: [{ runId: family.parent.id, turn: 2 }] });
        expect(await row(family.parent)).toMatchObject({ ready: 0, due: soon });
      });
    });
  },
  { perTest: true },
);
