/** `layover doctor`: looks at everything between this machine and a run that gets on, and says what to do. */
import { Command } from "commander";
import { print, printJson } from "../screen.ts";
import { type Check, shownChecks, summary } from "./check.ts";
import { checkAlarm } from "./check-alarm.ts";
import { checkAws } from "./check-aws.ts";
import { checkDatabase } from "./check-database.ts";
import { checkServer } from "./check-server.ts";

interface Options {
  readonly endpoint?: string;
  readonly aws?: string;
  readonly json?: true;
}

export const doctor = new Command("doctor")
  .summary("looks at everything, and says what to do")
  .description(
    `Looks at the database, its schema, rights and clock, at whose runs they are and which do not get on, and whether the
deployment answers and takes your key. With LAYOVER_ALARM it asks the deployment's alarm too. Changes nothing, but with --aws arms three ticks. Fails where it finds a problem.`,
  )
  .option("--endpoint <host/database>", "what the deployment calls the database, where you reach it by another address")
  .option(
    "--aws <name>",
    "looks at the functions of this deployment too, by your AWS credentials; measures how long a schedule takes to make",
  )
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  DATABASE_URL=postgres://… LAYOVER_URL=https://… layover doctor")
  .action(examine);

async function examine({ endpoint, aws, json }: Options): Promise<void> {
  const { checks: database, revokedKeys } = await checkDatabase(endpoint);
  const checks: readonly Check[] = [
    ...database,
    ...(await checkServer(revokedKeys)),
    ...(await checkAlarm()),
    ...(aws === undefined ? [] : await checkAws(aws)),
  ];
  const isWell = checks.every(({ level }) => level !== "problem");
  if (json) printJson({ isWell, checks });
  else print(`${shownChecks(checks)}\n\n${summary(checks)}`);
  if (!isWell) process.exitCode = 1;
}
