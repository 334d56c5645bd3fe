/** `layover export`: a run with its history, as a file. */
import { writeFileSync } from "node:fs";
import { Command } from "commander";
import { v7 } from "uuid";
import { type ExportedRun, readExport } from "../../client/exports.ts";
import { pathOf } from "../../client/over-http/api.ts";
import type { ReplayPage } from "../../postgres/wire-replay.ts";
import { print, printJson } from "../screen.ts";
import { findRunId, type Server, withServer } from "./server.ts";
import { userName } from "./user-name.ts";

interface Options {
  readonly out?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly withSecrets?: true;
}

export const exportCommand = new Command("export")
  .summary("writes a run with its history into a file")
  .description(
    "Writes a run with the history of its newest epoch as JSON: its input, records, failed attempts, waits, and the signals that it took. The file holds the run's values, so keep it as you keep those. That you exported it is kept with the run. The key needs the scopes read and export.",
  )
  .argument("<run>", "the run: layover's id or a part of it, or WORKFLOW/ID with your own id")
  .option("--out <file>", "the file to write, which only you may read; left out: standard output")
  .option(
    "--with-secrets",
    "with the values that the workflow calls sensitive; left out: without them, and a replay ends at the first that it needs",
  )
  .option("--reason <text>", "why; it is kept with the run")
  .option("--by <name>", "who asks; your name on this machine, if left out")
  .addHelpText(
    "after",
    '\nExamples:\n  layover export order/o1 --out order-o1.json\n  layover replay order-o1.json\n\nIn a test: await replay("order-o1.json", { workflows }) of layover/testing.',
  )
  .action(async (name: string, { out, reason, by = userName(), withSecrets }: Options) => {
    const exported = await withServer(async (server) =>
      exportRun(server, await findRunId(server.client, name), { reason, by, withSecrets }),
    );
    if (out === undefined) return printJson(exported);
    writeFileSync(out, `${JSON.stringify(exported)}\n`, { mode: 0o600 });
    const { length } = exported.records;
    print(`${out} has the run ${exported.runId} with ${length} record${length === 1 ? "" : "s"}.`);
  });

/** @throws LayoverError `unknown_run`, `forbidden` */
async function exportRun(
  { api }: Server,
  runId: string,
  terms: {
    readonly reason?: string | undefined;
    readonly by?: string | undefined;
    readonly withSecrets?: true | undefined;
  },
): Promise<ExportedRun> {
  const callId = v7();
  const path = pathOf("v1", "runs", runId, "export");
  return await readExport(async (after) => (await api.post(path, { ...terms, callId, after })) as ReplayPage);
}
