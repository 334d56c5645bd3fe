/**
 * How one process has another one ring at given instants too: `POST …/internal/arm`, signed with a key of its own. Without
 * instants it asks whether the other one is there.
 */
import { readText } from "./body.ts";
import { type Signing, sign, signatureHeader, verified } from "./signature.ts";

export const armPath = "/internal/arm";

/** A process that others may call. */
export interface Peer {
  /** Made anew by each process, also by one that takes the place of another at the same address. */
  readonly id: string;
  /** Where others reach it, with the prefix of its paths: `http://10.0.0.7:3000`. */
  readonly door: string;
  /** The versions of each workflow that it carries. */
  readonly versions: Readonly<Record<string, readonly number[]>>;
}

/** An instant of the database's, in epoch milliseconds, and its distance from now. */
export interface Instant {
  readonly at: number;
  readonly inMs: number;
}

export interface ArmMessage {
  /** Whom it is for. A proxy or a load balancer may have led it to somebody else. */
  readonly to: string;
  readonly from: Peer;
  readonly instants: readonly Instant[];
  /** Who else rings at these instants. Left out: `from`. */
  readonly beside?: Peer | undefined;
  /** Whether `from` is about to end, so that nothing may be armed there. */
  readonly isLeaving?: boolean | undefined;
  /** Whether the receiver is to look at once for what `from` has left. */
  readonly isLast?: boolean | undefined;
  /** Whether the receiver is not on the list any more, and is to write itself down again. */
  readonly isUnlisted?: boolean | undefined;
}

/** An instant is some 45 bytes, and what is said of two processes has room in the rest. */
const mostBytes = 256 * 1024;
export const mostInstants = 2_000;

export function armRequest(message: ArmMessage, signing: Signing): RequestInit {
  const body = JSON.stringify(message);
  return {
    method: "POST",
    headers: { "content-type": "application/json", [signatureHeader]: sign(armPath, body, forArming(signing)) },
    body,
  };
}

/** @throws LayoverError `unauthorized`, `body_too_large` */
export async function readArm(request: Request, signing: Signing): Promise<ArmMessage> {
  const readBody = () => readText(request, mostBytes);
  // It carries our MAC, so it is what armRequest wrote.
  return JSON.parse(await verified(armPath, { headers: request.headers, readBody }, forArming(signing))) as ArmMessage;
}

function forArming(signing: Signing): Signing {
  return { ...signing, purpose: "arm" };
}
