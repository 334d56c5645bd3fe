/** What `POST /v1/runs/:id/upgrade` takes. What the move does is tested with the engine and the command. */
import { describe, expect, it } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { anApp, bare, json } from "./an-app.ts";

const database = testDatabase();
const largest = 2_147_483_647;
const looked = { from: 1, to: 2, epoch: 0, turn: 1, position: 0, lastMail: 0, signature: "0123456789abcdef" };

describe("POST /v1/runs/:id/upgrade", () => {
  it.each([
    ...["from", "to"].flatMap((field) => [1.5, 0, -1, largest + 1, 10_000_000_000, 1e300].map((bad) => [field, bad])),
    ...["epoch", "turn", "position"].flatMap((field) => [1.5, -1, largest + 1].map((bad) => [field, bad])),
    ...[1.5, -1, 1e300].map((bad) => ["lastMail", bad]),
  ])("refuses a number that the database cannot hold: %s %s", async (field, bad) => {
    const { app, client, errors, statements } = anApp(database.query);
    const { runId } = await client.start(bare);
    statements.length = 0;
    const answer = await app.request(`/v1/runs/${runId}/upgrade`, json({ ...looked, [field]: bad }));
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "invalid_request", field }]);
    expect([errors, statements]).toEqual([[], []]);
  });

  it("takes the largest numbers, and moves a run that is as it was looked at", async () => {
    const { app, client } = anApp(database.query);
    const { runId } = await client.start(bare);
    const ask = async (body: object) => {
      const answer = await app.request(`/v1/runs/${runId}/upgrade`, json({ ...looked, ...body }));
      return [answer.status, await answer.json()];
    };
    const most = { from: largest, epoch: largest, turn: largest, position: largest, lastMail: Number.MAX_SAFE_INTEGER };
    expect(await ask(most)).toEqual([200, { runId, outcome: "moved_on" }]);
    expect(await ask({ to: largest })).toEqual([200, { runId, outcome: "upgraded" }]);
    expect((await client.get(runId)).version).toBe(largest);
  });
});
