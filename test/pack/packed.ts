/** The package as it is published. */
import { join } from "node:path";
import { inject } from "vitest";
import * as z from "zod";

const Packed = z.object({ npmEnv: z.record(z.string(), z.string()), installed: z.string() });

/** The settings by which npm installs it, and a folder in which it is installed with its own dependencies only. */
export async function packed(): Promise<z.infer<typeof Packed>> {
  const answer = await fetch(inject("packageDoor"));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`The package cannot be packed: ${text}`);
  return Packed.parse(JSON.parse(text));
}

/** The command of a package that is installed in the folder, as `npx` finds it. */
export function bin(folder: string, name: string): string {
  return join(folder, "node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);
}
