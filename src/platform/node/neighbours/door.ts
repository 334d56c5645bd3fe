/** The address at which other processes reach this one, and the calls between them. */
import { networkInterfaces } from "node:os";
import { LayoverError } from "../../../core/errors.ts";
import { type ArmMessage, armPath, armRequest, type Peer, readArm } from "../../../http/arm.ts";
import { problem, shownError } from "../../../http/problem.ts";
import type { Signing } from "../../../http/signature.ts";
import type { Neighbours } from "./neighbours.ts";

export interface ProcessesOptions {
  /**
   * The address that leads to this process and to no other: `http://10.0.0.7:3000`, without the prefix. `"auto"`: the
   * first address of this machine, with the port. Undefined: the other processes do not learn of this one.
   */
  readonly door: string | undefined;
}

/** How long another process may take to answer. */
const answerMs = 5_000;

/**
 * The address with the prefix. Undefined: there is no door.
 *
 * @throws LayoverError `invalid_request`
 */
export function doorOf(
  { door }: ProcessesOptions,
  {
    hostname,
    port,
    prefix,
  }: { readonly hostname?: string | undefined; readonly port: number; readonly prefix: string },
): string | undefined {
  if (door === undefined) return undefined;
  if (door === "auto") return `http://${isAnyAddress(hostname) ? ownAddress() : inUrl(hostname)}:${port}${prefix}`;
  const url = URL.canParse(door) ? new URL(door) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === "/" && url.host !== "";
  if (isPlain && url.username + url.password + url.search + url.hash === "") return `${url.origin}${prefix}`;
  throw new LayoverError("invalid_request", `processes.door: ${JSON.stringify(door)} is no address of a server`, {
    hint: 'Write "auto", or an address like "http://10.0.0.7:3000": without a path, and without the prefix.',
    details: { field: "processes.door" },
  });
}

/** Sends a message to another process. @throws LayoverError `unreachable`; whatever `fetch` throws */
export async function callDoor(to: Peer, message: ArmMessage, signing: Signing): Promise<void> {
  const response = await fetch(`${to.door}${armPath}`, {
    ...armRequest(message, signing),
    redirect: "manual",
    signal: AbortSignal.timeout(answerMs),
  });
  await response.body?.cancel();
  if (response.status === 204) return;
  const why = response.status === 421 ? ": another process is there" : "";
  throw new LayoverError("unreachable", `${to.door} answered ${response.status}${why}`, {
    hint: "A door must lead to one process, and nothing in front of it may answer instead.",
    details: { status: response.status },
  });
}

/** Answers a request to `…/internal/arm`. */
export async function answerDoor(request: Request, neighbours: Neighbours, signing: Signing): Promise<Response> {
  try {
    await neighbours.receive(await readArm(request, signing));
    return new Response(null, { status: 204 });
  } catch (error) {
    return problem(shownError(error));
  }
}

/** Whether a server that listens there can be reached at every address of its machine. */
export function isAnyAddress(hostname: string | undefined): hostname is undefined | "0.0.0.0" | "::" {
  return hostname === undefined || hostname === "0.0.0.0" || hostname === "::";
}

export function inUrl(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const outer = addresses.filter(({ internal, scopeid }) => !internal && !scopeid);
  const [address] = [...outer.filter(({ family }) => family === "IPv4"), ...outer];
  return address === undefined ? "localhost" : inUrl(address.address);
}
