/**
 * `layover deployed`: notes that a build is deployed, for the first time or again. A host notes a new build by itself,
 * at its first tick. The command is for CI, and for a rollback to a build that the database knows already.
 */
import { Command } from "commander";
import { codeDigest } from "../../engine/digest.ts";
import { Registry } from "../../engine/registry.ts";
import { loadWorkflows } from "../load-workflows.ts";
import { withServer } from "../runs/server.ts";
import { print, printJson } from "../screen.ts";
import { environment, setting } from "../settings.ts";
import { UsageError } from "../usage-error.ts";
import { withDatabase } from "./database.ts";

interface Options {
  readonly id?: string;
  readonly name: string;
  readonly endpoint?: string;
  readonly json?: true;
}

export const deployed = new Command("deployed")
  .summary("says that a build is deployed, also by a rollback")
  .description(
    `Writes down that a build is deployed, and which versions it carries. Its next tick looks at all that is ready or
blocked, also at what this build has refused before. Run it after a deploy or a rollback. With LAYOVER_URL and LAYOVER_KEY
that tick happens at once.`,
  )
  .argument("[module]", "the module that exports the workflows of the build", "functions/workflows")
  .option(
    "--id <id>",
    "id of the build, as its host has it; LAYOVER_DEPLOYMENT, or a digest of the handlers, if left out",
  )
  .option("--name <name>", "name of the host: what its option deploymentName says", "node")
  .option("--endpoint <host/database>", "the deployment's address of this database, if it differs from DATABASE_URL")
  .option("--json", "answer as JSON")
  .addHelpText(
    "after",
    "\nExamples:\n  LAYOVER_DEPLOYMENT=$COMMIT layover deployed\n  layover deployed --name cloudflare --id $VERSION_ID",
  )
  .action(async (module: string, { id: given, name, endpoint, json }: Options) => {
    const { workflows, schedules } = await loadWorkflows(module);
    const id = given ?? setting("LAYOVER_DEPLOYMENT") ?? codeDigest(workflows, schedules);
    const { versions, signatures, retention } = new Registry(workflows);
    const call = {
      environment: environment(),
      deploymentName: name,
      deployment: id,
      note: "deployed",
      versions,
      signatures,
      retention,
    } as const;
    const { outcome } = await withDatabase(({ calls }) => calls.noteDeployment(call), { endpoint });
    if (outcome === "wrong_environment") {
      throw new UsageError(`Nothing was noted: this database does not belong to "${environment()}" at this address.`, {
        hint: "layover doctor says to whom it belongs. If the deployment knows it at another address: --endpoint HOST/DATABASE",
      });
    }
    if (setting("LAYOVER_KEY") !== undefined) await withServer(({ client }) => client.wake());
    if (json) printJson({ outcome, name, id, versions });
    else print(`The build ${id} of ${name} is deployed. Its next tick looks at all that is ready or blocked.`);
  });
