/** `layover openapi`: writes the OpenAPI document of a deployment, from its code alone. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Command } from "commander";
import { unservedDocument } from "../http/openapi/unserved.ts";
import { Secrets } from "../http/secrets.ts";
import { mountWebhooks } from "../http/webhooks/mount.ts";
import { loadWebhooks } from "./load-webhooks.ts";
import { loadWorkflows } from "./load-workflows.ts";
import { print } from "./screen.ts";
import { setting } from "./settings.ts";
import { UsageError } from "./usage-error.ts";

interface Options {
  readonly out?: string;
  readonly url?: string;
  readonly title?: string;
  readonly webhooks?: string;
}

export const openapi = new Command("openapi")
  .summary("writes the OpenAPI document of your workflows")
  .description(
    `Writes the OpenAPI 3.1 document of a deployment: its API, with an operation for each workflow, signal and callback, typed
by your contracts. It asks no server. One that mounts openapi() has the same document at /openapi.json.`,
  )
  .argument("[module]", "the module that exports the workflows", "functions/workflows")
  .option("--webhooks <folder>", "the folder whose modules export the webhooks; functions/webhooks, if left out")
  .option("--out <file>", "write it to this file; to the terminal, if left out")
  .option("--url <url>", "address of the deployment, with its prefix; LAYOVER_URL, if left out")
  .option("--title <title>", "title of the document")
  .addHelpText("after", "\nExample:\n  layover openapi --out openapi.json")
  .action(async (module: string, { out, url = setting("LAYOVER_URL"), title, webhooks: folder }: Options) => {
    const { workflows } = await loadWorkflows(module);
    const contracts = workflows.map(({ contract }) => contract);
    const mount = mountWebhooks(await loadWebhooks(folder), { env: {}, tell: () => {} });
    // The routes are made, and answer nothing. So any secret will do.
    const secrets = new Secrets([randomBytes(32).toString("base64url")]);
    const webhooks = mount?.({ secrets, namespace: "default", maxBytes: 0 });
    const text = JSON.stringify(unservedDocument({ contracts, webhooks }, { url, title }), undefined, 2);
    if (out === undefined) return print(text);
    try {
      writeFileSync(out, `${text}\n`);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new UsageError(`${out} could not be written: ${why}`, {
        hint: "Name a file in a folder that is there.",
        cause,
      });
    }
    print(`The OpenAPI document is in ${out}.`);
  });
