/** Bundles the module of the functions as Lambda loads it: one entry, and a piece of its own for each client of AWS. */
import { dirname } from "node:path";
import { Annotations, AssetHashType, DockerImage } from "aws-cdk-lib";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import type { Construct } from "constructs";
import { type BuildOptions, buildSync } from "esbuild";

export interface BundleOptions {
  /** The module that exports what `serve` of layover/lambda answers, from the folder in which `cdk` runs. */
  readonly entry: string;
  /** Further settings of esbuild: packages that are not to be bundled, say. */
  readonly esbuild?:
    | Pick<BuildOptions, "alias" | "conditions" | "define" | "external" | "loader" | "nodePaths">
    | undefined;
}

/** What packages need that are written for CommonJS: an ES module has no `require`. */
const banner =
  'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);';

/** The asset of the bundle. Its hash changes with the code that is deployed, and with nothing else. */
export function bundle(scope: Construct, { entry, esbuild }: BundleOptions): Asset {
  const asset = new Asset(scope, "Bundle", {
    path: dirname(entry),
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // It is never used: esbuild bundles on this machine. CDK wants one.
      image: DockerImage.fromRegistry("public.ecr.aws/docker/library/node:24"),
      local: {
        tryBundle: (outdir) => {
          buildSync({
            entryPoints: { [entryName]: entry },
            bundle: true,
            splitting: true,
            outdir,
            platform: "node",
            format: "esm",
            target: "node22",
            mainFields: ["module", "main"],
            outExtension: { ".js": ".mjs" },
            banner: { js: banner },
            minify: true,
            keepNames: true,
            sourcemap: true,
            sourcesContent: false,
            legalComments: "none",
            logLevel: "warning",
            ...esbuild,
          });
          return true;
        },
      },
    },
  });
  // CDK warns of objects without a version, since it cannot see when they change. This object's key is made of its hash.
  Annotations.of(asset).acknowledgeWarning("@aws-cdk/aws-lambda:codeFromBucketObjectVersionNotSpecified");
  return asset;
}

/** The name of the bundled module. A handler is `index.http`. */
export const entryName = "index";
