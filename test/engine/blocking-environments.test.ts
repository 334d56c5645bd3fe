/** Databases of another environment: nothing in them is carried out here. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("a database of another environment", () => {
  const handle: TestedHandler = async ({ step }) => {
    await step.sleep("nap", "1 hour");
    return step.run("it", () => 1);
  };

  test("that was copied carries out nothing until somebody adopts it", async () => {
    const world = await worldOf(database, handle);
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ endpoint: "copy.example.com/main" });
    await world.pass("1 day");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued", records: 0 });
    expect(world.errors[0]).toMatchObject({ error: { code: "wrong_environment" } });

    const call = JSON.stringify({
      namespace: world.namespace,
      environment: "default",
      endpoint: "copy.example.com/main",
    });
    await database.query("select layover.adopt_environment($1)", [call]);
    await world.deploy({ endpoint: "copy.example.com/main" });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 1 });
  });

  test("of another name carries out nothing", async () => {
    const world = await worldOf(database, handle);
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.deploy({ environment: "staging" });
    await world.pass("2 hours");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued", records: 0 });
    await world.deploy({ environment: "default" });
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });
});
