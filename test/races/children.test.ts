/** A run that another one waits for: how its end reaches its parent, and in which order both are locked. */
import { beforeEach, describe, expect, test } from "vitest";
import type * as wire from "../../src/postgres/wire.ts";
import type { OperateRunsAnswer } from "../../src/postgres/wire-operations.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, freshIds } from "./invoking.ts";
import { aRecord, aRunAtWork, noon, Run, second, soon, terms, tokenOf } from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

/** The id of a call that means all runs: none has a later id. */
const lastId = "ffffffff-ffff-7000-8000-000000000001";

let ids = freshIds();
beforeEach(() => {
  ids = freshIds();
});

/** A run that waits for these, each claimed with its path as the token. */
async function aFamily(stage: Stage, children: readonly wire.NewChild[]) {
  const parent = await aRunAtWork(stage, { runId: ids.parent });
  await parent.finish(stage.onlooker, { token: "first", children });
  const runs = children.map(({ runId }) => new Run(stage, runId));
  for (const [index, run] of runs.entries()) await run.claim(stage.onlooker, { token: children[index]?.path ?? "" });
  return { parent, runs };
}

const ending = (run: Run | undefined, token: string) => (session: Session) =>
  run?.finish(session, { token, next: "completed", value: `0"${token}"` }) ?? Promise.reject(new Error("no run"));

const ends = async (stage: Stage, parent: Run) => {
  const claimed = await parent.claim(stage.onlooker, { turn: 2, token: "second" });
  return "children" in claimed ? claimed.children?.ends.map(({ path, value }) => [path, value]) : claimed.outcome;
};

