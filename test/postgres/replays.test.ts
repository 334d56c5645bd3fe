/** A replay is handed the records of the newest epoch of its run, a page at a time, and nothing of another run. */
import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { aParkedRun, aRun, aWaitFor, branches, noon, type Run, second } from "../races/runs.ts";
import { type Session, stageOn } from "../races/stage.ts";
import { describeSomePostgres } from "./database.ts";

describeSomePostgres(
  "a replay",
  (database) => {
    const stage = stageOn(database);
    let session: Session | undefined;

    /** A session of its own: each read is a transaction that is rolled back. */
    beforeEach(async () => {
      session = await stage.session("changed");
    });
    const write = async (text: string, parameters: readonly unknown[] = []) => {
      await session?.query(text, parameters);
    };
    /** Reads it with these rows, which do not stay. */
    const read = async (run: Run, arrange: () => Promise<void>, more: object = {}) => {
      await session?.begin();
      await arrange();
      const told: unknown = await session?.call("read_replay", { runId: run.id, ...more });
      await session?.rollback();
      return told;
    };
    const signal = (run: Run, name: string, position: number | null) =>
      write(
        `insert into layover.signal (run_id, id, name, payload, is_parsed, received_at, position)
           values ($1, gen_random_uuid(), $2, '0null', true, layover.now(), $3)`,
        [run.id, name, position],
      );
    const record = (run: Run, position: number, bytes = 5) =>
      write(
        `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
           values ($1, 0, $2, 'step', 'a', $2, false, layover.now(), repeat('0', $3))`,
        [run.id, position, bytes],
      );

    test("knows which signals its run has taken with the records of the page, in their order", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      const arrange = async () => {
        for (const [position, name] of [
          [3, "third"],
          [2, "second"],
          [1, "first"],
          [9, "later"],
        ] as const)
          await signal(run, name, position);
        await signal(other, "of another", 2);
        for (const position of [1, 2, 3]) await record(run, position);
        await write("update layover.run_state set last_position = 3 where run_id = $1", [run.id]);
      };
      const takes = (...names: readonly string[]) => names.map((name) => expect.objectContaining({ name }));
      const whole = { takes: takes("first", "second", "third"), records: { length: 3 }, rest: expect.anything() };
      expect(await read(run, arrange)).toMatchObject(whole);
      expect(await read(run, arrange, { after: 1 })).toMatchObject({
        ...{ takes: takes("second", "third"), records: { length: 2 }, rest: null },
      });
      expect(await read(run, arrange, { after: 3 })).toMatchObject({ takes: [], records: [], rest: null });
      const nothing = () => signal(run, "later", 1);
      expect(await read(run, nothing)).toMatchObject({ takes: [], records: [], rest: expect.anything() });
    });

    test("has two megabytes of escaped records a page, unless somebody asks for another size", async () => {
      const run = await aRun(stage);
      const arrange = async () => {
        for (const position of [1, 2, 3]) await record(run, position, 400_000);
        const most = "update layover.run_state set last_position = 3, history_bytes = 1200000 where run_id = $1";
        await write(most, [run.id]);
      };
      expect(await read(run, arrange)).toMatchObject({ records: { length: 2 } });
      expect(await read(run, arrange, { budgetBytes: 8_000_000 })).toMatchObject({ records: { length: 3 } });
    });

    test("has what the run waits for in the order in which it asked, but no invoked run whose race is lost", async () => {
      const run = await aParkedRun(stage, branches(["first", "second", "third"]));
      await aParkedRun(stage, [aWaitFor("of another")]);
      const arrange = async () => {
        await write("update layover.pending set turn = turn where path = 'first'"); // behind the others
        await write("update layover.pending set is_released = true where path = 'second'");
        for (const [path, isReleased] of [
          ["it", false],
          ["left", true],
        ] as const)
          await write(
            `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, child_run_id, child_bond, is_released)
               values ($1, $2, 1, 'child', 0, 4, gen_random_uuid(), 'cancel', $3)`,
            [run.id, path, isReleased],
          );
      };
      const paths = ["first", "second", "third", "it"].map((path) => expect.objectContaining({ path }));
      expect(await read(run, arrange)).toMatchObject({ rest: { pending: paths } });
    });

    test("has the failed attempts of its epoch: the last ones, as many as have a megabyte together", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      const attempt = (of: Run, epoch: number, path: string, bytes: number, seconds: number, number = 1) =>
        write(
          `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
             values ($1, $2, $3, 1, $4, layover.now() + $5 * interval '1 second', layover.now(), repeat('x', $6))`,
          [of.id, epoch, path, number, seconds, bytes],
        );
      const arrange = async () => {
        await attempt(run, 0, "too old", 1, 1);
        await attempt(run, 0, "old", 400_000, 2);
        await attempt(run, 0, "b", 300_000, 3, 2);
        await attempt(run, 0, "b", 100_000, 3, 1);
        await attempt(run, 0, "a", 200_000, 3);
        await attempt(run, 1, "of another epoch", 500_000, 4);
        await attempt(other, 0, "of another run", 500_000, 4);
      };
      const attempts = [
        ["old", 1],
        ["a", 1],
        ["b", 1],
        ["b", 2],
      ].map(([path, number]) => expect.objectContaining({ path, number }));
      expect(await read(run, arrange)).toMatchObject({ rest: { attempts } });
    });

    test("has the input, the changes of its code and the mail of its epoch", async () => {
      const [run, other] = [await aRun(stage, { encodedInput: '0"first"' }), await aRun(stage)];
      const mail = async () => {
        for (const [of, position] of [
          [run, null],
          [run, 1],
          [other, null],
        ] as const)
          await signal(of, "go", position);
      };
      const first = { run: { input: '0"first"' }, patches: null, pending: [], attempts: [] };
      expect(await read(run, mail)).toMatchObject({ rest: { ...first, mail: { go: 1 } } });
      expect(await read(run, async () => {})).toHaveProperty("rest.mail", {});
      await run.claim(stage.onlooker, { token: "first" });
      await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
      const restart = { runId: run.id, callId: randomUUID(), encodedInput: '0"second"', armed: [noon + second] };
      await stage.onlooker.call("restart_run", restart);
      expect(await read(run, async () => {})).toMatchObject({
        epoch: 1,
        rest: { run: { input: '0"second"' } },
      });
    });
  },
  { perTest: true },
);
