/** Tells which files of the project this process loads. It leaves out the files of packages. */
import module from "node:module";
import { fileURLToPath } from "node:url";

/** Calls `tell` with each file that is imported from now on, even if the file cannot be found. Needs Node 22.15. */
export function tellLoadedFiles(tell: (file: string) => void): void {
  const told = new Set<string>();
  const tellOnce = (url: string) => {
    if (told.has(url) || !url.startsWith("file:") || url.includes("/node_modules/")) return;
    told.add(url);
    tell(fileURLToPath(url));
  };
  module.registerHooks?.({
    resolve(specifier, context, nextResolve) {
      try {
        const resolved = nextResolve(specifier, context);
        tellOnce(resolved.url);
        return resolved;
      } catch (error) {
        if (/^\.{0,2}\//.test(specifier)) tellOnce(new URL(specifier, context.parentURL).href);
        throw error;
      }
    },
  });
}
