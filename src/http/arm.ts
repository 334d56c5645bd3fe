/**
 * The message by which one process asks another one to ring at given instants too: `POST …/internal/arm`. It is signed
 * with a key of its own. Without instants it only asks whether the other process is there.
 */
import { readText } from "./body.ts";
import { type Signing, sign, signatureHeader, verified } from "./signature.ts";

export const armPath = "/internal/arm";

/** A process that others may call. */
export interface Peer {
  /** Id of the process. A new process has a new id, even at the same address. */
  readonly id: string;
  /** The address at which others reach it, with the prefix of its paths: `http://10.0.0.7:3000`. */
  readonly door: string;
  /** The versions of each workflow that it can carry out. */
  readonly versions: Readonly<Record<string, readonly number[]>>;
}

/** An instant by the database's clock, in epoch milliseconds, and its distance from now. */
export interface Instant {
  readonly at: number;
  readonly inMs: number;
}

export interface ArmMessage {
  /** Id of the receiver. A proxy or a load balancer may have led the message to somebody else. */
  readonly to: string;
  readonly from: Peer;
  readonly instants: readonly Instant[];
  /** The other process that rings at these instants. Left out: `from`. */
  readonly beside?: Peer | undefined;
  /** Whether `from` is about to end, so that nobody may arm anything there. */
  readonly isLeaving?: boolean | undefined;
  /** Whether `from` has ended, and the receiver is to look at once for the work that it left. */
  readonly isLast?: boolean | undefined;
  /** Whether the receiver is no longer in the list of processes, and must write itself down again. */
  readonly isUnlisted?: boolean | undefined;
}

/** The most bytes of a message. An instant takes some 45 bytes. The rest is room for what is said of two processes. */
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
