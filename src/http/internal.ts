/**
 * How a deployment asks itself to carry out turns, where its platform has no private way to: `POST …/internal/turns`,
 * answered when they are carried out.
 */
import type { TurnRef } from "../core/ports.ts";
import { readText } from "./body.ts";
import { type Signing, sign, signatureHeader, verified } from "./signature.ts";

export const turnsPath = "/internal/turns";

export interface TurnsMessage {
  readonly turns: readonly TurnRef[];
  /** How many of these requests led to this one, itself included. Platforms stop chains that are too long. */
  readonly hops: number;
}

/** A turn names a run, and maybe a path of scopes: some hundred bytes. A burst is thousands of them. */
const mostBytes = 2 * 1024 * 1024;

export function turnsRequest(message: TurnsMessage, signing: Signing): RequestInit {
  const body = JSON.stringify(message);
  return {
    method: "POST",
    headers: { "content-type": "application/json", [signatureHeader]: sign(turnsPath, body, signing) },
    body,
  };
}

/** @throws LayoverError `unauthorized`, `body_too_large`, `invalid_request` */
export async function readTurns(request: Request, signing: Signing): Promise<TurnsMessage> {
  const readBody = () => readText(request, mostBytes);
  // It carries our MAC, so it is what turnsRequest wrote.
  return JSON.parse(await verified(turnsPath, { headers: request.headers, readBody }, signing)) as TurnsMessage;
}
