/** A run is named in the terminal by a part of its id, or by its workflow and the id that the user gave. */
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { aDeployment, key } from "./a-deployment.ts";
import { layover } from "./layover.ts";
import { napWorkflow, shopNapWorkflow } from "./workflows.ts";

describe("the commands for runs", () => {
  const server = aDeployment();
  const { deploy, ask } = server;

  test("name a run by the end of its id, which is all that a terminal of 80 columns has room for", async () => {
    const { url, client } = await deploy(napWorkflow);
    expect((await ask(["runs"])).stdout).toBe("There is no run yet. Start one: layover start WORKFLOW\n");
    const { runId } = await client.start(napWorkflow.contract, undefined, { id: "注文番号の長い名前".repeat(4) });
    const { runId: other } = await client.start(napWorkflow.contract, undefined, { delay: "1 day" });
    const env = { LAYOVER_URL: url, LAYOVER_KEY: key, COLUMNS: "80" };
    const part = runId.slice(-8);
    const [listed, filtered, shown, sent, several, none] = await Promise.all([
      layover(["runs"], { env }),
      ask(["runs", "--status", "failed"]),
      ask(["show", part.toUpperCase()]),
      ask(["signal", part, "wake", "--payload", "null"]),
      ask(["show", runId.slice(0, 4)]),
      ask(["show", "0000ffff0000"]),
    ]);
    const lines = listed.stdout.trimEnd().split("\n");
    expect(lines.slice(1).map((line) => line.slice(0, 10))).toEqual([`${other.slice(-8)}  `, `${part}  `]);
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(80);
    expect(filtered.stdout).toBe("There is no such run.\n");
    expect(shown.stdout).toContain(`run        ${runId}\n`);
    expect(sent).toMatchObject({ status: 0, stdout: "Sent.\n" });
    expect(several.stderr).toMatch(
      /^Several runs have an id with "[0-9a-f]{4}" in it: .*\nGive more of its digits\.\n$/,
    );
    expect(none.stderr).toMatch(/^No run has an id with "0000ffff0000" in it\.\n/);
  });

  test("find a run by names with slashes in them, wherever the workflow's ends", async () => {
    await deploy(napWorkflow, shopNapWorkflow);
    await server.client.start(shopNapWorkflow.contract, undefined, { id: "a/1" });
    const send = ["signal", "shop/nap/a/1", "wake", "--payload", "null"];
    const [shown, sent, unknown, empty] = await Promise.all([
      ask(["show", "shop/nap/a/1"]),
      ask(send),
      ask(["show", "shop/nap/a/2"]),
      ask(["show", "nap/"]),
    ]);
    expect(shown.stdout).toMatch(/^shop\/nap@1 .*\nid +a\/1\n/);
    expect(sent).toEqual({ status: 0, stdout: "Sent.\n", stderr: "" });
    expect(unknown.stderr).toMatch(/^Workflow "shop\/nap" has no run with the id "a\/2"\.\n/);
    expect(empty.stderr).toMatch(/^There is no run "nap\/": /);
  });
});
