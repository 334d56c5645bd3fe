/**
 * Serves in a child process. Whenever a file of the project changes, a new child takes over. A run in the middle of a
 * step goes on there: the new code begins that step again.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { print, printAside } from "../screen.ts";
import type { DevOptions, Serving } from "./serve.ts";
import { WatchedFiles } from "./watched-files.ts";
import { whenAbandoned } from "./when-abandoned.ts";

export type FromChild = { readonly file: string } | { readonly serving: Serving };
export type ToChild = "reload" | "end";

/** The file that the child runs. It lies beside this one, built or not. */
const childFile = new URL(import.meta.url.endsWith(".ts") ? "child.ts" : "child.js", import.meta.url);

/** Ends this process when the server has ended. */
export async function serveReloading(module: string | undefined, options: DevOptions): Promise<void> {
  let child: ChildProcess | undefined;
  let { port } = options;
  let hasServed = false;
  let isEnding = false;
  let change = Promise.withResolvers<void>();
  let hasChanged = false;

  const files = new WatchedFiles((name) => {
    if (isEnding || hasChanged) return;
    print(`${name} has changed.`);
    hasChanged = true;
    change.resolve();
    ask("reload");
  });
  const ask = (what: ToChild) => child?.connected && child.send(what, () => {}); // it may have ended meanwhile
  const end = () => {
    if (isEnding || child === undefined) {
      child?.kill("SIGKILL");
      process.exit(130);
    }
    isEnding = true;
    ask("end");
  };
  whenAbandoned(end);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);

  const hear = (message: FromChild) => {
    if ("file" in message) return files.add(message.file);
    const { serving } = message;
    print(hasServed ? serving.brief : serving.greeting);
    hasServed = true;
    port = serving.port;
  };

  for (;;) {
    hasChanged = false;
    change = Promise.withResolvers();
    child = fork(childFile, [JSON.stringify({ ...options, module, port })]);
    child.on("message", hear);
    const [code, signal]: unknown[] = await once(child, "exit");
    child = undefined;
    const mustEnd = isEnding || (!hasChanged && (!hasServed || code === 0 || signal !== null));
    if (mustEnd) process.exit(typeof code === "number" ? code : 1);
    if (!hasChanged) printAside("The server begins again when you change a file.");
    await change.promise;
  }
}
