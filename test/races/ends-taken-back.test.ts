/** A run begins again while its parent has not taken its end: that end is taken back, the parent waits again, and nobody else is told. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { anUntakenEnd, idOf } from "./invoking.ts";
import { repairsOn } from "./next-epochs.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aRecord, noon, type Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the end of a run that begins again, and that its parent has not taken,",
  (database) => {
    const stage = stageOn(database);
    const { repair, claim } = repairsOn(stage);
    const { wait, setWaits, state } = rowsOn(stage);
    const aFamily = (more: object = {}) => anUntakenEnd(stage, [randomUUID(), randomUUID()], more);
    const rows = (run: Run) =>
      stage.look(
        `select path, occurrence, child_status as status, child_value as value, layover.to_ms(child_ended_at)::float8 as ended
           from layover.pending where run_id = $1 order by path, occurrence`,
        [run.id],
      );
    const row = (run: Run) =>
      state(run, "has_mail, layover.to_ms(ready_at)::float8 as ready, layover.to_ms(due_at)::float8 as due");
    const place = { path: "it", occurrence: 1 };
    const told = { ...place, status: "failed", value: '0"why"', ended: noon };
    const untold = { ...place, status: null, value: null, ended: null };
    const end = (child: Run, more: object = {}) =>
      child.finish(stage.onlooker, { token: "again", next: "completed", value: '0"done"', ...more });
    const ends = async (run: Run, token: string) => {
      const turns = [run.toClaim({ turn: Number((await run.state())["turn"]), token })];
      const { turns: answers } = await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
      const [answer] = answers;
      return answer !== undefined && "children" in answer ? answer.children : answer;
    };

    test.each([
      ["retry", "failed"],
      ["restart", "failed"],
      ["restart", "completed"],
    ] as const)("is taken back by a %s where it has %s", async (verb, next) => {
      const { parent, child } = await aFamily({ next });
      expect(await rows(parent)).toEqual([{ ...told, status: next }]);
      await repair(child, verb);
      expect(await rows(parent)).toEqual([untold]);
    });

    test("is taken back from a parent that has just left it, too", async () => {
      const { parent, child } = await aFamily();
      await setWaits(parent, "is_released = true");
      await repair(child, "retry");
      expect(await rows(parent)).toEqual([untold]);
    });

    const values = { child_status: "'failed'", child_value: "'0\"why\"'", child_ended_at: "layover.now()" };

    test.each<readonly [what: string, change: Columns]>([
      ["and not from another occurrence", { occurrence: "2" }],
      ["and not from another path", { path: "'that'" }],
    ])("is taken back from its place, %s", async (_, change) => {
      const { parent, child } = await aFamily();
      await wait(parent, "child", { child_run_id: `'${child.id}'`, ...values, ...change });
      await repair(child, "retry");
      expect((await rows(parent)).map(({ status }) => status).sort()).toEqual(["failed", null]);
      expect((await rows(parent))[0]).toEqual(untold);
    });

    test("is not taken back from another run that names it at the same place", async () => {
      const [family, other] = [await aFamily(), await aFamily()];
      await setWaits(other.parent, `child_run_id = '${family.child.id}'`);
      await repair(family.child, "retry");
      expect([await rows(family.parent), await rows(other.parent)]).toEqual([[untold], [told]]);
    });

    test("is not that of another run, for which its parent waits at that place since", async () => {
      const { parent, child } = await aFamily();
      await setWaits(parent, "child_run_id = gen_random_uuid()");
      await repair(child, "retry");
      expect(await rows(parent)).toEqual([told]);
    });

    test("has its parent claimed once in vain, and then wait for the next end", async () => {
      const { parent, child } = await aFamily();
      await repair(child, "retry");
      expect(await row(parent)).toEqual({ has_mail: true, ready: 0, due: soon });
      expect(await ends(parent, "in vain")).toBeNull();
      await parent.finish(stage.onlooker, { token: "in vain" });
      expect(await row(parent)).toEqual({ has_mail: false, ready: null, due: null });
      await claim(child, "again");
      await stage.clock.advance(second);
      expect(await end(child)).toMatchObject({ others: [{ runId: parent.id, turn: 3 }] });
      expect(await rows(parent)).toEqual([{ ...place, status: "completed", value: '0"done"', ended: noon + second }]);
      expect(await ends(parent, "takes")).toMatchObject({ ends: [{ path: "it", status: "completed" }] });
    });

    test("is told once more where the retry is taken back", async () => {
      const { parent, child } = await aFamily();
      await repair(child, "retry");
      await claim(child, "again");
      await stage.clock.advance(second);
      const refused = await end(child, { next: "blocked", value: "no such step" });
      expect(refused).toMatchObject({ status: "failed", others: [] });
      expect(await rows(parent)).toEqual([told]);
      expect(await ends(parent, "takes")).toMatchObject({ ends: [{ path: "it", status: "failed", endedAt: noon }] });
      const record = aRecord("child", "it", { value: '0"why"', isFailure: true, at: noon + second });
      expect(await parent.finish(stage.onlooker, { token: "takes", records: [record] })).toMatchObject({
        outcome: "finished",
      });
      expect(await rows(parent)).toEqual([]);
    });

    test("leaves its stored value with its parent, which holds that of the next end, too", async () => {
      const stored = (key: string) => `2stored.7.${"0".repeat(64)}.${key}`;
      const [parentId, childId] = [randomUUID(), randomUUID()];
      const hold = (...keys: readonly string[]) =>
        stage.onlooker.call("hold_values", {
          values: keys.map((key) => ({ runId: childId, key, bytes: 7 })),
        });
      await hold("first", "second");
      const { parent, child } = await anUntakenEnd(stage, [parentId, childId], { value: stored("first") });
      await repair(child, "retry");
      await claim(child, "again");
      await end(child, { value: stored("second") });
      const held = "select key from layover.stored_value where run_id = $1 order by key";
      expect(await stage.look(held, [parent.id])).toEqual([{ key: "first" }, { key: "second" }]);
      expect(await rows(parent)).toMatchObject([{ status: "completed", value: stored("second") }]);
    });

    describe("keeps nobody from ending it:", () => {
      test.each(["cancel", "terminate"] as const)("a %s of its parent asks it to end", async (verb) => {
        const { parent, child } = await aFamily();
        await repair(child, "retry");
        expect(await parent.operate(stage.onlooker, verb)).toMatchObject({ others: [{ runId: child.id }] });
        expect(await state(child, "cancel_reason")).toEqual({ cancel_reason: "its parent waits for it no more" });
      });

      test("its parent does not begin to undo before it has ended", async () => {
        const { parent, child } = await aFamily();
        await repair(child, "retry");
        await claim(parent, "closing");
        const record = aRecord("ending", "", { value: '0{"owed":[]}' });
        await parent.finish(stage.onlooker, { token: "closing", next: "ready", records: [record], ending: 1 });
        expect(await parent.kinds()).toEqual([]);
        expect(await state(parent, "is_closing, ending_position")).toEqual({ is_closing: true, ending_position: null });
      });
    });

    test("is taken back by a retry of many", async () => {
      const { parent, child } = await anUntakenEnd(stage, [idOf(1), idOf(2)]);
      await stage.onlooker.query(
        "insert into layover.tag (run_id, namespace, name, value) values ($1, 'default', 'team', 'blue')",
        [child.id],
      );
      const call = { callId: "ffffffff-ffff-7000-8000-000000000001", armed: [soon] };
      const told = await stage.onlooker.call("operate_runs", {
        verb: "retry",
        filter: { tags: { team: "blue" } },
        ...call,
      });
      expect(told).toMatchObject({ outcomes: { retried: 1 } });
      expect(await rows(parent)).toEqual([untold]);
    });
  },
  { perTest: true },
);
