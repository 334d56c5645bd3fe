/** Whoever comes first, and whoever comes with the same again: a start, a signal, a deployment that looks at its database. */
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, aStart, minute, noon, Run, soon, terms, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

describeSomePostgres(
  "of several that come",
  (database) => {
    const stage = stageOn(database);
    const start = (n: number, more: object = {}) => stage.onlooker.call("start_run", { ...aStart(idOf(n)), ...more });
    const bare = async (name: "start_run" | "send_signal", parameter: object) =>
      (await stage.onlooker.query(`select layover.${name}($1) as answer`, [JSON.stringify(parameter)]))[0]?.["answer"];

    describe("a start", () => {
      const one = { id: "o1", encodedInput: "0[1]" };
      const two = { id: "o2", encodedInput: "0[2]" };

      test("with the id of the call stands for itself alone: another input or workflow is a conflict", async () => {
        expect(await start(1, one)).toMatchObject({ outcome: "started", runId: idOf(1), turn: 1 });
        expect(await start(1, one)).toEqual({ outcome: "started", runId: idOf(1), version: 1, now: noon });
        expect(await start(1, { ...one, encodedInput: "0[2]" })).toEqual({
          outcome: "conflict",
          runId: null,
          version: null, // another run's, and nobody's business
          now: noon,
        });
        expect(await start(1, { ...one, workflow: "other" })).toMatchObject({ outcome: "conflict", runId: null });
        expect(await start(1, { ...one, namespace: "elsewhere" })).toMatchObject({ outcome: "conflict", runId: null });
      });

      test("with an id of a time to come is refused, from a day ahead on", async () => {
        const ahead = (ms: number) => v7({ msecs: noon + ms });
        const day = 24 * 60 * minute;
        expect(await start(1, { runId: ahead(day) })).toMatchObject({ outcome: "started" });
        await expect(start(1, { runId: ahead(day + 1) })).rejects.toMatchObject({ code: "LO006" });
        const v4 = ahead(day + 1).replace(/^(.{14})7/, "$14");
        expect(await start(1, { runId: v4 })).toMatchObject({ outcome: "started" });
      });

      test("with a user's id finds the run of that id, of its own workflow, and no other one", async () => {
        await start(1, one);
        await start(2, two);
        await start(3, { ...one, workflow: "other" });
        expect(await start(4, one)).toMatchObject({ outcome: "exists", runId: idOf(1) });
        expect(await start(5, two)).toMatchObject({ outcome: "exists", runId: idOf(2) });
        expect(await start(6, { ...one, workflow: "other" })).toMatchObject({ outcome: "exists", runId: idOf(3) });
        expect(await start(7, { ...one, version: 2 })).toMatchObject({ outcome: "exists", runId: idOf(1) });
        expect(await start(8, { ...one, encodedInput: "0[2]" })).toMatchObject({ outcome: "conflict", runId: idOf(1) });
        expect(await stage.look("select from layover.run")).toHaveLength(3);
      });

      test("is the same where the same was sent, whatever its schema has made of that", async () => {
        const drawn = (value: string, sent?: string) => ({ id: "o1", encodedInput: value, sent });
        const digest = async (value: string) => {
          const rows = await stage.look("select encode(sha256(convert_to($1, 'UTF8')), 'hex') as digest", [value]);
          return String(rows[0]?.["digest"]);
        };
        await start(1, drawn("0[1]", await digest("0{}")));
        const again = async (...[value, sent]: Parameters<typeof drawn>) =>
          (await start(2, drawn(value, sent))).outcome;
        expect(await again("0[2]", await digest("0{}"))).toBe("exists");
        expect(await again("0{}")).toBe("exists");
        expect(await again("0[1]")).toBe("exists");
        expect(await again("0[1]", await digest("0[3]"))).toBe("exists");
        expect(await again("0[2]")).toBe("conflict");
        expect(await again("0[2]", await digest("0[3]"))).toBe("conflict");
      });

      test.each([
        ["in another order", ['0{"a": 1, "b": 2}'], ['0{"b": 2, "a": 1}'], "exists"],
        [
          "in another order, where a schema made one of them of something else",
          ['0{"a": 1, "b": 2}', "digest"],
          ['0{"b": 2, "a": 1}'],
          "conflict",
        ],
        [
          "in another order, where a schema has made the other one so",
          ['0{"a": 1, "b": 2}'],
          ['0{"b": 2, "a": 1}', "digest"],
          "conflict",
        ],
        ["that is sensitive now", ["0{}"], ["3sensitive.0{}"], "exists"],
        ["that is sensitive no more", ["3sensitive.0{}"], ["0{}"], "exists"],
        ["encrypted, with one code of both", ["2x", "a.b"], ["2y", "b.c"], "exists"],
        ["encrypted, with other codes", ["2x", "a.b"], ["2y", "c.d"], "conflict"],
      ] as const)("is told by the values alone: %s", async (_, first, second, outcome) => {
        const started = ([encodedInput, sent]: readonly [string, string?]) => ({ id: "o1", encodedInput, sent });
        await start(1, started(first));
        expect(await start(2, started(second))).toMatchObject({ outcome });
      });

      test("that was made of what was sent before, is the same as what was stored of that", async () => {
        const rows = await stage.look("select encode(sha256(convert_to('0{}', 'UTF8')), 'hex') as digest");
        await start(1, { id: "o1", encodedInput: "0{}" });
        const again = { id: "o1", encodedInput: "0[2]", sent: rows[0]?.["digest"] };
        expect(await start(2, again)).toMatchObject({ outcome: "exists", runId: idOf(1) });
      });
    });

    describe("from psql, with no more than it takes,", () => {
      test("a start is ready now, in the default namespace, with nothing as its input", async () => {
        const started = await bare("start_run", { workflow: "flow", version: 1 });
        expect(started).toMatchObject({ outcome: "started", turn: 1, readyAt: noon, runId: expect.any(String) });
        expect(await stage.look("select namespace, input, is_input_parsed from layover.run")).toEqual([
          { namespace: "default", input: "0null", is_input_parsed: false },
        ]);
        await bare("start_run", { workflow: "flow", version: 1, input: { a: 1 }, delayMs: minute });
        expect(await stage.look("select from layover.run where input = '0{\"a\": 1}'")).toHaveLength(1);
      });

      test.each([{ version: 1 }, { workflow: "flow" }])("a start says what it lacks: %o", async (call) => {
        await expect(bare("start_run", call)).rejects.toMatchObject({ code: "LO003" });
      });

      test("each signal is another one, with nothing as its payload", async () => {
        const run = await aRun(stage);
        for (const payload of [undefined, undefined, { a: 1 }]) {
          const sent = await bare("send_signal", { runId: run.id, name: "address", payload });
          expect(sent).toMatchObject({ outcome: "sent", runId: run.id });
        }
        expect(await stage.look("select payload, is_parsed from layover.signal order by number")).toEqual([
          { payload: "0null", is_parsed: false },
          { payload: "0null", is_parsed: false },
          { payload: '0{"a": 1}', is_parsed: false },
        ]);
      });
    });

    describe("a signal", () => {
      test("with the id of the call is stored once for a run, and for another one too", async () => {
        const [run, other] = [await aRun(stage), await aRun(stage)];
        const call = { signalId: tokenOf("call") };
        for (const each of [run, run, other, other])
          expect(await each.signal(stage.onlooker, "address", call)).toMatchObject({ outcome: "sent" });
        const rows = await stage.look("select run_id from layover.signal order by number");
        expect(rows).toEqual([{ run_id: run.id }, { run_id: other.id }]);
      });

      test("is offered among the first twenty of its name, in the order in which they came", async () => {
        const run = await aRun(stage);
        for (let n = 1; n <= 22; n += 1) await run.signal(stage.onlooker, "many", { payload: `0${n}` });
        await run.signal(stage.onlooker, "one");
        const claimed = await run.claim(stage.onlooker, { token: "first" });
        const many = Array.from({ length: 20 }, (_, n) => ({ name: "many", payload: `0${n + 1}` }));
        expect(claimed).toMatchObject({ outcome: "claimed", signals: [...many, { name: "one" }] });
      });
    });

    test("two deployments, the first one to ask has the database, and the other one is told", async () => {
      const { runId } = await start(1);
      const ask = (more: object) => (session: Session) => {
        const turns = [{ runId, turn: 1, token: tokenOf(session.name), alone: false }];
        return session.call("claim_turns", { ...terms, ...more, turns });
      };
      for (const more of [{ environment: "other" }, { endpoint: "elsewhere" }]) {
        await stage.look("delete from layover.environment");
        await stage.look("update layover.run_state set status = 'parked', token = null, leased_until = null");
        const first = (session: Session) =>
          session.query("insert into layover.environment values ('default', 'test', 'here', layover.now())");
        const [, told] = await stage.collide({ first, second: ask(more) });
        expect(told.turns).toEqual([{ outcome: "wrong_environment" }]);
        const run = new Run(stage, idOf(1));
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
        expect(await run.state()).toMatchObject({ dueAt: soon });
      }
    });

    test("one that is told its run's tags, is told those of no other run", async () => {
      await stage.onlooker.call("adopt_environment", terms);
      await start(1, { tags: { colour: "red" } });
      await start(2, { tags: { colour: "blue", size: "big" } });
      const claimed = await new Run(stage, idOf(1)).claim(stage.onlooker, { token: "first" });
      expect(claimed).toMatchObject({ run: { tags: { colour: "red" } } });
      expect("run" in claimed && claimed.run?.tags).toEqual({ colour: "red" });
    });
  },
  { perTest: true },
);
