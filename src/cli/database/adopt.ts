/**
 * `layover adopt`: says that runs in this database are carried out by this deployment. A copy of a database is disarmed,
 * since its runs go on in the original; whoever means the copy to go on says so by this.
 */
import { Command } from "commander";
import { confirm } from "../confirm.ts";
import { print, printJson } from "../screen.ts";
import { environment, namespace } from "../settings.ts";
import { UsageError } from "../usage-error.ts";
import { type Database, withDatabase } from "./database.ts";

interface Options {
  readonly endpoint?: string;
  readonly address?: true;
  readonly yes?: true;
  readonly json?: true;
}

export const adopt = new Command("adopt")
  .summary("lets a copied database go on")
  .description(
    `A copy of a database carries nothing out: its runs go on in the original, and would charge every card twice.
This says that they are to go on here, too: carried out by LAYOVER_ENVIRONMENT, at the address of DATABASE_URL.`,
  )
  .option("--endpoint <host/database>", "what the deployment calls this database, where its address is another one")
  .option("--address", "only add the address to those by which the same database is known")
  .option("--yes", "do not ask")
  .option("--json", "answer as JSON; needs --yes")
  .addHelpText(
    "after",
    "\nExamples:\n  LAYOVER_ENVIRONMENT=staging layover adopt\n  layover adopt --address --endpoint db.internal/app",
  )
  .action(async ({ endpoint, address, yes, json }: Options) => {
    await withDatabase((database) => (address ? addAddress(database, json) : adoptDatabase(database, yes, json)), {
      endpoint,
    });
  });

async function adoptDatabase({ calls }: Database, yes = false, json = false): Promise<void> {
  const { environment: known } = await calls.diagnose();
  const ours = { name: environment(), endpoint: calls.endpoint };
  if (known?.isSameDatabase === true && known.name === ours.name && known.endpoint === ours.endpoint) {
    return json ? printJson({ outcome: "adopted", ...ours }) : print(`It is so already: ${shown(ours)}.`);
  }
  if (!yes) {
    const before = known === null ? "was not used yet" : `belongs to ${shown(known)}`;
    await confirm(
      `The namespace ${JSON.stringify(namespace())} ${before}.\nIts runs would go on as ${shown(ours)}.`,
      "adopt",
    );
  }
  await calls.adoptEnvironment(ours.name);
  if (json) printJson({ outcome: "adopted", ...ours });
  else print(`Runs are now carried out by ${shown(ours)}, from its next start on, or within 6 hours.`);
}

/** Adds this address. It asks for no confirmation, as the database refuses where it is another one. */
async function addAddress({ calls }: Database, json = false): Promise<void> {
  const ours = { name: environment(), endpoint: calls.endpoint };
  const { outcome } = await calls.adoptAddress(ours.name);
  if (outcome === "another_database") {
    throw new UsageError(`Nothing was changed: this is not known to be the database of ${shown(ours)}.`, {
      hint: "layover doctor says to whom it belongs. To carry on its runs here: layover adopt",
    });
  }
  if (json) printJson({ outcome, ...ours });
  else print(`Runs may now be carried out and started by ${shown(ours)}, too.`);
}

function shown({ name, endpoint }: { readonly name: string; readonly endpoint: string }): string {
  return `the environment ${JSON.stringify(name)} at ${endpoint}`;
}
