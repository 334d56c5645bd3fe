/**
 * Runs the command that was asked for. Each command has a file of its own. Each error becomes a sentence and an exit
 * code here.
 */
import { Command, CommanderError } from "commander";
import { ownVersion } from "../postgres/sql-files.ts";
import { asSentence, complaint } from "./complaint.ts";
import { adopt } from "./database/adopt.ts";
import { deployed } from "./database/deployed.ts";
import { keys } from "./database/keys.ts";
import { migrate } from "./database/migrate.ts";
import { dev } from "./dev/dev.ts";
import { doctor } from "./doctor/doctor.ts";
import { init } from "./init/init.ts";
import { openapi } from "./openapi.ts";
import { replay } from "./replay/replay.ts";
import { replayCheck } from "./replay/replay-check.ts";
import { upgrade } from "./replay/upgrade.ts";
import { callback } from "./runs/callback.ts";
import { remove } from "./runs/delete.ts";
import { exportCommand } from "./runs/export.ts";
import { cancel, pause, resume, terminate } from "./runs/operations.ts";
import { prune } from "./runs/prune.ts";
import { fork, restart, retry } from "./runs/repairs.ts";
import { runs } from "./runs/runs.ts";
import { show } from "./runs/show.ts";
import { signal } from "./runs/signal.ts";
import { start } from "./runs/start.ts";
import { tail } from "./runs/tail.ts";
import { pauseWorkflow, resumeWorkflow } from "./runs/workflow-pause.ts";
import { schedules } from "./schedules/schedules.ts";
import { endQuietly, printAside } from "./screen.ts";
import { loadSettings } from "./settings.ts";
import { UsageError } from "./usage-error.ts";
import { webhooks } from "./webhooks/webhooks.ts";

const program = new Command("layover")
  .description("Durable workflows on your own Postgres.")
  .version(ownVersion())
  .exitOverride()
  // Options that follow a command are the command's own: in `start order --version 2` the version is the workflow's.
  .enablePositionalOptions()
  // `complaint` says it in our own words.
  .configureOutput({ outputError: () => {} })
  .hook("preAction", () => loadSettings());

const groups: Readonly<Record<string, readonly Command[]>> = {
  "Begin:": [init, dev, openapi],
  "Your database:": [migrate, replayCheck, replay, deployed, keys, adopt, doctor],
  "Runs, by the API of what you deployed:": [
    runs,
    show,
    tail,
    exportCommand,
    start,
    signal,
    callback,
    pause,
    resume,
    cancel,
    terminate,
    remove,
    prune,
    retry,
    restart,
    fork,
    upgrade,
    pauseWorkflow,
    resumeWorkflow,
    schedules,
    webhooks,
  ],
};
for (const [group, commands] of Object.entries(groups)) {
  for (const command of commands) program.addCommand(inheriting(command, program).helpGroup(group));
}
program.addHelpText(
  "after",
  `
Settings are environment variables, also from .env and .dev.vars in this folder:
  DATABASE_URL         your Postgres: postgres://USER:PASSWORD@HOST/DATABASE
  LAYOVER_SECRET       the deployment's root secret
  LAYOVER_URL          its address, with its prefix; http://localhost:3000, if unset
  LAYOVER_KEY          an API key of it; that of layover dev in this folder, if unset
  LAYOVER_NAMESPACE    as the deployment has it; default, if unset
  LAYOVER_ENVIRONMENT  as the deployment has it; default, if unset`,
);

/** Hands down the parent's settings. commander does so only for commands that the parent itself makes. */
function inheriting(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const inner of command.commands) inheriting(inner, command);
  return command;
}

/** Makes two sentences of `error: unknown option '--prot'\n(Did you mean --port?)`. */
function mistyped({ message }: CommanderError): string {
  const [what = "", suggestion = ""] = message.replace(/^error: /, "").split("\n");
  const hint = suggestion === "" ? `${nameOf(asked())} --help says what there is.` : suggestion.slice(1, -1);
  return `${asSentence(what)}\n${hint}`;
}

/** The innermost command that the arguments name. */
function asked(): Command {
  let command = program;
  for (const word of process.argv.slice(2)) {
    command = command.commands.find((inner) => inner.name() === word) ?? command;
  }
  return command;
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

endQuietly();
try {
  await program.parseAsync(process.argv.length > 2 ? process.argv : [...process.argv, "help"]);
} catch (error) {
  const isHelp = error instanceof CommanderError && /help|version/i.test(error.code); // is written already
  if (!isHelp) printAside(error instanceof CommanderError ? mistyped(error) : complaint(error));
  // The process ends at once. With `exitCode` alone, work that the failed command began would keep it alive.
  process.exit(error instanceof CommanderError || error instanceof UsageError ? error.exitCode : 1);
}
