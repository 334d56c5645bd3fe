import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });
const once = { retry: { maxAttempts: 1 } };

describe("the commands that repair runs", () => {
  const database = testDatabase({ isOwn: true });
  const state = { isBroken: true };
  const ship = workflow({
    name: "ship",
    version: 1,
    input: z.object({ to: z.optional(z.string()) }),
    signals: { van: z.object({ plate: z.string() }) },
  });
  const shipWorkflow = ship.handler(async ({ input, step }) => {
    await step.run("pack", () => "packed", once);
    return await step.run(
      "send",
      () => {
        if (state.isBroken) throw new Error("no van");
        return input.to === undefined ? "sent" : `sent to ${input.to}`;
      },
      once,
    );
  });
  let server: NodeServer | undefined;

  async function aFailedRun(): Promise<void> {
    state.isBroken = true;
    server = await serve({
      workflows: [shipWorkflow],
      database: database.query,
      secrets: [secret],
      port: 0,
      onEvent: () => {},
    });
    await ask("start", "ship", "--id", "s1", "--input", "{}", "--wait", "20s");
    state.isBroken = false;
  }

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const ask = (...args: readonly string[]): Promise<Said> =>
    layover(args, { env: { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key } });

  const statusOf = async () => (await server?.client.runById(ship, "s1"))?.get().then(({ status }) => status);

  test("retry a failed run, and show that it is another epoch", async () => {
    await aFailedRun();
    expect(await ask("retry", "ship/s1", "--by", "ada", "--reason", "the van is back")).toEqual({
      status: 0,
      stdout: "It goes on as epoch 1. 1 record is kept, 1 forgotten.\n",
      stderr: "",
    });
    await expect.poll(statusOf).toBe("completed");
    const shown = (await ask("show", "ship/s1")).stdout;
    expect(shown).toMatch(
      / ✓ +step pack .*\n.* ● +retry by ada +the van is back\n.* – +epoch 1 +retried, with 1 record of before\n.* ✓ +step send /,
    );
    const before = (await ask("show", "ship/s1", "--epoch", "0")).stdout;
    expect(before).toMatch(/ ✗ +step send +.*Error: no van/);
    expect(before).not.toMatch(/epoch 1/);
    expect(await ask("retry", "ship/s1")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^The run \S+ is completed, so it cannot be retried\.\nOnly a run that failed can be retried\.\n$/,
      ),
    });
  });

  test("say what a restart would drop, and then restart", async () => {
    await aFailedRun();
    expect((await ask("restart", "ship/s1", "--from", "send", "--dry-run")).stdout).toBe(
      "1 record is kept, and 1 dropped:\n      2  step send, which failed\nWhat these did is not undone.\n",
    );
    expect((await ask("restart", "ship/s1", "--from", "sned")).stderr).toMatch(
      /^The run \S+ has not come to sned\.\nIts history names the places\./,
    );
    expect((await ask("restart", "ship/s1", "--from", "send")).stdout).toBe(
      "It begins again, as epoch 1. 1 record is kept, 1 dropped.\n",
    );
    await expect.poll(statusOf).toBe("completed");
  });

  test("retry a run with a signal, and refuse a payload of no signal", async () => {
    await aFailedRun();
    expect((await ask("retry", "ship/s1", "--payload", "1")).stderr).toBe(
      "--payload is that of a signal.\nName the signal: --signal NAME\n",
    );
    expect((await ask("retry", "ship/s1", "--signal", "van", "--payload", '{"plate": 7}')).stderr).toMatch(/plate/);
    expect((await ask("retry", "ship/s1", "--signal", "van", "--payload", '{"plate": "BN 7"}')).stdout).toBe(
      "It goes on as epoch 1. 1 record is kept, 1 forgotten.\n",
    );
    await expect.poll(statusOf).toBe("completed");
  });

  test("restart and fork a run with another input, which its contract checks", async () => {
    await aFailedRun();
    expect(await ask("restart", "ship/s1", "--input", '{"to": 7}')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/input/),
    });
    expect(await ask("restart", "ship/s1", "--input", "Rome")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^What --input says is not JSON/),
    });
    expect(await ask("restart", "ship/s1", "--from", "send", "--input", '{"to": "Rome"}')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/another input is given for a run that keeps a part of its history/i),
    });
    expect((await ask("restart", "ship/s1", "--input", '{"to": "Rome"}')).stdout).toBe(
      "It begins again, as epoch 1. 0 records are kept, 2 dropped.\n",
    );
    const run = await server?.client.runById(ship, "s1");
    expect(await run?.result({ wait: "20s" })).toBe("sent to Rome");
    const forked = (await ask("fork", "ship/s1", "--input", '{"to": "Pisa"}')).stdout.trim();
    expect(await server?.client.result(forked, { wait: "20s" })).toBe("sent to Pisa");
  });

  test("fork a run under another id", async () => {
    await aFailedRun();
    const runId = (await ask("fork", "ship/s1", "--from", "send", "--id", "s2")).stdout.trim();
    expect(await server?.client.result(runId, { wait: "20s" })).toBe("sent");
    expect((await ask("show", "ship/s2")).stdout).toMatch(
      /^ship@1 completed\n(.*\n)*.* – +epoch 1 +forked, with 1 record of before\n/,
    );
    expect(await statusOf()).toBe("failed");
    expect((await ask("fork", "ship/s1", "--id", "s2")).stderr).toMatch(
      /^The id of the new run is taken by another run\.\n/,
    );
  });

  test("say how to give a result that was lost", async () => {
    await aFailedRun();
    await database.pool.query(`update layover.run_state set failure = failure || '{"lost": [2]}'`);
    expect(await ask("retry", "ship/s1")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^The result of send is lost, .*\n.* give its result: --result 'charge=.*'\n$/),
    });
  });

  test("take a result that a person gives, and refuse one that is no JSON", async () => {
    await aFailedRun();
    expect(await ask("retry", "ship/s1", "--result", "send=by hand")).toMatchObject({
      status: 1,
      stderr: `--result "send=by hand" is not a place and its result.\nWrite it as --result 'charge={"id": "ch_1"}'.\n`,
    });
    expect((await ask("retry", "ship/s1", "--by", "ada", "--result", 'send="by hand"')).stdout).toBe(
      "It goes on as epoch 1. 2 records are kept, 0 forgotten.\n",
    );
    const run = await server?.client.runById(ship, "s1");
    expect(await run?.result({ wait: "20s" })).toBe("by hand");
    expect((await ask("show", "ship/s1")).stdout).toMatch(/ ✓ +step send +.* given by ada: "by hand"$/m);
  });
});
