/** The end of a run's mail: a finish that closes a name, and the signals and answers that come at that moment. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, noon, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const close = { kind: "close", path: "item", occurrence: 1, at: noon, value: "1true" } as const;

describeSomePostgres("a finish that closes a name", (database) => {
  const stage = stageOn(database);
  const end = (run: Run) => (session: Session) =>
    run.finish(session, { token: "first", next: "completed", value: "0null", records: [close], closes: ["item"] });
  const goOn = (run: Run) => (session: Session) =>
    run.finish(session, { token: "first", next: "parked", records: [close], closes: ["item"] });
  const send = (run: Run) => (session: Session) => run.signal(session, "item");

  describe.each([
    ["and ends the run", end, "over"],
    ["and parks it", goOn, "closed"],
  ] as const)("%s", (_, finish, refusal) => {
    test("refuses a signal that waits for its lock", async () => {
      const run = await aRunAtWork(stage);
      const [finished, refused] = await stage.collide({ first: finish(run), second: send(run) });
      expect(finished).toMatchObject({ outcome: "finished" });
      expect(refused).toMatchObject({ outcome: refusal });
    });

    test("is deferred where it waits for the lock of a signal of that name", async () => {
      const run = await aRunAtWork(stage);
      const [sent, deferred] = await stage.collide({ first: send(run), second: finish(run) });
      expect(sent).toMatchObject({ outcome: "sent" });
      expect(deferred).toMatchObject({ outcome: "deferred", isReady: true });
      const claimed = await run.claim(stage.onlooker, { token: "second", turn: 2 });
      expect(claimed).toMatchObject({ outcome: "claimed", position: 0, signals: [{ name: "item" }] });
    });

    test("stands where the signal rolls back", async () => {
      const run = await aRunAtWork(stage);
      const [, finished] = await stage.collide({ first: send(run), second: finish(run), ends: "rollback" });
      expect(finished).toMatchObject({ outcome: "finished" });
    });

    test("closes nothing where it rolls back itself", async () => {
      const run = await aRunAtWork(stage);
      const [, sent] = await stage.collide({ first: finish(run), second: send(run), ends: "rollback" });
      expect(sent).toMatchObject({ outcome: "sent" });
      expect(await finish(run)(stage.onlooker)).toMatchObject({ outcome: "deferred" });
    });
  });

  test("answers the same when it comes again, although a signal was refused meanwhile", async () => {
    const run = await aRunAtWork(stage);
    const first = await goOn(run)(stage.onlooker);
    await send(run)(stage.onlooker);
    expect(await goOn(run)(stage.onlooker)).toEqual(first);
  });

  test("takes signals of other names, and of its own those that its records take", async () => {
    const run = await aRunAtWork(stage);
    await run.signal(stage.onlooker, "other");
    expect(await goOn(run)(stage.onlooker)).toMatchObject({ outcome: "finished" });
  });
});
