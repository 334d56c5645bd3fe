import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { layover } from "./layover.ts";

test("the command shows what there is, and of each command an example", async () => {
  const commands = ["init", "dev", "migrate", "keys", "adopt", "doctor", "runs", "show", "start", "signal"];
  const [all, asked, ...each] = await Promise.all([
    layover([]),
    layover(["--help"]),
    ...commands.map((command) => layover([command, "--help"])),
  ]);
  expect(all).toEqual(asked);
  expect(all).toMatchObject({ status: 0, stderr: "" });
  for (const command of commands) expect(all.stdout).toMatch(new RegExp(`^ {2}${command}( \\S+)* {2,}\\S`, "m"));
  for (const name of ["DATABASE_URL", "LAYOVER_SECRET", "LAYOVER_URL", "LAYOVER_KEY", "LAYOVER_NAMESPACE"]) {
    expect(all.stdout).toMatch(new RegExp(`^ {2}${name} +\\S`, "m"));
  }
  for (const [index, command] of commands.entries()) {
    expect(each[index]).toMatchObject({ status: 0, stderr: "" });
    expect(each[index]?.stdout).toMatch(new RegExp(`^Usage: layover ${command} `));
    if (command !== "init") expect(each[index]?.stdout).toMatch(new RegExp(`\nExamples?:\n.*layover ${command}`));
  }
});

test("the command says in two lines what was mistyped, and what was meant", async () => {
  const cases = [
    [["publish", "now"], "Unknown command 'publish'.\nlayover --help says what there is.\n"],
    [["migrat"], "Unknown command 'migrat'.\nDid you mean migrate?\n"],
    [["dev", "--prot", "1"], "Unknown option '--prot'.\nDid you mean --port?\n"],
    [
      ["migrate", "--sql", "--check"],
      "Option '--sql' cannot be used with option '--check'.\nlayover migrate --help says what there is.\n",
    ],
    [["show"], "Missing required argument 'run'.\nlayover show --help says what there is.\n"],
  ] as const;
  const said = await Promise.all(cases.map(([args]) => layover(args)));
  for (const [index, [, stderr]] of cases.entries()) expect(said[index]).toEqual({ status: 1, stdout: "", stderr });
  const { status, stdout } = await layover(["keys"]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
});

test("an older Node is refused in one line, before anything that it cannot read is loaded", async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });";
  const args = ["--conditions=layover-source", "--import", `data:text/javascript,${encodeURIComponent(older)}`];
  const child = spawn(process.execPath, [...args, "src/cli/main.ts", "runs"], { stdio: ["ignore", "ignore", "pipe"] });
  const [said, [status]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect(said).toBe("layover needs Node 22 or newer, and this is Node 20.20.2.\n");
  expect(status).toBe(1);
});

test("a reader that goes away ends the command without a word", async () => {
  const child = spawn(process.execPath, ["--conditions=layover-source", "src/cli/main.ts", "--help"]);
  child.stdout.destroy();
  expect(await text(child.stderr)).toBe("");
});
