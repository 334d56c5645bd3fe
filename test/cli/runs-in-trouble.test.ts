/** A run that is blocked, held up, failed or being undone: the commands say why, and what to do. */
import { describe, expect, test } from "vitest";
import { aDeployment, patience } from "./a-deployment.ts";
import { changedOrderWorkflow, orderWorkflow, stayWorkflow, stuckOrderWorkflow, tripWorkflow } from "./workflows.ts";

describe("the commands for runs", () => {
  const server = aDeployment();
  const { deploy, ask, statusOf } = server;

  test("say of a blocked run why, and what to do", async () => {
    await deploy(orderWorkflow);
    const { stdout } = await ask(["start", "order", "--input", '{"amount": 1}', "--id", "o1"]);
    await expect.poll(() => statusOf(stdout.trim()), patience).toBe("waiting");
    await deploy(changedOrderWorkflow);
    await ask(["signal", stdout.trim(), "address", "--payload", '{"city": "Turin"}']);
    await expect.poll(() => statusOf(stdout.trim()), patience).toBe("blocked");
    const [shown, listed] = await Promise.all([ask(["show", "order/o1"]), ask(["runs", "--status", "blocked"])]);
    expect(shown.stdout).toMatch(/^order@1 blocked\n/);
    expect(shown.stdout).toMatch(
      /\nblocked +the history holds step charge at position 1, .*\n.*\n +→ Deploy the code that fits this history/,
    );
    expect(shown.stdout).toMatch(/\nrefused +by the deployment [0-9a-f]{16}, at /);
    expect(listed.stdout).toMatch(/ blocked +\S/);
  });

  test("say of a run that is held up why, and when it is tried again", async () => {
    await deploy(stuckOrderWorkflow);
    const { stdout } = await ask(["start", "order", "--input", '{"amount": 1}', "--id", "o1"]);
    await expect.poll(() => statusOf(stdout.trim()), patience).toBe("retrying");
    const [shown, listed] = await Promise.all([ask(["show", "order/o1"]), ask(["runs", "--status", "retrying"])]);
    expect(shown.stdout).toMatch(/^order@1 retrying\n/);
    expect(shown.stdout).toMatch(
      /\nheld up +the handler awaits something at its beginning that is no step.*\n(.*\n)* +→ tried again at .*, held up since /,
    );
    expect(listed.stdout).toMatch(/ retrying +\S+ \S+ +the handler awaits/);
  });

  test("say of a run that failed what was not undone, and what to do", async () => {
    await deploy(tripWorkflow);
    const { stdout } = await ask(["start", "trip", "--id", "t1", "--wait", "20s", "--json"]);
    const failed = [{ step: "hotel", error: { message: "the hotel is closed" } }];
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", error: { data: { compensation: { failed } } } });
    const [shown, listed] = await Promise.all([ask(["show", "trip/t1"]), ask(["runs", "--status", "failed"])]);
    expect(shown.stdout).toMatch(/^trip@1 failed\n/);
    expect(shown.stdout).toMatch(/\nundone +1 of 2 undos succeeded, and 1 failed for good\n/);
    expect(shown.stdout).toMatch(
      /\nerror +Error: there is no car\nundo +hotel is not undone: Error: the hotel is closed\n +→ By layover retry \S+ they are tried again\. .*by hand\.\n/,
    );
    expect(shown.stdout).toMatch(
      / ✗ +undo hotel .*failed for good: .*the hotel is closed\n.* ✓ +undo flight .*"free"$/m,
    );
    expect(listed.stdout).toMatch(/ Error: there is no car; 1 undo failed$/m);
    expect((await ask(["runs", "--status", "compensating"])).stdout).toBe("There is no such run.\n");
  });

  test("show a run that is being undone, pause it, and end it at once, but do not cancel it", async () => {
    await deploy(stayWorkflow);
    const runId = (await ask(["start", "stay"])).stdout.trim();
    await expect.poll(async () => (await server.client.history(runId))?.attemptCount, patience).toBeGreaterThan(0);
    const [shown, listed, waited] = await Promise.all([
      ask(["show", runId]),
      ask(["runs", "--status", "compensating"]),
      ask(["start", "stay", "--wait", "1s"]),
    ]);
    const screen = shown.stdout.replaceAll(/\n {20,}/g, " "); // without the breaks of long lines
    expect(screen).toMatch(/^stay@1 compensating\n(.*\n)*undone +0 of 1 undos have ended\n/);
    expect(screen).toMatch(/ – +ending +as failed, after 1 undo: Error: there is no flight\n/);
    expect(screen).toMatch(/ ✗ +attempt 1 of the undo of hotel .*Error: the hotel is closed\n/);
    expect(screen).toMatch(/ … +undo hotel +(is tried again|is ready).*, \d+ attempts? failed$/m);
    expect(listed.stdout).toMatch(/ compensating +\d+ \w+ +0 of 1 undos have ended$/m);
    expect(waited).toMatchObject({ status: 1, stderr: expect.stringContaining("it is compensating.") });

    expect((await ask(["cancel", runId])).stderr).toBe(
      `The run ${runId} is compensating, so it cannot be cancelled.\nIt has ended, or ends as failed: it cleans up, or undoes what it did. Terminate it if it does not end.\n`,
    );
    expect((await ask(["pause", runId])).stdout).toBe("Paused. Steps that are under way still end.\n");
    expect((await ask(["show", runId])).stdout).toMatch(/^stay@1 paused$/m);
    expect((await ask(["resume", runId])).stdout).toBe("Resumed.\n");
    expect((await ask(["terminate", runId])).stdout).toBe("Terminated. The run is cancelled.\n");
    expect((await ask(["show", runId])).stdout).toMatch(
      /^stay@1 cancelled\n(.*\n)*undone +0 of 1 undos have ended\n(.*\n)*error +CancelledError: .*\n +→ No undo is tried again\./,
    );
  });
});
