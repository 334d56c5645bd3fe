/**
 * How large a Worker becomes: that of functions/worker.ts, with its order and zod, bundled and minified as wrangler
 * can, then gzipped as Cloudflare counts it. It uses none of Node's modules: a bundle that asks for one fails.
 */
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface BundleSize {
  /** Gzipped bytes of the whole bundle. */
  readonly all: number;
  /** Gzipped bytes of layover's own code alone. */
  readonly own: number;
  /** Minified bytes of each package in it, the largest first. */
  readonly packages: readonly (readonly [name: string, bytes: number])[];
}

/** Most gzipped bytes, 7 kB of them for the webhook. Neon's driver is one file, whose client for WebSockets no bundler can leave out. */
export const limits = { own: 95_800, all: 168_100 };

const functions = fileURLToPath(new URL("../../functions", import.meta.url));

/** What functions/ imports of layover. */
const imported = `
  export { NonRetryableError, workflow } from "layover";
  export { serve } from "layover/cloudflare";
  export { neon } from "layover/neon";
`;

/** Measures the bundle. `conditions`: by which of its entries layover is found; none for `dist/`. */
export async function bundleSize(conditions: readonly string[] = []): Promise<BundleSize> {
  const options = {
    absWorkingDir: functions,
    bundle: true,
    conditions: [...conditions, "workerd", "worker", "browser"],
    format: "esm",
    mainFields: ["module", "main"],
    metafile: true,
    minify: true,
    platform: "neutral",
    target: "es2024",
    write: false,
  } as const satisfies BuildOptions;
  const all = await build({ ...options, entryPoints: ["worker.ts"] });
  const own = await build({
    ...options,
    stdin: { contents: imported, resolveDir: functions },
    plugins: [othersOutside],
  });
  const packages = new Map<string, number>();
  for (const output of Object.values(all.metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
      const name = packageOf(file);
      packages.set(name, (packages.get(name) ?? 0) + bytesInOutput);
    }
  }
  return {
    all: gzipped(all.outputFiles),
    own: gzipped(own.outputFiles),
    packages: [...packages].sort(([, one], [, other]) => other - one),
  };
}

/** Describes a bundle's size in one line, for people. */
export function describeSize({ all, own, packages }: BundleSize): string {
  const parts = packages.map(([name, bytes]) => `${name} ${kilobytes(bytes)}`).join(", ");
  return `A Worker's bundle, gzipped: ${kilobytes(all)}, layover's own share ${kilobytes(own)} (minified: ${parts})`;
}

/** Says which share is too large; undefined where none is. */
export function excess({ all, own }: BundleSize): string | undefined {
  if (own > limits.own) return `layover's own share is over its limit of ${kilobytes(limits.own)}`;
  if (all > limits.all) return `the whole is over its limit of ${kilobytes(limits.all)}`;
  return undefined;
}

const othersOutside: Plugin = {
  name: "others-outside",
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) => (/^layover(\/|$)/.test(path) ? undefined : { path, external: true }));
  },
};

function packageOf(file: string): string {
  return /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(file)?.[1] ?? "layover";
}

function gzipped(files: readonly { readonly contents: Uint8Array }[]): number {
  return files.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`;
}
