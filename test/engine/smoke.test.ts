import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

test("lost", async () => {
  const told: string[] = [];
  const { view, world } = await play(database, async ({ step }, world) => {
    world.fate = ({ what }) => (what === "renew_leases" && world.time < 80_000 ? "fails before" : "passes");
    await Promise.all([
      step.run(
        "it",
        async ({ abortSignal }) => {
          const began = world.time;
          console.log("began", began);
          abortSignal.addEventListener("abort", () => told.push(`${began}: ${abortSignal.reason.message}`));
          await world.foreign(began === 0 ? "8 minutes" : "6 minutes");
          return began;
        },
        { timeout: "1 hour" },
      ),
      step.run("beside", () => 0),
    ]);
  });
  console.log(
    world.calls.map((c) => c.port + c.number + c.what).join("\n"),
    world.errors.map((e) => e.doing + e.error),
  );
});
test("due", async () => {
  const urls: string[] = [];
  const world = await worldOf(
    database,
    async ({ step }) =>
      step.waitForCallback(
        "approval",
        ({ url, attempt }) => {
          urls.push(url);
          console.log(world.time);
          if (attempt < 3) throw new Error("the mail server is down");
        },
        { timeout: "1 hour", onTimeout: "null", retry: { delay: "10 minutes" } },
      ),
    { warmRuns: 0 },
  );
  const run = await world.start(tested);
  try {
    await world.run(run);
  } catch (e) {
    console.log(e, world.time);
    console.log(
      world.calls.map((c) => c.port + c.number + c.what).join("\n"),
      world.errors.map((e) => e.doing + e.error),
    );
  }
});
