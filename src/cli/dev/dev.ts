/** `layover dev`: its arguments. What it does is in serve.ts, which only this command loads, as it brings the engine. */
import { Command } from "commander";
import { UsageError } from "../usage-error.ts";
import type { DevOptions } from "./serve.ts";

export const dev = new Command("dev")
  .summary("serves your workflows on this machine, with a Postgres of its own")
  .description("Serves the workflows that a module exports, on an embedded Postgres that keeps its data in a folder.")
  .argument("[module]", "functions/workflows/index.ts, if none is given")
  .option("--port <number>", "0: any that is free", portIn, 3000)
  .option("--data <folder>", "where the data are kept", folderIn, ".layover/data")
  .option("--no-reload", "keeps the code that it began with, when a file changes")
  .addHelpText("after", "\nExample:\n  layover dev src/workflows.ts --port 4000")
  .action(async (module: string | undefined, { reload, ...options }: DevOptions & { readonly reload: boolean }) => {
    if (reload) {
      const { serveReloading } = await import("./reloading.ts");
      await serveReloading(module, options);
    } else {
      const { serveDev } = await import("./serve.ts");
      await serveDev(module, options);
    }
  });

function portIn(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`The port ${JSON.stringify(text)} is no number from 0 to 65535.`, {
    hint: "Use a free one: layover dev --port 3001",
  });
}

function folderIn(text: string): string {
  if (text !== "") return text;
  throw new UsageError("The data folder has no name.", {
    hint: "Name one that you may write to: layover dev --data FOLDER",
  });
}
