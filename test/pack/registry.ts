/**
 * An npm registry that has one package of ours, and of others the versions that package-lock.json names, and no more:
 * what was released yesterday breaks no test. Their contents are in npm's cache, where `npm ci` has put them; failing
 * that, they come from the real registry.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import * as z from "zod";

export interface Published {
  /** The tarball. */
  readonly file: string;
  readonly integrity: string;
  /** Its package.json. */
  readonly manifest: { readonly name: string; readonly version: string };
}

export interface Registry {
  readonly url: string;
  close(): void;
}

export interface RegistryOptions {
  readonly published: Published;
  /** Text of a package-lock.json. */
  readonly lock: string;
  /** The real registry's URL. */
  readonly elsewhere: string;
}

/** What a registry tells of a package. https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md */
interface Packument {
  readonly name: string;
  readonly "dist-tags": { latest: string };
  readonly versions: Record<string, object>;
}

export async function openRegistry({ published, lock, elsewhere }: RegistryOptions): Promise<Registry> {
  const { name, version } = published.manifest;
  const tarballPath = `/${name}/-/${version}.tgz`;
  const packuments = packumentsIn(lock, elsewhere);
  // The next package of this version is another one: npm is not to remember it.
  const headers = { "cache-control": "no-store" };
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    const packument = packuments.get(decodeURIComponent(path.slice(1)));
    if (path === tarballPath) {
      response.writeHead(200, headers).end(readFileSync(published.file));
    } else if (packument !== undefined) {
      response.writeHead(200, { ...headers, "content-type": "application/json" }).end(JSON.stringify(packument));
    } else {
      response.writeHead(404, headers).end();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  const url = `http://127.0.0.1:${address.port}`;
  const dist = { integrity: published.integrity, tarball: url + tarballPath };
  add(packuments, name, version, { ...published.manifest, dist });
  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ name: z.string().optional(), version: z.string().optional(), integrity: z.string().optional() }),
  ),
});

function packumentsIn(lock: string, elsewhere: string): Map<string, Packument> {
  const packuments = new Map<string, Packument>();
  for (const [place, entry] of Object.entries(Lock.parse(JSON.parse(lock)).packages)) {
    const { version, integrity, dev, optional, peer, devOptional, ...manifest } = entry;
    if (version === undefined || integrity === undefined) continue; // the project itself
    const name = entry.name ?? place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    const tarball = new URL(`${name}/-/${name.split("/").at(-1)}-${version}.tgz`, elsewhere).href;
    add(packuments, name, version, { ...manifest, name, version, dist: { integrity, tarball } });
  }
  return packuments;
}

function add(packuments: Map<string, Packument>, name: string, version: string, manifest: object): void {
  const packument = packuments.get(name) ?? { name, "dist-tags": { latest: version }, versions: {} };
  packument["dist-tags"].latest = version;
  packument.versions[version] = manifest;
  packuments.set(name, packument);
}
