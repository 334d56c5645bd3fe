/** Turns that are claimed alone, since processes died with them: which claims and beginnings count against them. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedStep, tested, worldOf } from "./playing.ts";
import type { World } from "./world.ts";
import type { Fate, PortCall } from "./world-options.ts";

const database = testDatabase();

describe("a turn that was claimed alone, of which", () => {
  /** Four processes die, so that the turn goes alone; `fate` decides what becomes of its claims and beginnings then. */
  const afterADeath = async (
    runIt: (step: TestedStep, body: () => unknown) => Promise<unknown>,
    fate: (call: PortCall, times: number) => Fate | Promise<Fate>,
    body: (times: number, world: World) => unknown = () => "done",
  ) => {
    let bodies = 0;
    const world: World = await worldOf(database, ({ step }) =>
      runIt(step, () => {
        bodies += 1;
        return bodies <= 4 ? world.die() : body(bodies, world);
      }),
    );
    const counts = new Map<string, number>();
    world.fate = (call) => {
      if (bodies < 4 || call.port !== "query") return "passes";
      const times = (counts.get(call.what) ?? 0) + 1;
      counts.set(call.what, times);
      return fate(call, times);
    };
    const view = await world.run(await world.start(tested));
    return { view, world, bodies };
  };
  const inline = (step: TestedStep, body: () => unknown) => step.run("it", body);
  const beside = async (step: TestedStep, body: () => unknown) =>
    (await Promise.all([step.run("it", body), step.sleep("nap", "1s")]))[0];

  describe.each([
    ["a step", inline],
    ["a branch", beside],
  ])("%s", (_, runIt) => {
    test("the answer never came was never begun, and is not given up for it", async () => {
      const { view, world, bodies } = await afterADeath(runIt, ({ what }, times) =>
        what === "claim_turns" && times <= 50 ? "dies after" : "passes",
      );
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(5);
      expect(world.deaths).toBe(54);
    });

    test("the answer ends each process is tried again later, and goes on when that has passed", async () => {
      const { view, bodies } = await afterADeath(runIt, ({ what }, times) =>
        what === "claim_turns" && times <= 60 ? "dies after" : "passes",
      );
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(5);
    });

    test("the answer ends each process is blocked after four tries, with the reason", async () => {
      const { view, bodies } = await afterADeath(runIt, ({ what }) =>
        what === "claim_turns" ? "dies after" : "passes",
      );
      expect(view).toMatchObject({
        status: "blocked",
        blocked: expect.stringMatching(/^51 invocations in a row claimed .+ and never finished it$/),
      });
      expect(bodies).toBe(4);
    });

    test("nobody can tell whether it was counted is begun all the same", async () => {
      for (const fate of ["fails before", "fails after"] as const) {
        const { view, bodies } = await afterADeath(runIt, ({ what }) => (what === "renew_leases" ? fate : "passes"));
        expect(view).toMatchObject({ status: "completed", result: "done" });
        expect(bodies).toBe(5);
      }
    });

    test("the lease is another's when it is to begin is left to that one", async () => {
      const { view, bodies } = await afterADeath(runIt, async ({ what }, times): Promise<Fate> => {
        if (what !== "renew_leases" || times > 1) return "passes";
        for (const table of ["run_state", "pending"])
          await database.pool.query(`update layover.${table} set token = layover.new_id() where token is not null`);
        return "passes";
      });
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(5);
    });

    test("each that began is counted once, however often that is said", async () => {
      const { view, world, bodies } = await afterADeath(
        runIt,
        async ({ what }, times) => (what === "renew_leases" && times % 2 === 1 ? "fails after" : "passes"),
        (times, world) => (times <= 8 ? world.die() : "done"),
      );
      expect(view).toMatchObject({ status: "completed", result: "done" });
      expect(bodies).toBe(9);
      expect(world.statements("renew_leases")).toBe(10);
    });
  });
});
