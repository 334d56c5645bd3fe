/** `key` of a step and of a map's items: who is who, whatever came before. */
import { expect, test } from "vitest";
import type { Step } from "../../../src/core/contract/step.ts";
import { aHandler } from "./a-handler.ts";

const idle = async () => {};

async function placesOf(handle: (step: Step) => Promise<unknown>): Promise<readonly string[]> {
  return (await aHandler(handle)).places();
}

test("a keyed step is at a place of its own, and takes no part in counting", async () => {
  const places = await placesOf((step) =>
    Promise.all([
      step.run("charge", idle),
      step.run("charge", idle, { key: "eu" }),
      step.run("charge", idle, { key: "2" }),
      step.run("charge", idle),
      step.scope("late", ({ step }) => step.run("charge", idle, { key: "eu" })),
    ]),
  );
  expect(places).toEqual(["charge", "charge#[eu]", "charge#[2]", "charge#2", "late/charge#[eu]"]);
});

test("the items of a map are told apart by key, in whatever order they come", async () => {
  const each = (region: string, { step }: { step: Step }) => step.run("charge", idle).then(() => region);
  const key = (region: string) => region;
  const of = (regions: string[]) => placesOf((step) => step.map("bill", regions, each, { key }));
  expect(await of(["eu", "us"])).toEqual(["bill#[eu]/charge", "bill#[us]/charge"]);
  expect(await of(["apac", "us", "eu"])).toEqual(["bill#[apac]/charge", "bill#[us]/charge", "bill#[eu]/charge"]);
});

test("a list that a deploy has changed finds each result with whom it belongs to", async () => {
  const handle = (regions: string[]) => async (step: Step) => {
    const paid: Record<string, unknown> = {};
    for (const region of regions) paid[region] = await step.run("charge", idle, { key: region });
    return paid;
  };
  const before = await aHandler(handle(["eu", "us"]));
  await before.hand("charge#[eu]", "paid by eu");
  expect(before.places()).toEqual(["charge#[us]"]);
  const after = await aHandler(handle(["apac", "eu", "us"]));
  expect(after.places()).toEqual(["charge#[apac]"]);
  // A history of ["eu", "us"] does not fit: it is refused instead of being given to apac.
  await after.execution.hand({
    kind: "step",
    path: "charge#[eu]",
    occurrence: 1,
    isFailure: false,
    value: '1"paid by eu"',
    recordedAt: 0,
    attempts: 1,
  });
  expect(after.execution.divergence).toContain("the history holds step charge#[eu] at position 1");
});

test.each([
  ["is long", "x".repeat(65), false],
  ["has signs that build paths", "a/b[0]#1", false],
  ["is sensitive", "ada@example.com", true],
])("a key that %s is kept as a digest", async (_, key, sensitiveKey) => {
  const [place = ""] = await placesOf((step) => step.run("mail", idle, { key, sensitiveKey }));
  expect(place).toMatch(/^mail#\[~[0-9a-f]{32}\]$/);
  expect(place).not.toContain(key);
  expect(await placesOf((step) => step.run("mail", idle, { key, sensitiveKey }))).toEqual([place]);
});

test("the digest of a key never changes, as histories hold it", async () => {
  const mail = (step: Step) => step.run("mail", idle, { key: "ada@example.com", sensitiveKey: true });
  expect(await placesOf(mail)).toEqual(["mail#[~b5fc85e55755f9e0d030a10ab4429b6b]"]);
});

test("a decided race leaves a keyed step of its name alone", async () => {
  const { places, hand } = await aHandler(async (step) => {
    const keyed = step.run("pay", idle, { key: "0" });
    await step.race("pay", [({ step }) => step.sleep("nap", "1h"), ({ step }) => step.sleep("night", "8h")]);
    await keyed;
  });
  await hand("pay[0]/nap");
  expect(places()).toEqual(["pay#[0]"]);
});

test.each<[string, (step: Step) => Promise<unknown>, string, string]>([
  [
    "the same key twice",
    async (step) => [step.run("a", idle, { key: "eu" }), await step.run("a", idle, { key: "eu" })],
    "duplicate_key",
    "a#[eu] is asked for twice, with the same key",
  ],
  [
    "two items of one key",
    (step) => step.map("ship", [1, 2], idle, { key: () => "one" }),
    "duplicate_key",
    "ship#[one] is asked for twice, with the same key",
  ],
  [
    "a number for a key",
    (step) => step.run("a", idle, { key: 7 as never }),
    "invalid_request",
    'the key of step "a" is a number',
  ],
  [
    "an empty key",
    (step) => step.map("ship", [1], idle, { key: () => "" }),
    "invalid_request",
    'the key of item 0 of map "ship" is empty',
  ],
  [
    "a key that is missing",
    (step) => step.map("ship", [{ id: undefined }], idle, { key: ({ id }) => id as never }),
    "invalid_request",
    'the key of item 0 of map "ship" is null',
  ],
])("is refused: %s", async (_, handle, code, message) => {
  const { execution } = await aHandler(handle);
  expect(execution.outcome).toMatchObject({ kind: "threw", error: { code, message } });
});
