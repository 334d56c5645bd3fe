/**
 * What is cut, kept and given again of a history is decided by that history alone. Beside it stand decoys: another run, and
 * this run's own epoch before, which have the same places elsewhere, and endings and undos of them.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aRecord, aRunAtWork, at, aWaitFor, noon, Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("beside decoys", (database) => {
  const stage = stageOn(database, { breaks: ["a run that has closed, or ends, has nothing to wait for"] });
  type Records = readonly ReturnType<typeof aRecord>[];

  const repair = ({ id: runId }: Run, verb: "retry" | "restart", more: object = {}) =>
    stage.onlooker.call(`${verb}_run`, { runId, callId: randomUUID(), armed: [soon], ...more });
  const from = (path: string, occurrence = 1) => ({ from: { path, occurrence } });

  async function end(run: Run, token: string, records: Records, failure?: object): Promise<void> {
    const next =
      failure === undefined
        ? ({ next: "completed", value: "0null" } as const)
        : ({ next: "failed", value: "0{}" } as const);
    // The wire takes a failure as it is drawn here.
    const finish = { token, records, ...next, ...(failure && { failure }) } as Parameters<Run["finish"]>[1];
    expect(await run.finish(stage.onlooker, finish)).toMatchObject({ outcome: "finished" });
  }

  async function claimAgain(run: Run, told: unknown, token: string): Promise<void> {
    const turns = [run.toClaim({ turn: Number(Object(told).turn), token })];
    expect(await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).toMatchObject({
      turns: [{ outcome: "claimed" }],
    });
  }

  const decoy = [
    aRecord("step", "m"),
    aRecord("step", "b"),
    aRecord("step", "r", { isFailure: true, value: '0"old failure"' }),
    aRecord("close", "door/late", { value: "0true" }),
    aRecord("cancellation", ""),
    aRecord("step", "[undo]/z"),
    aRecord("step", "z"),
    aRecord("callback", "a", { value: "0true" }),
    aRecord("step", "x"),
    aRecord("step", "y"),
    aRecord("step", "yy"),
  ];

  /** A run in its second epoch, which has these records. Its first one was a decoy, as both epochs of another run are. */
  async function aRunBesideDecoys(records: Records, failure?: object): Promise<Run> {
    const epochs = async (second: Records, failure?: object) => {
      const run = await aRunAtWork(stage);
      await end(run, "first", decoy);
      await claimAgain(run, await repair(run, "restart", { encodedInput: '0"second"' }), "second");
      await end(run, "second", second, failure);
      return run;
    };
    await epochs(decoy);
    return await epochs(records, failure);
  }

  const story = [
    aRecord("step", "a/announce"),
    aRecord("step", "z"),
    aRecord("close", "x/announce", { value: "0false" }),
    aRecord("step", "b"),
    aRecord("step", "c", { value: "0true" }),
    aRecord("callback", "x", { value: "0true" }),
    aRecord("step", "a"),
    aRecord("step", "seven__z"),
  ];

  const paths = async ({ id }: Run, epoch: number) => {
    const rows = await stage.look(
      "select path, value, is_failure from layover.record where run_id = $1 and epoch = $2 order by position",
      [id, epoch],
    );
    return rows.map(({ path, value, is_failure: isFailure }) => `${path} ${isFailure ? "failed" : value}`);
  };

  describe("a restart", () => {
    test("cuts where this epoch has the place", async () => {
      const run = await aRunBesideDecoys(story);
      expect(await repair(run, "restart", { ...from("b"), dryRun: true })).toMatchObject({
        outcome: "would_restart",
        kept: 3,
        dropped: 5,
        records: story.slice(3).map(({ path, kind }, index) => ({ position: index + 4, path, kind })),
      });
      expect(await repair(run, "restart", from("b"))).toMatchObject({ outcome: "restarted", kept: 3, dropped: 5 });
    });

    test("is refused where a step before the cut is undone, and names the first of them", async () => {
      const undone = [
        ...[aRecord("step", "m"), aRecord("step", "n"), aRecord("ending", "", { value: '0{"owed":[]}' })],
        ...[aRecord("step", "[undo]/n"), aRecord("step", "[undo]/m")],
      ];
      const run = await aRunBesideDecoys(undone);
      expect(await repair(run, "restart", from("[undo]/m"))).toMatchObject({ outcome: "compensated", path: "m" });
      expect(await repair(run, "restart", from("n"))).toMatchObject({ outcome: "compensated", path: "m" });
    });

    test("goes before the first step that is undone", async () => {
      const undone = [
        ...[aRecord("step", "k"), aRecord("step", "m"), aRecord("ending", "", { value: '0{"owed":[]}' })],
        aRecord("step", "[undo]/m"),
      ];
      const run = await aRunBesideDecoys(undone);
      expect(await repair(run, "restart", from("m"))).toMatchObject({ outcome: "restarted", kept: 1, dropped: 3 });
    });

    test("is refused where the last record before the cut ends the run", async () => {
      const run = await aRunBesideDecoys([aRecord("step", "m"), aRecord("cancellation", ""), aRecord("step", "n")]);
      expect(await repair(run, "restart", from("n"))).toMatchObject({ outcome: "closing" });
      expect(await repair(run, "restart", from("m"))).toMatchObject({ outcome: "restarted", kept: 0 });
    });

    test("that is refused is kept with the run", async () => {
      const run = await aRunAtWork(stage);
      await end(run, "first", [aRecord("step", "m")]);
      const call = { callId: randomUUID(), ...from("n") };
      expect(await repair(run, "restart", call)).toMatchObject({ outcome: "unknown_place" });
      const kept = "select verdict::json->>'outcome' as outcome from layover.operation where run_id = $1";
      expect(await stage.look(kept, [run.id])).toEqual([{ outcome: "unknown_place" }]);
    });

    test("tells a hundred of the records that it would drop", async () => {
      const run = await aRunAtWork(stage);
      await end(
        run,
        "first",
        Array.from({ length: 104 }, (_, number) => aRecord("step", `s${number}`)),
      );
      const told = await repair(run, "restart", { ...from("s1"), dryRun: true });
      expect(told).toMatchObject({ outcome: "would_restart", kept: 1, dropped: 103 });
      expect(Object(told).records).toHaveLength(100);
    });

    test("from what the run waits for keeps all, and no other place will do", async () => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, {
        token: "first",
        records: [aRecord("step", "m")],
        demands: [aWaitFor("go", { demandedAfter: 1 })],
      });
      await run.operate(stage.onlooker, "pause");
      expect(await repair(run, "restart", from("gone"))).toMatchObject({ outcome: "unknown_place" });
      expect(await repair(run, "restart", from("go", 2))).toMatchObject({ outcome: "unknown_place" });
      expect(await repair(run, "restart", { ...from("go"), dryRun: true })).toMatchObject({
        ...{ outcome: "would_restart", kept: 1, dropped: 0, records: [] },
      });
    });
  });

  test.each([
    ["failed", "not_applicable"],
    ["cancelled", "cancelling"],
  ])("a second cancel is answered by how this epoch ends: %s", async (next, outcome) => {
    const run = await aRunBesideDecoys(story);
    const restarted = await repair(run, "restart");
    await run.operate(stage.onlooker, "cancel");
    await claimAgain(run, restarted, "third");
    const ending = aRecord("ending", "", { value: JSON.stringify({ next, error: "0{}", owed: [at("z")] }) });
    const steps = ["z", "b", "c", "d", "e", "f"].map((path) => aRecord("step", path));
    const finish = { token: "third", position: 1, next: "ready", ending: 1, records: [...steps, ending] } as const;
    expect(await run.finish(stage.onlooker, finish)).toMatchObject({ outcome: "finished" });
    expect(await run.operate(stage.onlooker, "cancel")).toMatchObject({ outcome });
  });

  describe("a fork", () => {
    const fork = async ({ id: runId }: Run, more: object = {}) => {
      const newRunId = randomUUID();
      const told = await stage.onlooker.call("fork_run", { runId, newRunId, armed: [soon], ...more });
      expect(told).toMatchObject({ outcome: "forked" });
      return new Run(stage, newRunId);
    };

    test("keeps what its own callbacks do not have announced again", async () => {
      const copy = await fork(await aRunBesideDecoys(story), from("c"));
      expect(await paths(copy, 1)).toEqual(["a/announce 0null", "z 0null", "x/announce 0false", "b 0null"]);
    });

    test("has the input of the last epoch, and closes what its own records close", async () => {
      const run = await aRunBesideDecoys([...story, aRecord("close", "door", { value: "0true" })]);
      await claimAgain(run, await repair(run, "restart", { encodedInput: '0"third"' }), "third");
      await end(run, "third", [...story, aRecord("close", "door", { value: "0true" }), aRecord("step", "end")]);
      const copy = await fork(run, from("end"));
      const [row] = await stage.look(
        "select r.input, t.closed from layover.run r join layover.run_state t on t.run_id = r.id where r.id = $1",
        [copy.id],
      );
      expect(row).toEqual({ input: '0"third"', closed: ["door"] });
    });

    test("is as young as its latest record, though the clock was set back", async () => {
      const records = [
        aRecord("step", "m", { at: noon + 5 * second }),
        aRecord("step", "n", { at: noon + 9 * second }),
      ];
      const run = await aRunBesideDecoys([...records, aRecord("step", "o", { at: noon + 9 * second })]);
      await stage.clock.set(noon - 60 * second);
      const copy = await fork(run, from("o"));
      const [row] = await stage.look(
        "select layover.to_ms(last_record_at)::float8 as at from layover.run_state where run_id = $1",
        [copy.id],
      );
      expect(row).toEqual({ at: noon + 9 * second });
    });
  });

  test("a retry gives results to this epoch's steps, and a signal for which only decoys are closed", async () => {
    const records = [
      ...[
        aRecord("step", "late", { value: "0true" }),
        aRecord("step", "n"),
        aRecord("step", "o"),
        aRecord("step", "p"),
      ],
      aRecord("step", "r", { isFailure: true }),
    ];
    const run = await aRunBesideDecoys(records, { at: 5, timeouts: [], lost: [], repeats: [] });
    const signal = { signalId: randomUUID(), name: "late", encodedPayload: "0null" };
    const results = [{ ...at("r"), value: '0"given"' }];
    expect(await repair(run, "retry", { results, signal, by: "ada" })).toMatchObject({
      outcome: "retried",
      kept: 5,
      dropped: 0,
    });
    expect(await paths(run, 2)).toEqual(["late 0true", "n 0null", "o 0null", "p 0null", 'r 0"given"']);
  });

  test("a retry is refused for its own children that have failed, and are not in what is kept", async () => {
    const parentOf = async (kept: string, last: string) => {
      const run = await aRunAtWork(stage);
      const ids = Array.from({ length: 5 }, () => randomUUID())
        .toSorted()
        .toReversed();
      const children = ids.map((runId, index) => aChild(`part ${index}`, { runId, ordinal: index + 1 }));
      await run.finish(stage.onlooker, { token: "first", children });
      for (const [index, id] of ids.entries()) {
        const child = new Run(stage, id);
        await child.claim(stage.onlooker, { token: id });
        const next = index === 3 ? "completed" : "failed";
        await child.finish(stage.onlooker, { token: id, next, value: "0{}" });
      }
      // The last one was started alone, in truth.
      await stage.look("update layover.run_state set has_parent = false where run_id = $1 returning run_id", [ids[4]]);
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      const records = [
        ...[aRecord("child", kept, { isFailure: true }), aRecord("step", "part 1")],
        aRecord("child", last, { isFailure: true, occurrence: 2 }),
        aRecord("child", last, { isFailure: true }),
      ];
      await end(run, "second", records, { at: 4, timeouts: [], lost: [], repeats: [] });
      return { run, ids };
    };
    await parentOf("part 0", "part 2");
    const { run, ids } = await parentOf("part 2", "part 0");
    expect(await repair(run, "retry")).toMatchObject({
      outcome: "child_failed",
      children: ids.slice(0, 2).toSorted(),
    });
  });
});
