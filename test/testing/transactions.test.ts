import { workflow } from "layover";
import { afterEach, expect, test } from "vitest";
import { type Stubs, type TestEngine, testEngine } from "../../src/testing.ts";

const booking = workflow({ name: "booking", version: 1 });
const bookingWorkflow = booking.handler(({ step }) =>
  step.scope("trip", async ({ step: inner }) => {
    const insert = () =>
      inner.transaction("book", (db) => db.query("insert into seat default values").then(() => "booked"), {
        retry: { maxAttempts: 1 },
      });
    const first = await insert();
    return [first, await step.cleanup("after", ({ step: last }) => last.transaction("note", async () => "noted"))];
  }),
);

let engine: TestEngine | undefined;
afterEach(async () => await engine?.close());

async function play(stub: Stubs): Promise<unknown> {
  engine = await testEngine({ workflows: [bookingWorkflow], stub });
  return await (await engine.start(booking)).result();
}

test("a stub stands for a transaction, in a cleanup too, and is told its place", async () => {
  const paths: string[] = [];
  const note = ({ path }: { readonly path: string }) => paths.push(path);
  const result = await play({
    booking: { "trip/book": (c) => `seat ${note(c)}`, "after/note": (c) => `note ${note(c)}` },
  });
  expect(result).toEqual(["seat 1", "note 2"]);
  expect(paths).toEqual(["trip/book", "after/note"]);
});

test("a transaction without a stub fails, since the kit has none of the tables that it writes to", async () => {
  const result = play({ booking: { note: () => "noted" } });
  await expect(result).rejects.toThrow(/trip\/book is a transaction, and has no stub/);
});
