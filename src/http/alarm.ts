/**
 * What a deployment and the stand-alone alarm say to each other. The deployment arms instants: `POST …/apps/ID/arm`. The
 * alarm rings: `POST …/internal/tick` at the deployment. Both sign with one key that is derived from the deployment's
 * root secret, and each text that is signed names the app and the path. So nothing that is signed for one app, or on one
 * of the ways, counts on another.
 */
import { LayoverError } from "../core/errors.ts";
import { readText } from "./body.ts";
import type { Signer } from "./secrets.ts";
import { type Signing, sign, signatureHeader, verified } from "./signature.ts";

export const tickPath = "/internal/tick";

/** An instant: its distance from now, and the instant of the database's clock for which it is armed, in milliseconds. */
export type Distance = readonly [inMs: number, readyUntil: number];

export interface ArmOrder {
  readonly arm: readonly Distance[];
  /** Id of the sender's code. The alarm rings soon for a code that it does not know. */
  readonly deployment: string;
}

export interface RingMessage {
  /** As for the engine's tick. 0: the alarm does not know. */
  readonly readyUntil: number;
  /** Whether nothing was armed for this ring. */
  readonly isSweep: boolean;
}

export interface RingAnswer {
  /** Whether something due was left, so that the alarm is to ring again at once. */
  readonly more: boolean;
}

/** What the alarm tells of an app. Instants are epoch milliseconds by its clock. */
export interface AlarmStatus {
  readonly app: string;
  /** Where it rings. */
  readonly url: string;
  readonly now: number;
  /** How many instants stand. */
  readonly standing: number;
  /** When it rings next. Null: it is parked, or was never armed. */
  readonly nextRingAt: number | null;
  /** When a ring was last answered well. */
  readonly answeredAt: number | null;
  /** How many rings in a row were not answered well. */
  readonly failures: number;
  /** How the last one of them was answered. */
  readonly lastFailure: string | null;
  /** The instant since which it rings no more, until something is armed. */
  readonly parkedAt: number | null;
}

/** The most instants of one message. One takes some 30 bytes. */
export const mostDistances = 1_000;

/** Whoever guesses a header has us compute a MAC over this much, for each key. */
const mostOrderBytes = 64 * 1024;
const mostRingBytes = 1_024;

/** How the alarm names an app in its addresses. */
export const appForm = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";

export interface AlarmAddress {
  /** The address of the app at its alarm, without a slash at the end. */
  readonly url: string;
  readonly app: string;
}

/** Reads `https://alarm.example.com/apps/orders`. @throws LayoverError `invalid_request` */
export function alarmAddress(text: string): AlarmAddress {
  const { protocol, pathname, origin, search, hash } = URL.parse(text) ?? {};
  const [, app] = new RegExp(`/apps/(${appForm})/?$`).exec(pathname ?? "") ?? [];
  if ((protocol === "https:" || protocol === "http:") && app !== undefined && search === "" && hash === "")
    return { url: `${origin}${pathname?.replace(/\/$/, "")}`, app };
  throw new LayoverError("invalid_request", `${JSON.stringify(text)} is no address of an app at its alarm`, {
    hint: "Give the address of the alarm's Worker and the app's id: https://alarm.example.workers.dev/apps/orders",
    details: { field: "alarm" },
  });
}

export interface AlarmSigning {
  readonly secrets: Signer;
  readonly app: string;
  readonly nowMs: number;
}

export function armRequest(order: ArmOrder, signing: AlarmSigning): RequestInit {
  return post("/arm", order, signing);
}

/** @throws LayoverError `unauthorized`, `body_too_large`, `invalid_request` */
export async function readOrder(request: Request, signing: AlarmSigning): Promise<ArmOrder> {
  const order: unknown = JSON.parse(await read("/arm", request, signing, mostOrderBytes));
  if (isOrder(order)) return order;
  throw new LayoverError("invalid_request", "what is to be armed is no list of distances, with a deployment", {
    hint: "The deployment and its alarm may be of different releases. Deploy the newest release of both.",
  });
}

export function statusRequest(signing: AlarmSigning): RequestInit {
  return { headers: { [signatureHeader]: sign("/status", "", signingOf(signing)) } };
}

/** Verifies who asks. @throws LayoverError `unauthorized` */
export async function verifyStatus({ headers }: Request, signing: AlarmSigning): Promise<void> {
  await verified("/status", { headers, readBody: async () => "" }, signingOf(signing));
}

export function ringRequest(message: RingMessage, signing: AlarmSigning): RequestInit {
  return post(tickPath, message, signing);
}

/** @throws LayoverError `unauthorized`, `body_too_large` */
export async function readRing(request: Request, signing: AlarmSigning): Promise<RingMessage> {
  // It carries a MAC by our key, so it is what ringRequest wrote.
  return JSON.parse(await read(tickPath, request, signing, mostRingBytes)) as RingMessage;
}

function post(path: string, message: object, signing: AlarmSigning): RequestInit {
  const body = JSON.stringify(message);
  return {
    method: "POST",
    headers: { "content-type": "application/json", [signatureHeader]: sign(path, body, signingOf(signing)) },
    body,
  };
}

async function read(path: string, request: Request, signing: AlarmSigning, mostBytes: number): Promise<string> {
  const readBody = () => readText(request, mostBytes);
  return await verified(path, { headers: request.headers, readBody }, signingOf(signing));
}

function signingOf({ secrets, app, nowMs }: AlarmSigning): Signing {
  return { secrets, namespace: app, nowMs, purpose: "alarm" };
}

function isOrder(order: unknown): order is ArmOrder {
  const { arm, deployment }: { arm?: unknown; deployment?: unknown } = Object(order);
  return (
    Array.isArray(arm) &&
    arm.length <= mostDistances &&
    arm.every((one) => Array.isArray(one) && one.length === 2 && one.every(Number.isSafeInteger)) &&
    typeof deployment === "string" &&
    deployment.length <= 200
  );
}
