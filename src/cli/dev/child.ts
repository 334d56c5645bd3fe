/**
 * The process in which `layover dev` serves. When a file changes that this process has loaded, its parent
 * (reloading.ts) begins another one.
 */
import { complaint } from "../complaint.ts";
import { endQuietly, printAside } from "../screen.ts";
import { tellLoadedFiles } from "./loaded-files.ts";
import type { FromChild, ToChild } from "./reloading.ts";
import { type DevOptions, serveDev } from "./serve.ts";

const { module, ...options }: DevOptions & { readonly module?: string } = JSON.parse(process.argv[2] ?? "");
const tell = (message: FromChild) => void process.send?.(message);

const asked = Promise.withResolvers<ToChild>();
let isServing = false;
process.on("message", (message: ToChild) => {
  // A server that has not begun to serve has no work under way, so it may end at once.
  if (isServing) asked.resolve(message);
  else process.exit();
});
process.on("disconnect", () => process.exit()); // the parent was killed
process.on("SIGINT", () => {}); // Ctrl-C reaches the parent, too, which asks
process.on("SIGTERM", () => asked.resolve("end"));

endQuietly();
tellLoadedFiles((file) => tell({ file }));
try {
  await serveDev(module, options, {
    serving: (serving) => {
      isServing = true;
      tell({ serving });
    },
    asked: async () => (await asked.promise) === "reload",
  });
} catch (error) {
  printAside(complaint(error));
  process.exit(1);
}
