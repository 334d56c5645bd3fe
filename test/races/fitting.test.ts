/** How many bytes each turn of a claim counts for, told by the least budget into which it fits. */
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, at, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const input = `0"${"i".repeat(47)}"`;
const perRow = 200;

describeSomePostgres(
  "the bytes of a claim",
  (database) => {
    const stage = stageOn(database);
    let [session, run, stranger]: [Session?, Run?, Run?] = [];

    /** Each test writes in a transaction, which is rolled back at its end. */
    beforeEach(async () => {
      run = await aRun(stage, { encodedInput: input });
      stranger = await aRun(stage);
      session = await stage.session("counting");
      await session.begin();
    });
    const write = async (text: string, parameters: readonly unknown[] = []) => await session?.query(text, parameters);
    const fitting = async (turns: readonly object[], budgetBytes: number) => {
      const [row] =
        (await write("select layover.count_fitting($1) as count", [JSON.stringify({ turns, budgetBytes })])) ?? [];
      return row?.["count"];
    };
    const nobody = { runId: randomUUID() };
    const bytesOf = async (more: object = {}) => {
      const turn = { runId: run?.id, ...more };
      let [low, high] = [0, 2 ** 24];
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if ((await fitting([nobody, turn], middle)) === 2) high = middle;
        else low = middle + 1;
      }
      await session?.rollback();
      return low;
    };
    const have = (epoch: number, position: number) => ({ have: { epoch, position } });

    test("of a run that is not there are none", async () => {
      expect(await fitting([nobody, nobody, { runId: run?.id }], 2 * input.length)).toBe(3);
      expect(await fitting([nobody, nobody, { runId: run?.id }], 2 * input.length - 1)).toBe(2);
      await session?.rollback();
    });

    describe("of the history", () => {
      beforeEach(async () => {
        await write("update layover.run_state set last_position = 3, history_bytes = 900 where run_id = $1", [run?.id]);
        const record = `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
          values ($1, $2, $3, 'step', 'a', $3, false, layover.now(), repeat('x', $4))`;
        for (const [position, bytes] of [100, null, 300, 400].entries())
          await write(record, [run?.id, 0, position + 1, bytes]);
        await write(record, [run?.id, 1, 2, 1_000]);
        await write(record, [stranger?.id, 0, 2, 2_000]);
      });
      const whole = 2 * (900 + 3 * perRow + input.length);

      test.each([
        ["all, with the input, for a process that has nothing", {}, whole],
        ["all for one that has another epoch", have(1, 3), whole],
        ["all for one that has a part of another epoch", have(1, 1), whole],
        ["all for one that has more than there is", have(0, 4), whole],
        ["none for one that has all of it", have(0, 3), 0],
        ["the records behind the last one that it has", have(0, 1), 2 * (300 + 2 * perRow)],
      ])("are %s", async (_, more, bytes) => {
        expect(await bytesOf(more)).toBe(bytes);
      });
    });

    describe("of the mail", () => {
      const all = have(0, 0);
      beforeEach(async () => {
        await write("update layover.run_state set has_mail = true, has_pending = false where run_id = $1", [run?.id]);
      });
      const signal = (of: Run | undefined, bytes: number, position: number | null) =>
        write(
          `insert into layover.signal (run_id, id, name, payload, is_parsed, received_at, position)
             values ($1, gen_random_uuid(), 'go', repeat('x', $2), true, layover.now(), $3)`,
          [of?.id, bytes, position],
        );
      const answer = (of: Run | undefined, path: string, bytes: number, position: number | null) =>
        write(
          `insert into layover.callback (run_id, epoch, path, occurrence, outcome, value, answered_at, position)
             values ($1, 0, $2, 1, 'resolved', repeat('x', $3), layover.now(), $4)`,
          [of?.id, path, bytes, position],
        );
      const ended = (of: Run | undefined, path: string, bytes: number) =>
        write(
          `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, child_run_id, child_status, child_value, child_ended_at)
             values ($1, $2, 1, 'child', 0, 1, gen_random_uuid(), 'completed', repeat('x', $3), layover.now())`,
          [of?.id, path, bytes],
        );

      test("are those of what nobody has taken", async () => {
        for (const [of, times] of [
          [run, 1],
          [stranger, 10],
        ] as const) {
          await signal(of, 100 * times, null);
          await answer(of, "a", 50 * times, null);
          await ended(of, "it", 70 * times);
        }
        await signal(run, 1_000, 1);
        await answer(run, "b", 1_000, 1);
        expect(await bytesOf(all)).toBe(2 * (100 + 50 + 70 + 3 * perRow));
      });

      test("are a mebibyte at most of ends of other runs", async () => {
        for (const path of ["one", "two"]) await ended(run, path, 1_000_000);
        expect(await bytesOf(all)).toBe(2 * 1_048_576);
      });

      test("are none of a branch, and none where nothing has come", async () => {
        await signal(run, 100, null);
        expect(await fitting([nobody, { runId: run?.id, ...all, ...at("a") }], 0)).toBe(2);
        await write("update layover.run_state set has_mail = false where run_id = $1", [run?.id]);
        expect(await bytesOf(all)).toBe(0);
      });
    });

    test("of what a run waits for are those of its places, and none for a branch", async () => {
      for (const [of, path] of [
        [run, "charge"],
        [stranger, "a longer path"],
      ] as const)
        await write(
          `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, ready_at)
             values ($1, $2, 1, 'branch', 0, 1, 'epoch')`,
          [of?.id, path],
        );
      expect(await fitting([nobody, { runId: run?.id, ...have(0, 0) }], 0)).toBe(2);
      await write("update layover.run_state set has_pending = true where run_id = $1", [run?.id]);
      expect(await fitting([nobody, { runId: run?.id, ...have(0, 0), ...at("charge") }], 0)).toBe(2);
      expect(await bytesOf(have(0, 0))).toBe(2 * ("charge".length + perRow));
    });

    describe("of what failed the attempts of a run that closes", () => {
      const all = have(0, 0);
      const attempt = (of: Run | undefined, epoch: number, path: string, bytes: number) =>
        write(
          `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
             values ($1, $2, $3, 1, 1, layover.now(), layover.now(), repeat('x', $4))`,
          [of?.id, epoch, path, bytes],
        );
      const closes = () => write("update layover.run_state set is_closing = true where run_id = $1", [run?.id]);

      test("are those of its own errors in this epoch, and none of a branch or of a run that goes on", async () => {
        await attempt(run, 0, "a", 100);
        await attempt(run, 0, "b", 50);
        await attempt(run, 1, "a", 1_000);
        await attempt(stranger, 0, "a", 1_000);
        expect(await fitting([nobody, { runId: run?.id, ...all }], 0)).toBe(2);
        await closes();
        expect(await fitting([nobody, { runId: run?.id, ...all, ...at("a") }], 0)).toBe(2);
        expect(await bytesOf(all)).toBe(2 * 150);
      });

      test("are a mebibyte at most", async () => {
        for (const path of ["one", "two"]) await attempt(run, 0, path, 1_000_000);
        await closes();
        expect(await bytesOf(all)).toBe(2 * 1_048_576);
      });

      test("are none where nothing has failed", async () => {
        await closes();
        expect(await bytesOf(all)).toBe(0);
      });
    });

    test("of what a store keeps are its own, once, and for a branch too", async () => {
      for (const [of, bytes] of [
        [run, 30],
        [stranger, 7_000],
      ] as const)
        await write(
          "insert into layover.stored_value (namespace, key, run_id, bytes) values ('default', 'a', $1, $2)",
          [of?.id, bytes],
        );
      expect(await fitting([nobody, { runId: run?.id, ...have(0, 0), ...at("a") }], 29)).toBe(1);
      expect(await bytesOf(have(0, 0))).toBe(30);
    });
  },
  { perTest: true },
);