describeSomePostgres("a run that another one waits for", (database) => {
  const stage = stageOn(database);

  test("tells its parent once though its last finish comes twice", async () => {
    const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a")]);
    const told = await ending(runs[0], "a")(stage.onlooker);
    expect(told).toMatchObject({ outcome: "finished", others: [{ runId: ids.parent, turn: 2 }] });
    expect(await ending(runs[0], "a")(stage.onlooker)).toEqual(told);
    expect(await ends(stage, parent)).toEqual([["a", '0"a"']]);
    await parent.finish(stage.onlooker, {
      token: "second",
      next: "ready",
      records: [aRecord("child", "a", { value: '0"a"' })],
    });
    await ending(runs[0], "a")(stage.onlooker);
    expect(await parent.pending()).toEqual({});
  });

  test("ends though somebody has locked a run that neither of them knows", async () => {
    const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a")]);
    const stranger = await aRunAtWork(stage);
    await stage.hold("select from layover.run_state where run_id = $1 for update", [stranger.id]);
    await stage.onlooker.query("set statement_timeout = '5s'");
    expect(await ending(runs[0], "a")(stage.onlooker)).toMatchObject({ outcome: "finished" });
    expect(await ends(stage, parent)).toEqual([["a", '0"a"']]);
  });

  test("and another one both reach the parent if they end at the same time", async () => {
    const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a"), childOf(ids.two, "b", { ordinal: 2 })]);
    await stage.collide({ first: ending(runs[0], "a"), second: ending(runs[1], "b") });
    expect(await ends(stage, parent)).toEqual([
      ["a", '0"a"'],
      ["b", '0"b"'],
    ]);
  });

  test.each(["cancel", "terminate"] as const)("may end while the %s of its parent is under way", async (verb) => {
    for (const isFirst of [true, false]) {
      await stage.onlooker.query(
        "truncate layover.run, layover.run_state, layover.pending, layover.record, layover.operation",
      );
      const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a")]);
      const operate = (session: Session) => parent.operate(session, verb);
      const [first, second] = isFirst ? [operate, ending(runs[0], "a")] : [ending(runs[0], "a"), operate];
      await stage.collide<unknown, unknown>({ first, second });
      expect(await runs[0]?.state()).toMatchObject({ status: "completed" });
      expect(await parent.state()).toMatchObject(verb === "cancel" ? { isReady: true } : { status: "cancelled" });
    }
  });

  test("reaches a parent that parks at that time", async () => {
    const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a")]);
    await parent.signal(stage.onlooker, "address");
    await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [ids.parent]);
    await parent.claim(stage.onlooker, { turn: 2, token: "parks" });
    await stage.collide({
      first: (session) => parent.finish(session, { token: "parks" }),
      second: ending(runs[0], "a"),
    });
    expect(await parent.state()).toMatchObject({ isReady: true });
  });

  test("reaches a parent whose turn is under way, once that is finished", async () => {
    const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a")]);
    await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [ids.parent]);
    await parent.claim(stage.onlooker, { turn: 2, token: "parks" });
    expect(await ending(runs[0], "a")(stage.onlooker)).not.toHaveProperty("others.0");
    expect(await parent.finish(stage.onlooker, { token: "parks" })).toMatchObject({ isReady: true });
  });

  test("that ends after its parent's deadline does not make it ready", async () => {
    const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a", { until: noon - second })]);
    await ending(runs[0], "a")(stage.onlooker);
    const { children } = (await parent.claim(stage.onlooker, { turn: 2, token: "second" })) as wire.ClaimedRun;
    expect(children?.ends).toMatchObject([{ endedAt: noon }]);
  });

  test.each([true, undefined])(
    "that ended after its parent's deadline leaves no row, once that is recorded (bound: %s)",
    async (isBound) => {
      const more = isBound ? { isBound } : {};
      const { parent, runs } = await aFamily(stage, [childOf(ids.one, "a", { until: noon - second, ...more })]);
      await ending(runs[0], "a")(stage.onlooker);
      await parent.claim(stage.onlooker, { turn: 2, token: "second" });
      const { value: _, ...late } = aRecord("child", "a");
      await parent.finish(stage.onlooker, { token: "second", records: [late] });
      expect(await parent.pending()).toEqual({});
    },
  );

  describe("takes its locks in the one order:", () => {
    const isFree = async (runId: string) =>
      (await stage.look("select from layover.run_state where run_id = $1 for update skip locked", [runId])).length ===
      1;
    const doors = {
      "a finish": ending,
      "a cancel": (run: Run | undefined) => (session: Session) => run?.operate(session, "cancel"),
      "a termination": (run: Run | undefined) => (session: Session) => run?.operate(session, "terminate"),
    };

    test.each(Object.entries(doors))("%s locks the parent before the child, whose id is later", async (_, door) => {
      const { runs } = await aFamily(stage, [childOf(ids.one, "a")]);
      let isChildFree: boolean | undefined;
      await stage.collide<unknown, unknown>({
        first: (session) => session.query("select from layover.run_state where run_id = $1 for update", [ids.parent]),
        second: async (session) => door(runs[0], "a")(session),
        meanwhile: async () => {
          isChildFree = await isFree(ids.one);
        },
      });
      expect(isChildFree).toBe(true);
    });

    test("a finish locks the child before the parent, whose id is later", async () => {
      const { runs } = await aFamily(stage, [childOf(ids.early, "a")]);
      let isParentFree: boolean | undefined;
      await stage.collide<unknown, unknown>({
        first: (session) => session.query("select from layover.run_state where run_id = $1 for update", [ids.early]),
        second: ending(runs[0], "a"),
        meanwhile: async () => {
          isParentFree = await isFree(ids.parent);
        },
      });
      expect(isParentFree).toBe(true);
    });

    test("a finish of a run that closes locks the child that it asks to end before the parent, whose id is later", async () => {
      const { parent } = await aFamily(stage, [childOf(ids.early, "a", { isBound: true })]);
      await stage.onlooker.query(
        `update layover.run_state set timeout_at = layover.now() where run_id = '${ids.parent}'`,
      );
      await parent.claim(stage.onlooker, { turn: 2, token: "closes" });
      let isParentFree: boolean | undefined;
      await stage.collide<unknown, unknown>({
        first: (session) => session.query("select from layover.run_state where run_id = $1 for update", [ids.early]),
        second: (session) => parent.finish(session, { token: "closes", position: 1, next: "ready" }),
        meanwhile: async () => {
          isParentFree = await isFree(ids.parent);
        },
      });
      expect(isParentFree).toBe(true);
      expect(
        await stage.look("select from layover.run_state where run_id = $1 and cancel_requested_at is not null", [
          ids.early,
        ]),
      ).toHaveLength(1);
    });

    test("a call of several finishes locks the parent before a run between the two", async () => {
      const { runs } = await aFamily(stage, [childOf(ids.one, "a")]);
      const other = await aRunAtWork(stage, { runId: ids.other });
      const turns = [
        other.toFinish({ token: "first", next: "ready" }),
        runs[0]?.toFinish({ token: "a", next: "completed", value: "0null" }),
      ];
      let isOtherFree: boolean | undefined;
      await stage.collide<unknown, unknown>({
        first: (session) => session.query("select from layover.run_state where run_id = $1 for update", [ids.parent]),
        second: (session) => session.call("finish_turns", { ...terms, turns }),
        meanwhile: async () => {
          isOtherFree = await isFree(ids.other);
        },
      });
      expect(isOtherFree).toBe(true);
      expect(await runs[0]?.state()).toMatchObject({ status: "completed" });
      expect(tokenOf("first")).not.toBe(tokenOf("a"));
    });

    test.each(["cancel", "terminate"] as const)(
      "a %s of many runs locks the parent before a run between the two, and tells its turn",
      async (verb) => {
        const { runs } = await aFamily(stage, [childOf(ids.one, "a")]);
        const other = await aRunAtWork(stage, { runId: ids.other });
        await stage.onlooker.query("update layover.run set workflow = 'many' where id = any ($1)", [
          [ids.one, ids.other],
        ]);
        const p = { verb, filter: { workflow: "many" }, callId: lastId, armed: [soon] };
        let isOtherFree: boolean | undefined;
        const [, told] = await stage.collide<unknown, OperateRunsAnswer>({
          first: (session) => session.query("select from layover.run_state where run_id = $1 for update", [ids.parent]),
          second: (session) => session.call("operate_runs", p),
          meanwhile: async () => {
            isOtherFree = await isFree(ids.other);
          },
        });
        expect(isOtherFree).toBe(true);
        if (verb === "cancel") return expect(told.outcomes).toEqual({ cancelling: 2 });
        expect(told.turns).toEqual([{ runId: ids.parent, turn: 2 }]);
        expect(await other.state()).toMatchObject({ status: "cancelled" });
        expect(await runs[0]?.state()).toMatchObject({ status: "cancelled" });
      },
    );

    test.each([
      ["cancel", {}],
      ["terminate", {}],
      ["delete", { cancels: true }],
    ])(
      "a %s of many runs locks a child that it asks to end before the parent, whose id is later",
      async (verb, more) => {
        await aFamily(stage, [childOf(ids.early, "a", { isBound: true })]);
        await stage.onlooker.query("update layover.run set workflow = 'bound' where id = $1", [ids.parent]);
        const p = { verb, ...more, filter: { workflow: "bound" }, callId: lastId, armed: [soon] };
        let isParentFree: boolean | undefined;
        await stage.collide<unknown, unknown>({
          first: (session) => session.query("select from layover.run_state where run_id = $1 for update", [ids.early]),
          second: (session) => session.call("operate_runs", p),
          meanwhile: async () => {
            isParentFree = await isFree(ids.parent);
          },
        });
        expect(isParentFree).toBe(true);
      },
    );
  });

  test("has a number above it and a number before it, and neither grows without end", async () => {
    const { runs } = await aFamily(stage, [childOf(ids.one, "a")]);
    const chain = (): Promise<unknown> => stage.look("select depth, chain from layover.run where id = $1", [ids.two]);
    await runs[0]?.finish(stage.onlooker, {
      token: "a",
      children: [childOf(ids.two, "b", { isDetached: true })],
      armed: [soon],
    });
    expect(await chain()).toEqual([{ depth: 0, chain: 2 }]);
  });
});
