/** A signal looks at one run and its mail, and changes no other run. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import { aParkedRun, aRun, aRunAtWork, aWaitFor, minute, noon, type Run, second, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a signal",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a signal is taken once, by a record of its kind with its payload",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "a parked run that a signal or an answer waits for is ready",
      ],
    });
    const { write, set } = rowsOn(stage);
    const waits = () => aParkedRun(stage, [aWaitFor("go")]);
    const all = async (run: Run) => ({
      state: await stage.look("select * from layover.run_state where run_id = $1", [run.id]),
      mail: await stage.look("select * from layover.signal where run_id = $1 order by number", [run.id]),
    });
    const limit = { signals: 10_000, bytes: 16 * 1024 * 1024 };
    const someMail = (run: Run, count: number, bytes: number, taken = false) =>
      stage.onlooker.query(
        `insert into layover.signal (run_id, id, name, payload, is_parsed, received_at, position)
           select $1, gen_random_uuid(), 'noise', repeat('0', $3), true, layover.now(), case when $4 then 1 end from generate_series(1, $2)`,
        [run.id, count, bytes, taken],
      );

    test("changes no other run, and waits for none", async () => {
      const [run, other] = [await waits(), await waits()];
      await other.signal(stage.onlooker, "noise");
      const before = await all(other);
      await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      expect(await run.signal(stage.onlooker, "go")).toMatchObject({ outcome: "sent", turn: 2, now: noon });
      expect(await all(other)).toEqual(before);
      const row = await stage.look(
        "select has_mail, ready_at = 'epoch' as is_ready from layover.run_state where run_id = $1",
        [run.id],
      );
      expect(row).toEqual([{ has_mail: true, is_ready: true }]);
    });

    test("of the same call again is told the turn that waits for its claim, and no other turn", async () => {
      const signalId = randomUUID();
      const again = (run: Run) => run.signal(stage.onlooker, "go", { signalId });
      const turnIn = async (change: string) => {
        const run = await waits();
        await again(run);
        await set(run, change);
        const told = await again(run);
        return told.outcome === "sent" ? told.turn : told.outcome;
      };
      const rest = ", ready_at = 'epoch', due_at = null";
      expect(await turnIn("turn = turn")).toBe(2);
      expect(await turnIn("ready_at = layover.now()")).toBe(2);
      expect(await turnIn("ready_at = layover.now() + interval '1 ms'")).toBeNull();
      expect(await turnIn(`paused_at = layover.now()${rest}`)).toBeNull();
      expect(await turnIn(`blocked = 'why'${rest}`)).toBeNull();
      expect(
        await turnIn("status = 'running', token = gen_random_uuid(), leased_until = layover.now() + interval '1 s'"),
      ).toBeNull();
    });

    test("is a duplicate by its name and its own id for one run alone", async () => {
      const [run, other] = [await waits(), await waits()];
      const send = async (to: Run, name: string, dedupeId?: string) =>
        (await to.signal(stage.onlooker, name, dedupeId === undefined ? {} : { dedupeId })).outcome;
      expect(await send(run, "go", "d")).toBe("sent");
      expect(await send(run, "go", "d")).toBe("duplicate");
      expect(await send(run, "stop", "d")).toBe("sent");
      expect(await send(run, "go", "e")).toBe("sent");
      expect(await send(run, "go")).toBe("sent");
      expect(await send(run, "go")).toBe("sent");
      expect(await send(other, "go", "d")).toBe("sent");
      expect(await stage.look("select from layover.signal where run_id = $1", [run.id])).toHaveLength(5);
    });

    test("of the same call to another run is another one", async () => {
      const [run, other] = [await waits(), await waits()];
      const signalId = randomUUID();
      for (const one of [run, other])
        expect(await one.signal(stage.onlooker, "go", { signalId })).toMatchObject({ turn: 2 });
    });

    test("is refused by a name that the run has closed, and no other name is", async () => {
      const run = await waits();
      await set(run, "closed = '{stop,halt}'");
      expect(await run.signal(stage.onlooker, "halt")).toEqual({ outcome: "closed", runId: run.id });
      expect(await run.signal(stage.onlooker, "go")).toMatchObject({ outcome: "sent" });
    });

    describe("beside what waits to be taken", () => {
      test.each<readonly [what: string, arrange: (run: Run, other: Run) => Promise<unknown>, isKept: boolean]>([
        ["is kept as the last of as many as a run may keep", (run) => someMail(run, limit.signals - 1, 1), true],
        ["is refused beyond as many as a run may keep", (run) => someMail(run, limit.signals, 1), false],
        ["is kept with as many bytes as a run may keep", (run) => someMail(run, 4, limit.bytes / 4 - 1), true],
        ["is refused with one byte more than that", (run) => someMail(run, 1, limit.bytes - 3), false],
        ["is kept whatever waits for another run", (_, other) => someMail(other, limit.signals, 1), true],
        ["is kept whatever was taken before", (run) => someMail(run, 1, limit.bytes, true), true],
      ])("%s", async (_, arrange, isKept) => {
        const [run, other] = [await waits(), await waits()];
        await arrange(run, other);
        const sent = run.signal(stage.onlooker, "go", { payload: "true" });
        if (isKept) expect(await sent).toMatchObject({ outcome: "sent" });
        else await expect(sent).rejects.toMatchObject({ code: "LO007" });
      });
    });

    test("that is refused, as too much is kept, leaves nothing", async () => {
      const run = await waits();
      await someMail(run, limit.signals, 1);
      const before = await all(run);
      await expect(run.signal(stage.onlooker, "go")).rejects.toMatchObject({ code: "LO007" });
      expect(await all(run)).toEqual(before);
    });

    describe("makes ready", () => {
      const times = async (run: Run) =>
        (
          await stage.look(
            "select layover.to_ms(ready_at)::float8 as ready, layover.to_ms(due_at)::float8 as due, has_mail from layover.run_state where run_id = $1",
            [run.id],
          )
        )[0];

      test("the run that waits for it, which is looked at no later than before", async () => {
        const run = await waits();
        await set(run, "ready_at = layover.now() + interval '1 h', due_at = layover.now() + interval '1 s'");
        expect(await run.signal(stage.onlooker, "go")).toMatchObject({ turn: 2 });
        expect(await times(run)).toEqual({ ready: 0, due: noon + second, has_mail: true });
        const other = await waits();
        await set(other, "ready_at = layover.now() + interval '1 h', due_at = layover.now() + interval '1 h'");
        await other.signal(stage.onlooker, "go", { armed: [soon] });
        expect(await times(other)).toEqual({ ready: 0, due: soon, has_mail: true });
      });

      test.each<readonly [what: string, name: string, change: string, ready: number | null, due: number | null]>([
        [
          "no run that waits for another one",
          "noise",
          "due_at = layover.now() + interval '1 h'",
          null,
          noon + 60 * minute,
        ],
        [
          "no run that was ready before",
          "go",
          "ready_at = layover.now(), due_at = layover.now() + interval '1 h'",
          noon,
          noon + 60 * minute,
        ],
        ["a run that is paused, which nobody looks at", "go", "paused_at = layover.now(), due_at = null", 0, null],
        ["a run that is blocked, which nobody looks at", "go", "blocked = 'why', due_at = null", 0, null],
      ])("%s", async (_, name, change, ready, due) => {
        const run = await waits();
        await set(run, change);
        expect(await run.signal(stage.onlooker, name)).toMatchObject({ outcome: "sent", turn: null });
        expect(await times(run)).toEqual({ ready, due, has_mail: true });
      });

      test("no run at work, which has mail from then on", async () => {
        const run = await aRunAtWork(stage);
        await set(run, "ready_at = null, due_at = layover.now() + interval '1 h'");
        await write("pending", run, {
          kind: "'signal'",
          path: "'go'",
          occurrence: "1",
          demanded_after: "0",
          ordinal: "1",
          signal: "'go'",
        });
        expect(await run.signal(stage.onlooker, "go")).toMatchObject({ outcome: "sent", turn: null });
        expect(await times(run)).toEqual({ ready: null, due: noon + 60 * minute, has_mail: true });
      });
    });

    test("to a run that is over tells how that ended, also by its user's id", async () => {
      const run = await aRunAtWork(stage, { id: "o1" });
      const other = await aRun(stage, { id: "o2" });
      await run.finish(stage.onlooker, { token: "first", next: "failed", value: "0{}" });
      expect(await run.signal(stage.onlooker, "go")).toEqual({ outcome: "over", runId: run.id, status: "failed" });
      expect(await other.signal(stage.onlooker, "go")).toMatchObject({ outcome: "sent", runId: other.id });
      const [row] = await stage.look(
        "select name, payload, is_parsed, dedupe_id, layover.to_ms(received_at)::float8 as at from layover.signal",
      );
      expect(row).toEqual({ name: "go", payload: '0"here"', is_parsed: true, dedupe_id: null, at: noon });
    });
  },
  { perTest: true },
);
