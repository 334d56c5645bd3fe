import { Pool } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import { pg } from "../../src/postgres/pg.ts";
import { testDatabase } from "../postgres/database.ts";
import { startPgBouncer, whyNoPgBouncer } from "../postgres/pgbouncer.ts";

const why = whyNoPgBouncer();
if (why !== undefined) console.warn(`Skipped, so layover behind PgBouncer is not tested here: ${why}`);

describe.skipIf(why !== undefined)("behind PgBouncer in transaction mode, with all else as it is by default", () => {
  const database = testDatabase({ isOwn: true });

  test("300 starts at once succeed, and each body runs once, though statements are prepared by default", async () => {
    const bouncer = await startPgBouncer(database.url);
    onTestFinished(() => bouncer.stop());
    const pool = new Pool({ connectionString: bouncer.url });
    onTestFinished(() => pool.end());

    const bodies = new Map<number, number>();
    const charge = workflow({ name: "charge", version: 1, input: z.number(), output: z.number() });
    const chargeWorkflow = charge.handler(({ input, step }) =>
      step.run("charge", () => {
        bodies.set(input, (bodies.get(input) ?? 0) + 1);
        return input * 2;
      }),
    );
    const layover = await startInProcess({ workflows: [chargeWorkflow], database: pg(pool) });
    onTestFinished(() => layover.close());

    const numbers = Array.from({ length: 300 }, (_, number) => number);
    const runs = await Promise.all(numbers.map((number) => layover.client.start(charge, number)));
    const results = await Promise.all(runs.map((run) => run.result({ wait: "20s" })));
    expect(results).toEqual(numbers.map((number) => number * 2));
    expect([...bodies.values()].filter((times) => times !== 1)).toEqual([]);
    expect(bodies.size).toBe(300);
  });
});
