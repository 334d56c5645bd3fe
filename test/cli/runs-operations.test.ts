/** The commands that pause, resume, cancel and delete a run, and what is shown of who did so and why. */
import { describe, expect, test } from "vitest";
import { aDeployment, patience } from "./a-deployment.ts";
import { napWorkflow } from "./workflows.ts";

describe("the commands for runs", () => {
  const server = aDeployment();
  const { deploy, ask, statusOf } = server;

  test("pause a run and resume it, and show who did so and why", async () => {
    await deploy(napWorkflow);
    const { stdout } = await ask(["start", "nap", "--id", "n1"]);
    const runId = stdout.trim();
    await expect.poll(() => statusOf(runId), patience).toBe("sleeping");
    expect(await ask(["pause", "nap/n1", "--reason", "their API is down", "--by", "ada"])).toEqual({
      status: 0,
      stdout: "Paused. Steps that are under way still end.\n",
      stderr: "",
    });
    const shown = (await ask(["show", "nap/n1"])).stdout;
    expect(shown).toMatch(/^nap@1 paused$/m);
    expect(shown).toMatch(new RegExp(`^paused .*\\n +→ It goes on by: layover resume ${runId}$`, "m"));
    expect(shown).toMatch(/ ● +pause by ada +their API is down$/m);
    expect(JSON.parse((await ask(["resume", runId, "--json"])).stdout)).toEqual({ runId, outcome: "resumed" });
    expect(await statusOf(runId)).toBe("sleeping");
    const again = await ask(["resume", runId, "--by", "bob"]);
    expect(again).toEqual({
      status: 1,
      stdout: "",
      stderr: `The run ${runId} is sleeping, so it cannot be resumed.\nOnly a paused run can be resumed. Nothing is left to do.\n`,
    });
    expect((await ask(["show", runId])).stdout).toMatch(/ ● +resume by bob +refused, since it did not apply$/m);
    expect((await ask(["terminate", runId, "--by", "ada", "--reason", "a test"])).stdout).toBe(
      "Terminated. The run is cancelled.\n",
    );
    const ended = (await ask(["show", runId])).stdout;
    expect(ended).toMatch(/^nap@1 cancelled$/m);
    expect(ended).toMatch(/^error +CancelledError: terminated by ada: a test$/m);
  });

  test("cancel a run, and show who did so and why", async () => {
    await deploy(napWorkflow);
    const runId = (await ask(["start", "nap", "--id", "n1"])).stdout.trim();
    await expect.poll(() => statusOf(runId), patience).toBe("sleeping");
    expect(await ask(["cancel", "nap/n1", "--reason", "ordered twice", "--by", "ada"])).toEqual({
      status: 0,
      stdout: "It cleans up, undoes what it did, and is cancelled then.\n",
      stderr: "",
    });
    await expect.poll(() => statusOf(runId), patience).toBe("cancelled");
    const shown = (await ask(["show", runId])).stdout;
    expect(shown).toMatch(/^nap@1 cancelled$/m);
    expect(shown).toMatch(/ ● +cancel by ada +ordered twice$/m);
    expect(shown).toMatch(/ – +closing +CancelledError: the run was cancelled: ordered twice$/m);
    expect(shown).toMatch(/^error +CancelledError: the run was cancelled: ordered twice$/m);
    expect(await ask(["cancel", runId])).toEqual({
      status: 1,
      stdout: "",
      stderr: `The run ${runId} is cancelled, so it cannot be cancelled.\nIt has ended, or ends as failed: it cleans up, or undoes what it did. Terminate it if it does not end.\n`,
    });
    const delayed = (await ask(["start", "nap", "--delay", "1h"])).stdout.trim();
    expect((await ask(["cancel", delayed])).stdout).toBe("Cancelled. It had done nothing yet.\n");
  });

  test("delete a run that is over, once that is meant", async () => {
    await deploy(napWorkflow);
    const runId = (await ask(["start", "nap", "--id", "n1"])).stdout.trim();
    expect(await ask(["delete", "nap/n1", "--yes"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/so it cannot be deleted\.\nOnly a run that is over can be deleted\./),
    });
    expect(await ask(["delete", "nap/n1"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /, and only a run that is over can be deleted\.\nCancel or terminate it first\.\n$/,
      ),
    });
    await server.client.terminate(runId);
    expect(await ask(["delete", "nap/n1"])).toEqual({
      status: 1,
      stdout: "",
      stderr: `The run ${runId} of nap@1 is cancelled. It would be deleted, with all that is kept of it.\nNothing was changed. If that is meant: layover delete ${runId} --yes\n`,
    });
    expect(await statusOf(runId)).toBe("cancelled");
    const args = ["delete", "nap/n1", "--yes", "--reason", "a wish", "--by", "ada"];
    expect(await ask(args)).toEqual({ status: 0, stdout: "Deleted. Nothing of the run is left.\n", stderr: "" });
    const again = await ask(["delete", runId, "--yes", "--json"]);
    expect(JSON.parse(again.stdout)).toEqual({ runId, outcome: "deleted" });
    expect(await ask(["show", runId])).toMatchObject({ status: 1, stderr: expect.stringContaining("There is no run") });
  });
});
