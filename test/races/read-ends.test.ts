/** The function `read_ends`: it tells the holder of a run's lease how the runs that this run has invoked have ended. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aRunAtWork, noon, Run, second, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres("the ends of invoked runs", (database) => {
  const stage = stageOn(database);
  const paths = ["a", "b", "c"];

  /** A run that has invoked three others, which are at work. It is claimed again by whoever reads. */
  async function aFamily() {
    const parent = await aRunAtWork(stage);
    const starts = paths.map((path, ordinal) => aChild(path, { isBound: true, ordinal }));
    await parent.finish(stage.onlooker, { token: "first", children: starts });
    const children = starts.map(({ runId }) => new Run(stage, runId));
    for (const child of children) await child.claim(stage.onlooker, { token: "child" });
    const read = async (token = "second", runIds = children.map(({ id }) => id)) => {
      expect(await parent.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
      return await stage.onlooker.call("read_ends", { runId: parent.id, token: tokenOf(token), runIds });
    };
    const end = (number: number, how: object) => children[number]?.finish(stage.onlooker, { token: "child", ...how });
    return { parent, children, read, end };
  }
  const done = { next: "completed", value: '0"done"' } as const;
  const down = { next: "failed", value: '0{"message":"down"}' } as const;

  test("are answered to the holder of the lease, the earliest first, without those of runs that are not over", async () => {
    const { children, read, end } = await aFamily();
    await end(2, down);
    await stage.clock.advance(second);
    await end(0, done);
    expect(await read()).toEqual({
      ...{ outcome: "read", now: noon + second, isMore: false },
      ends: [
        { runId: children[2]?.id, status: "failed", value: down.value },
        { runId: children[0]?.id, status: "completed", value: done.value },
      ],
    });
  });

  test("are answered to nobody else", async () => {
    const { parent, children, read, end } = await aFamily();
    const other = await aRunAtWork(stage);
    await end(0, done);
    expect(await read("first")).toEqual({ outcome: "superseded", now: noon });
    const call = { runId: parent.id, token: tokenOf("second"), runIds: children.map(({ id }) => id) };
    const ask = async (more: object) => await stage.onlooker.call("read_ends", { ...call, ...more });
    expect(await ask({})).toMatchObject({ outcome: "read" });
    expect(await ask({ namespace: "another" })).toMatchObject({ outcome: "superseded" });
    expect(await ask({ runId: other.id })).toMatchObject({ outcome: "superseded" });
  });

  test("are those of the runs that are asked for", async () => {
    const { children, read, end } = await aFamily();
    for (const number of [0, 1]) await end(number, done);
    const answer = await read("second", [children[1]?.id ?? ""]);
    expect(answer).toMatchObject({ isMore: false, ends: [{ runId: children[1]?.id }] });
  });

  test("are no ends of runs that another run has invoked", async () => {
    const [family, other] = [await aFamily(), await aFamily()];
    for (const { end } of [family, other]) await end(0, done);
    const ids = other.children.map(({ id }) => id);
    expect(await family.read("second", ids)).toMatchObject({ outcome: "read", ends: [], isMore: false });
  });

  test.each([
    [[600_000, 400_000, 400_000], 2],
    [[1_200_000, 1], 1],
    [[400_000, 1_200_000], 1],
    [[400_000, 648_171], 1],
    [[400_000, 648_170, 1], 2],
  ] as const)("are as many as have 1 MiB together: of %j the first %i", async (sizes, count) => {
    const { read, end } = await aFamily();
    for (const [number, size] of sizes.entries()) {
      const next = number === 0 ? "completed" : "failed"; // an end has 200 B beside its value of 3 B more
      await end(number, { next, value: `0"${"x".repeat(size)}"` });
      await stage.clock.advance(second);
    }
    const answer = await read();
    expect(answer).toMatchObject({ outcome: "read", isMore: true });
    expect(answer.outcome === "read" && answer.ends).toHaveLength(count);
  });
});
