import { expect, test } from "vitest";
import { workflow } from "../../src/core/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { tested, worldOf, type TestedHandler } from "./playing.ts";
import { World } from "./world.ts";
const database = testDatabase();
  test("blocks a run whose branch it does not ask for", async () => {
    const branches =
      (name: string): TestedHandler =>
      async ({ step }) =>
        Promise.all([
          step.run("left", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("later")) : 1), {
            retry: { delay: "10 minutes", jitter: false },
          }),
          step.run(name, ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("later")) : 1), {
            retry: { delay: "10 minutes", jitter: false },
          }),
        ]);
    const world = await worldOf(database, branches("right"));
    const run = await world.start(tested);
    await world.pass("1 minute");
    const show = (from = 0) => console.log(world.time, world.calls.slice(from).map((c) => c.port + c.number + c.what).join("\n"), world.errors.map(e => e.doing + e.error));
    show();
    await world.deploy({ workflows: [tested.handler(branches("wrong"))] });
    const view = await world.run(run);
    console.log(view);
    const c = world.calls.length;
    await world.deploy({ workflows: [tested.handler(branches("right"))] });
    console.log(await world.run(run), await world.history(run));
    show(c);
  });
  test("takes down nobody else: from its second claim on it goes alone", async () => {
    const contract = workflow({ name: "mixed", version: 1 });
    const bodies = new Map<string, number>();
    const world: World = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step, run }) =>
          step.run("it", () => {
            const id = run.id ?? "";
            bodies.set(id, (bodies.get(id) ?? 0) + 1);
            return id === "deadly" ? world.die() : world.foreign("1s");
          }),
        ),
      ],
      batch: 10,
    });
    const runs = [];
    for (const id of ["a", "b", "deadly", "c", "d"]) runs.push(await world.start(contract, undefined, { id }));
  await Promise.race([world.run(...runs), new Promise(r => setTimeout(r, 3000))]);
    const views = await Promise.all(runs.map(({ runId }) => world.get(runId)));
    console.log(views, bodies);
    const show = (from = 0) => console.log(world.time, world.calls.slice(from).map((c) => c.port + c.number + c.what).join("\n"), world.errors.map(e => e.doing + e.error));
show();
  });
