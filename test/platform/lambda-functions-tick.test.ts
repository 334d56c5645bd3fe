/** The function tick of AWS Lambda: what it does when it fails, when its dispatch is refused, and as the sweep. */
import { beforeEach, describe, expect, test } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import { minuteMs, minuteOf, minuteRingsAt } from "../../src/core/waking.ts";
import type { LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { lambdaEnv } from "./lambda-ground.ts";
import { context, PlayedLambda, start } from "./played-lambda.ts";

const database = testDatabase();
let lambda: PlayedLambda;

beforeEach(() => {
  lambda = new PlayedLambda(database);
});

describe("tick", () => {
  test("that fails arms the next one by its own clock, and ends well", async () => {
    lambda.refusing.add("parameters");
    await lambda.functions().tick({ tries: 1 }, context);
    expect(lambda.schedules.map(({ input }) => JSON.parse(input))).toEqual([{ minute: expect.any(Number), tries: 2 }]);
    expect(lambda.reported).toHaveLength(1);
  });

  test("that fails tells the next one how far to look, since the database's clock may have been set back meanwhile", async () => {
    const of = lambda.functions();
    await of.tick({}, context); // the first one of a deployment looks at all runs
    const runId = await start(of);
    await database.pool.query(
      "update layover.run_state set due_at = layover.now() + interval '4 minutes' where run_id = $1",
      [runId],
    );
    [lambda.invoked, lambda.schedules] = [[], []];
    const minute = minuteOf(hostClock.now());
    lambda.refusing.add("parameters");
    await lambda.functions().tick({ minute, readyUntil: minuteRingsAt(minute) + 5 * minuteMs }, context);
    lambda.refusing.clear();
    await of.tick(JSON.parse(lambda.schedules[0]?.input ?? ""), context);
    expect(JSON.stringify(lambda.invoked)).toContain(runId);
  });

  test("that fails though the database's time is known arms one tick only, which knows of the tries", async () => {
    let isAway = false;
    const query: typeof database.query = Object.assign(
      async (...call: Parameters<typeof database.query>) => {
        if (isAway && call[0].includes("layover.list_due")) throw new QueryError("no", { isRolledBack: true });
        return await database.query(...call);
      },
      { endpoint: database.query.endpoint },
    );
    const of = lambda.functions({ database: () => query });
    await of.tick({}, context);
    isAway = true;
    lambda.schedules = [];
    lambda.ahead = { wall: 600_000, monotonic: 600_000 }; // what was armed has rung
    await of.tick({ tries: 2 }, context);
    expect(lambda.schedules.map(({ input }) => JSON.parse(input))).toEqual([{ minute: expect.any(Number), tries: 3 }]);
  });

  test("that fails and can arm nothing rejects, so that Lambda tries again", async () => {
    lambda.refusing.add("parameters").add("schedule");
    await expect(lambda.functions().tick({}, context)).rejects.toThrow("schedule is refused");
  });

  test("whose dispatch is refused arms the next one, and makes its runs due again", async () => {
    const of = lambda.functions();
    const runId = await start(of);
    await database.pool.query("update layover.run_state set due_at = layover.now() where run_id = $1", [runId]);
    lambda.refusing.add("invoke");
    lambda.schedules = [];
    await of.tick({}, context);
    expect(lambda.schedules.some(({ input }) => JSON.parse(input).tries === 1)).toBe(true);
    const { rows } = await database.pool.query(
      "select due_at < layover.now() + interval '2 minutes' as is_soon from layover.run_state where run_id = $1",
      [runId],
    );
    expect(rows).toEqual([{ is_soon: true }]);
  });

  test("looks after ten minutes at the latest at what Lambda took and nobody claimed, however often", async () => {
    const of = lambda.functions();
    await of.tick({}, context); // the first one of a deployment counts dispatches anew
    const runId = await start(of);
    await database.pool.query(
      "update layover.run_state set dispatches = 12, due_at = date_trunc('milliseconds', layover.now()) where run_id = $1",
      [runId],
    );
    await of.tick({}, context);
    const { rows } = await database.pool.query(
      `select dispatches, due_at > layover.now() + interval '2 minutes' and due_at <= layover.now() + interval '10 minutes'
         as is_backed_off from layover.run_state where run_id = $1`,
      [runId],
    );
    expect(rows).toEqual([{ dispatches: 13, is_backed_off: true }]);
  });

  describe("as the sweep", () => {
    const dueFor = async (of: LambdaFunctions, interval: string) => {
      await of.tick({}, context); // the first one of a deployment looks at all runs
      const runId = await start(of);
      await database.pool.query(
        "update layover.run_state set due_at = date_trunc('milliseconds', layover.now() - $2::interval) where run_id = $1",
        [runId, interval],
      );
    };
    const told = () => lambda.reported.map(String);

    test("tells of runs for which no alarm has rung", async () => {
      const of = lambda.functions();
      await dueFor(of, "4 minutes");
      await of.tick({ sweep: true }, context);
      expect(told()).toEqual([expect.stringContaining("1 run was due and no alarm rang for it")]);
    });

    test("says nothing of a run whose alarm may ring late yet", async () => {
      const of = lambda.functions();
      await dueFor(of, "50 seconds");
      await of.tick({ sweep: true }, context);
      expect(told()).toEqual([]);
    });

    test("says nothing if it is the first tick of a deployment, nor does any other tick", async () => {
      const of = lambda.functions();
      await dueFor(of, "4 minutes");
      await lambda.functions({ deployment: "another" }).tick({ sweep: true }, context);
      expect(told()).toEqual([]);
      await dueFor(of, "4 minutes");
      await of.tick({}, context);
      expect(told()).toEqual([]);
    });
  });

  test("names the variable that is missing", async () => {
    const { LAYOVER_TICK: _, ...others } = lambdaEnv;
    await expect(lambda.functions({}, others).tick({}, context)).rejects.toThrow("LAYOVER_TICK is missing");
  });
});
