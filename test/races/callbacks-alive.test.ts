/** Which URLs of callbacks may still be answered, of a run whose history has several epochs. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, at, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the URL of a callback",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "positions are dense from 1, and last_position is the last",
        "a parked run that a signal or an answer waits for is ready",
      ],
    });
    /** The run is at its epoch 3: it goes on, from its second record, what it did in its epoch 1. */
    const aRunOfTwoEpochs = async ({ why = "retried", failedAt }: { why?: string; failedAt?: number } = {}) => {
      const run = await aRun(stage);
      await stage.onlooker.query("update layover.run_state set epoch = 3 where run_id = $1", [run.id]);
      const segments = [1, 3].map((epoch) => ({ run: run.id, epoch, from: epoch === 1 ? 0 : 2, at: 0 }));
      await stage.onlooker.query(
        `insert into layover.epoch (run_id, epoch, why, is_input_parsed, began_at, kept, segments, before)
           values ($1, 3, $2, true, layover.now(), 1, $3, $4)`,
        [
          run.id,
          why,
          JSON.stringify(segments),
          { state: { failure: failedAt === undefined ? null : { at: failedAt } } },
        ],
      );
      return run;
    };
    const wait = ({ id }: Run, kind: string, more: { path?: string; occurrence?: number; epoch?: number } = {}) =>
      stage.onlooker.query(
        `insert into layover.pending (run_id, kind, path, occurrence, demanded_after, ordinal, until, callback_epoch)
           values ($1, $2, $3, $4, 0, 1, layover.now() + interval '1 day', $5)`,
        [id, kind, more.path ?? "it", more.occurrence ?? 1, more.epoch ?? null],
      );
    const outcome = async (
      run: Run,
      url: { readonly epoch: number; readonly madeAt?: number; readonly madeIn?: number },
    ) =>
      (
        await stage.onlooker.call("answer_callback", {
          ...{ runId: run.id, ...at("it"), outcome: "resolved", value: "0true", armed: [soon] },
          ...url,
        })
      ).outcome;

    test.each([
      ["made ahead of what its epoch went on", { epoch: 1, madeAt: 1 }, "answered"],
      ["made there by the next epoch", { epoch: 3, madeAt: 2 }, "answered"],
      ["made later by that", { epoch: 3, madeAt: 9 }, "answered"],
      ["made there by the epoch before", { epoch: 1, madeAt: 2 }, "over"],
      ["made ahead of that, as it says, by the next epoch", { epoch: 3, madeAt: 1 }, "over"],
      ["of the epoch before, that does not say where it was made", { epoch: 1 }, "answered"],
      ["of the present one, that does not say that", { epoch: 3 }, "answered"],
      ["of an epoch that was left", { epoch: 2 }, "over"],
    ])("%s", async (_, url, told) => {
      expect(await outcome(await aRunOfTwoEpochs(), url)).toBe(told);
    });

    describe("of a run that was repaired,", () => {
      test.each([
        ["was made behind what a retry has dropped", { epoch: 1, madeAt: 9 }, { failedAt: 3 }, "answered"],
        ["was made when that failed", { epoch: 1, madeAt: 3 }, { failedAt: 3 }, "answered"],
        ["was made ahead of it", { epoch: 1, madeAt: 2 }, { failedAt: 3 }, "over"],
        ["was made by the retry", { epoch: 3, madeAt: 1 }, { failedAt: 1 }, "over"],
        ["was made then, of the epoch before", { epoch: 1, madeAt: 9, madeIn: 3 }, { failedAt: 3 }, "over"],
        ["was made between the two", { epoch: 1, madeAt: 9, madeIn: 2 }, { failedAt: 3 }, "answered"],
        ["was made by an epoch that was left", { epoch: 2, madeAt: 9 }, { failedAt: 3 }, "over"],
        [
          "was made after a failure, if the run was restarted",
          { epoch: 1, madeAt: 9 },
          { why: "restarted", failedAt: 3 },
          "over",
        ],
      ])("the URL %s", async (_, url, repaired, told) => {
        await aRunOfTwoEpochs({ failedAt: 1 });
        expect(await outcome(await aRunOfTwoEpochs(repaired), url)).toBe(told);
      });
    });

    describe("that says where it was made, while something waits:", () => {
      test.each([
        ["its own wait", { epoch: 1, madeAt: 9 }, { epoch: 1 }, "answered"],
        ["a wait of the present epoch", { epoch: 1, madeAt: 1 }, {}, "over"],
      ])("%s", async (_, url, waits, told) => {
        const run = await aRunOfTwoEpochs();
        await wait(run, "callback", waits);
        expect(await outcome(run, url)).toBe(told);
      });
    });

    describe("that does not say where it was made, while something waits:", () => {
      test.each<
        readonly [
          what: string,
          url: { readonly epoch: number },
          arrange: (run: Run, other: Run) => Promise<unknown>,
          told: string,
        ]
      >([
        ["its own wait", { epoch: 1 }, (run) => wait(run, "callback", { epoch: 1 }), "answered"],
        ["a wait of the present epoch", { epoch: 1 }, (run) => wait(run, "callback"), "over"],
        ["a wait of the epoch before", { epoch: 3 }, (run) => wait(run, "callback", { epoch: 1 }), "over"],
        ["something else at its place", { epoch: 1 }, (run) => wait(run, "sleep"), "answered"],
        ["another place", { epoch: 1 }, (run) => wait(run, "callback", { path: "other" }), "answered"],
        ["another occurrence", { epoch: 1 }, (run) => wait(run, "callback", { occurrence: 2 }), "answered"],
        ["another run", { epoch: 1 }, (_, other) => wait(other, "callback"), "answered"],
      ])("%s", async (_, url, arrange, told) => {
        const [run, other] = [await aRunOfTwoEpochs(), await aRunOfTwoEpochs()];
        await arrange(run, other);
        expect(await outcome(run, url)).toBe(told);
      });
    });
  },
  { perTest: true },
);
