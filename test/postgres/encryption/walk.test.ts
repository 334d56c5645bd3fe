/** A walk changes nothing of the json that it was given, and copies no part in which nothing is replaced. */
import { expect, test } from "vitest";
import { answers, calls } from "../../../src/postgres/encryption/shapes.ts";
import { replaced } from "../../../src/postgres/encryption/walk.ts";

const aCall = () => ({
  namespace: "default",
  turns: [
    { runId: "r1", records: [{ kind: "step", path: "charge", occurrence: 1, value: "1" }] },
    { runId: "r2", records: [{ kind: "close", path: "close address", occurrence: 1, value: "true" }] },
  ],
});

test("a call that is sealed stays as it was, as it may be sent again", async () => {
  const call = aCall();
  const sealed = await replaced(call, calls["finish_turns"] ?? {}, async ({ text, scope }) => `${scope}: ${text}`);
  expect(sealed.turns[0]?.records[0]?.value).toBe("charge#1: 1");
  expect(sealed.turns[1]).toBe(call.turns[1]);
  expect(call).toEqual(aCall());
});

test("an answer without values is answered itself", async () => {
  const answer = { turns: [{ claim: { run: null, records: [["step", "charge", 1, false, "1"]], signals: [] } }] };
  expect(await replaced(answer, answers["finish_turns"] ?? {}, () => undefined)).toBe(answer);
});

test("a value is told the nearest run, of the answer or of the call beside it", async () => {
  const call = { turns: [{ runId: "r1" }, { runId: "r2" }] };
  const answer = { turns: [{ callbacks: [{ value: "1" }] }, { runId: "r3", callbacks: [{ value: "2" }] }] };
  const visit = ({ scope, turn }: { readonly scope: string; readonly turn: number | undefined }) => `${scope} ${turn}`;
  const told = await replaced(answer, answers["claim_turns"] ?? {}, visit, call);
  expect(told.turns.map(({ callbacks }) => callbacks[0]?.value)).toEqual(["run r1 0", "run r3 1"]);
});
