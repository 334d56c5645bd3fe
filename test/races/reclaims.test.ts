/** A claim may find a lease that is over, a run that waits, or code that does not fit. It answers and writes accordingly. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { rowsOn } from "./rows.ts";
import {
  aParkedRun,
  aRun,
  aRunAtWork,
  aWaitFor,
  minute,
  noon,
  type Run,
  second,
  soon,
  terms,
  tokenOf,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the claim of a run",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "a parked run is ready from its cancel, its timeout or the end of its cleanups' hour on",
      ],
    });
    const { set, state } = rowsOn(stage);
    const at = (ms: number) => `layover.now() + interval '${ms} ms'`;
    /** It has lost the lease of its first turn. */
    const aLostOne = async () => {
      const run = await aRunAtWork(stage);
      await stage.clock.advance(minute);
      return run;
    };
    const claim = (run: Run, more: object = {}) => run.claim(stage.onlooker, { token: "next", ...more });

    beforeEach(async () => {
      await stage.onlooker.query("set statement_timeout = '5s'");
    });

    test("takes over the lease of another one that is over, and says so in its row", async () => {
      const run = await aLostOne();
      await set(run, `lost = 0, spared = 2, claims = 3, dispatches = 2, is_interrupted = false, due_at = ${at(1000)}`);
      expect(await claim(run)).toMatchObject({ outcome: "claimed" });
      const columns = `status, turn, token, layover.to_ms(leased_until)::float8 as leased, lost, spared, lost_token, is_interrupted, claims, dispatches,
        layover.to_ms(due_at)::float8 as due`;
      const taken = {
        status: "running",
        turn: 1,
        token: tokenOf("next"),
        leased: noon + 2 * minute,
        due: noon + minute + second,
      };
      const counted = {
        lost: 1,
        spared: 0,
        lost_token: tokenOf("first"),
        is_interrupted: true,
        claims: 3,
        dispatches: 0,
      };
      expect(await state(run, columns)).toEqual({ ...taken, ...counted });
      await stage.clock.advance(minute);
      await set(run, "lost = 3, spared = 2, due_at = null");
      await claim(run, { token: "third", groupSize: 1 });
      const later = { token: tokenOf("third"), leased: noon + 3 * minute, due: noon + 2 * minute };
      expect(await state(run, columns)).toEqual({
        ...taken,
        ...counted,
        ...later,
        lost: 4,
        spared: 2,
        lost_token: tokenOf("next"),
      });
    });

    test("of a run that nobody held loses no lease, and forgets why it was blocked", async () => {
      const run = await aRun(stage);
      await set(
        run,
        `blocked = 'why', due_at = null, ready_at = ${at(1000)}, lost_token = '${tokenOf("old")}', lost = 2, spared = 1`,
      );
      expect(await claim(run)).toMatchObject({ outcome: "claimed" });
      expect(
        await state(run, "lost, spared, lost_token, is_interrupted, blocked, layover.to_ms(due_at)::float8 as due"),
      ).toEqual({
        ...{ lost: 2, spared: 1, lost_token: tokenOf("old"), is_interrupted: false, blocked: null },
        due: noon,
      });
    });

    test("waits for no other run, and answers of this one alone", async () => {
      const [run, other] = [await aLostOne(), await aLostOne()];
      await stage.clock.advance(minute);
      await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
      expect(await claim(run)).toMatchObject({ outcome: "claimed" });
      expect(await claim(run)).toMatchObject({ outcome: "claimed" });
      expect(await state(other, "token")).toEqual({ token: tokenOf("first") });
    });

    test("comes from the very instant on at which the run is ready", async () => {
      const run = await aLostOne();
      await set(run, "status = 'parked', token = null, leased_until = null, ready_at = layover.now(), lost = 2");
      expect(await claim(run, { token: "next", groupSize: 1 })).toMatchObject({ outcome: "claimed" });
    });

    describe("is told why it fails:", () => {
      test.each<readonly [what: string, change: string, more: object, told: object]>([
        [
          "the run is over",
          "status = 'failed', error = '0{}', ended_at = layover.now(), token = null, leased_until = null, due_at = null, ready_at = null",
          {},
          { outcome: "over", status: "failed" },
        ],
        ["the turn is over", "turn = 2", {}, { outcome: "stale", turn: 2 }],
        ["somebody has a lease", `leased_until = ${at(1)}`, {}, { outcome: "busy", until: noon + minute + 1 }],
        ["the run is paused", "paused_at = layover.now(), due_at = null", {}, { outcome: "paused" }],
        [
          "the run is not ready",
          `status = 'parked', token = null, leased_until = null, ready_at = ${at(1)}`,
          {},
          { outcome: "not_ready", readyAt: noon + minute + 1 },
        ],
        [
          "the run waits for something",
          "status = 'parked', token = null, leased_until = null, ready_at = null",
          {},
          { outcome: "not_ready", readyAt: null },
        ],
        ["its set is too large", "lost = 2", { groupSize: 5 }, { outcome: "alone", groupSize: 4 }],
        [
          "it is looked at too late",
          `dispatches = 3, due_at = ${at(3 * minute + 1)}`,
          {},
          { outcome: "due_late", dueAt: noon + 4 * minute + 1 },
        ],
      ])("%s", async (_, change, more, told) => {
        const run = await aLostOne();
        await set(run, change);
        const turns = [run.toClaim({ token: "next", ...more })];
        const answer = await stage.onlooker.call("claim_turns", { ...terms, movesDue: true, turns });
        expect(answer.turns).toEqual([told]);
      });

      test("another namespace has none of that id", async () => {
        const run = await aLostOne();
        const turns = [run.toClaim({ token: "next" })];
        const answer = await stage.onlooker.call("claim_turns", {
          ...terms,
          namespace: "shop",
          environment: "shop",
          turns,
        });
        expect(answer.turns).toEqual([{ outcome: "unknown" }]);
      });
    });

    describe("of code that may not fit", () => {
      const ask = async (run: Run, more: object) => {
        const turns = [run.toClaim({ token: "next" })];
        return (await stage.onlooker.call("claim_turns", { ...terms, ...more, turns })).turns[0]?.outcome;
      };
      const refused = (run: Run, deployment: string) =>
        set(run, `refused_by = '{"${deployment}": {"at": ${noon + minute}, "why": "no"}}'`);

      test.each<
        readonly [what: string, arrange: (run: Run, other: Run) => Promise<unknown>, more: object, outcome: string]
      >([
        [
          "is refused where it lacks the workflow",
          (run) => stage.onlooker.query("update layover.run set workflow = 'other' where id = $1", [run.id]),
          {},
          "not_here",
        ],
        [
          "is refused where it lacks the version",
          (run) => stage.onlooker.query("update layover.run set version = 2 where id = $1", [run.id]),
          {},
          "not_here",
        ],
        [
          "is granted where another run is of another workflow",
          (_, other) => stage.onlooker.query("update layover.run set workflow = 'other' where id = $1", [other.id]),
          {},
          "claimed",
        ],
        [
          "is refused where it knows no epochs, and the run has several",
          (run) => set(run, "epoch = 1"),
          {},
          "not_here",
        ],
        ["is granted where it knows epochs", (run) => set(run, "epoch = 1"), { knowsEpochs: true }, "claimed"],
        ["is granted where it knows no epochs, and the run has one", async () => {}, {}, "claimed"],
        [
          "is refused where it does not know the close of a run whose handler has thrown",
          (run) => set(run, "cancel_reason = 'its handler has thrown'"),
          {},
          "not_here",
        ],
        [
          "is granted where it knows the close of a run whose handler has thrown",
          (run) => set(run, "cancel_reason = 'its handler has thrown'"),
          { knowsThrows: true },
          "claimed",
        ],
        [
          "is granted where it does not know that, and the run closes for another reason",
          (run) => set(run, "cancel_reason = 'ordered twice'"),
          {},
          "claimed",
        ],
        [
          "is refused where it has refused the run",
          (run) => refused(run, "green"),
          { deployment: "green" },
          "not_here",
        ],
        [
          "is granted where another one has refused the run",
          (run) => refused(run, "blue"),
          { deployment: "green" },
          "claimed",
        ],
        ["is granted where nobody has refused the run", async () => {}, { deployment: "green" }, "claimed"],
      ])("%s", async (_, arrange, more, outcome) => {
        await noteOn(stage)("green", "green", { versions: { flow: [1] } });
        const [run, other] = [await aLostOne(), await aRunAtWork(stage)];
        await arrange(run, other);
        await stage.clock.advance(minute);
        expect(await ask(run, more)).toBe(outcome);
      });
    });

    test("of a run whose cancel was asked for is granted though it is not ready, and soon looked at", async () => {
      const run = await aParkedRun(stage, [aWaitFor("go")]);
      await set(run, `cancel_requested_at = layover.now(), due_at = ${at(minute)}`);
      expect(await claim(run, { turn: 2 })).toMatchObject({ outcome: "claimed" });
      expect(await run.state()).toMatchObject({ dueAt: soon });
    });
  },
  { perTest: true },
);
