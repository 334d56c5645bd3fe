/** Whose database it is: a copy behind the same name is told apart by the database, a new name of the same one by the address. */
import { Pool } from "pg";
import { afterEach, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import type { InProcess, InProcessOptions } from "../../src/platform/node/in-process/options.ts";
import { pg } from "../../src/postgres/pg.ts";
import { copyRows } from "../postgres/copy-rows.ts";
import { describeEachPostgres } from "../postgres/database.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { describeEachDatabase } from "./databases.ts";

const charges: string[] = [];
const charge = workflow({ name: "charge", version: 1, signals: { hello: z.number() } });
const chargeWorkflow = charge.handler(({ step, run }) =>
  step.run("charge", () => {
    charges.push(run.runId);
  }),
);

const processes: InProcess[] = [];

afterEach(async () => {
  for (const each of processes.splice(0)) await each.close();
  charges.length = 0;
});

async function aProcess(options: Pick<InProcessOptions, "database"> & Partial<InProcessOptions>): Promise<InProcess> {
  const process = await startInProcess({ workflows: [chargeWorkflow], onError: () => {}, ...options });
  processes.push(process);
  return process;
}

/** Behind the same name, whichever database it is. */
const endpoint = "db.example.com/app";

async function aPool(url: string): Promise<Pool> {
  const pool = new Pool({ connectionString: url });
  pool.on("error", () => {});
  onTestFinished(async () => void pool.end());
  return pool;
}

describeEachPostgres(
  "whose database it is",
  (database) => {
    async function aRunUnderWay(): Promise<string> {
      const first = await aProcess({ database: pg(database.pool, { endpoint }) });
      await (await first.client.start(charge)).result({ wait: "20s" });
      await first.close();
      // Nobody here carries it out: it is what a copy finds ready.
      const second = await aProcess({ database: pg(database.pool, { endpoint }), workflows: [] });
      const { runId } = await second.client.start(charge, undefined, { id: "under way" });
      await second.close();
      charges.length = 0;
      return runId;
    }

    async function isRefused(copy: Pool, runId: string): Promise<void> {
      const errors: unknown[] = [];
      const { client, engine, calls, dispatch } = await aProcess({
        database: pg(copy, { endpoint }),
        onError: (error) => errors.push(error),
      });
      expect(await engine.tick()).toMatchObject({ isOurs: false });
      await dispatch.dispatch([{ runId, turn: 1 }], 0);
      await dispatch.idle();
      expect(charges).toEqual([]);
      expect(errors).toContainEqual(expect.objectContaining({ code: "wrong_environment" }));
      const refused = { code: "wrong_environment", message: expect.stringContaining("belongs to another database") };
      await expect(client.start(charge)).rejects.toMatchObject(refused);
      await expect(client.signal(runId, "hello", 1, { contract: charge })).rejects.toMatchObject(refused);
      const answer = { runId, epoch: 0, path: "x", occurrence: 1, outcome: "resolved", value: "0null" } as const;
      await expect(calls.answerCallback(answer)).rejects.toMatchObject({ sqlState: "LO010" });
      await expect(
        copy.query(`select layover.start_run('{"workflow": "charge", "version": 1}')`),
      ).rejects.toMatchObject({
        code: "LO010",
        hint: "If its runs are to be carried out here: npx layover adopt",
      });
      const { rows } = await copy.query("select count(*)::int as runs from layover.run");
      expect(rows).toEqual([{ runs: 2 }]);

      await calls.adoptEnvironment("default");
      const adopted = await aProcess({ database: pg(copy, { endpoint }) });
      await adopted.client.result(runId, { wait: "20s" });
      expect(charges).toEqual([runId]);
    }

    test("a restored copy on another server, behind the same name, carries nothing out until it is adopted", async () => {
      const runId = await aRunUnderWay();
      const { rows } = await database.pool.query("show server_version_num");
      const server = await startPostgres({ version: Number(rows[0].server_version_num) < 160_000 ? 15 : 18 });
      onTestFinished(async () => await server.stop());
      const copy = await aPool((await freshDatabase(server.url)).url);
      await copyRows(database.pool, copy);
      await isRefused(copy, runId);
    });

    test("so does a copy on the same server", async () => {
      const runId = await aRunUnderWay();
      const other = await freshDatabase(new URL("/postgres", database.url).href);
      onTestFinished(async () => await other.drop());
      const copy = await aPool(other.url);
      await copyRows(database.pool, copy);
      await isRefused(copy, runId);
    });

    test("the same database by another address is refused until the address is adopted, and then both serve", async () => {
      await aRunUnderWay();
      const other = pg(database.pool, { endpoint: "10.0.0.7/app" });
      const { client, engine, calls } = await aProcess({ database: other });
      expect(await engine.tick()).toMatchObject({ isOurs: false });
      await expect(client.start(charge)).rejects.toMatchObject({
        code: "wrong_environment",
        message: expect.stringContaining(
          'the namespace "default" does not know this database by the address "10.0.0.7/app"',
        ),
      });
      expect(await calls.adoptAddress("default")).toEqual({ outcome: "adopted" });
      await engine.tick();
      await (await client.start(charge)).result({ wait: "20s" });
      const before = await aProcess({ database: pg(database.pool, { endpoint }) });
      await (await before.client.start(charge)).result({ wait: "20s" });
      expect((await calls.diagnose()).environment).toMatchObject({
        addresses: [endpoint, "10.0.0.7/app"],
        isSameDatabase: true,
      });
    });

    test("an address of another environment, or of another database, is not adopted as one more", async () => {
      await aRunUnderWay();
      const { calls } = await aProcess({ database: pg(database.pool, { endpoint: "10.0.0.7/app" }) });
      expect(await calls.adoptAddress("staging")).toEqual({ outcome: "another_database" });
      await database.query("update layover.environment set identity = 'another'");
      expect(await calls.adoptAddress("default")).toEqual({ outcome: "another_database" });
      expect(await database.query("select other_endpoints from layover.environment")).toEqual([
        { other_endpoints: "{}" },
      ]);
    });

    test("what a release before wrote down takes its database at its own address only", async () => {
      const runId = await aRunUnderWay();
      await database.query("update layover.environment set identity = null");
      const elsewhere = await aProcess({ database: pg(database.pool, { endpoint: "10.0.0.7/app" }) });
      await elsewhere.dispatch.dispatch([{ runId, turn: 1 }], 0);
      await elsewhere.dispatch.idle();
      expect(await elsewhere.calls.adoptAddress("default")).toEqual({ outcome: "another_database" });
      const identity = "select identity = layover.identity() as is_known from layover.environment";
      expect(await database.query(identity)).toEqual([{ is_known: null }]);
      const here = await aProcess({ database: pg(database.pool, { endpoint }) });
      await here.client.result(runId, { wait: "20s" });
      expect(await database.query(identity)).toEqual([{ is_known: true }]);
    });
  },
  { isOwn: true },
);

describeEachDatabase("the identity of a database", (database) => {
  test("is the same at each look", async () => {
    const [first] = await database()("select layover.identity() as is");
    expect(first?.["is"]).toMatch(/^\d+\/\d+\/\w+$/);
    expect(await database()("select layover.identity() as is")).toEqual([first]);
  });
});
