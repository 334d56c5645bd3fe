/**
 * The token in a callback's URL. It says which wait it answers, under a MAC that also covers the namespace. It is
 * verified before any SQL, so a stranger cannot keep the database awake. It is the same for the same wait, so a body
 * that is tried again announces the same URL.
 *
 *     <base64url of the ref>.<MAC>      about 150 characters
 *
 * The ref is packed: one byte of version, 16 bytes of the run's id, then numbers (7 bits a byte, lowest first) and
 * texts (the length in bytes as a number, then UTF-8). Version 2 ends with a title and a text, which may be empty.
 * After either version follow the environment, as a text, the day on which the token ends, counted from 1970, and one more
 * than the position at which it was made. An earlier release does not read these three. If they are missing or empty, every
 * environment accepts the token, it never ends, and nobody knows where it was made.
 */

import { fromBase64Url, toBase64Url } from "../core/base64.ts";
import type { CallbackRef, OpenCallback, SealCallback } from "../core/contract/callback.ts";
import { defaultEnvironment } from "../core/names.ts";
import type { Secrets } from "./secrets.ts";

const plainVersion = 1;
const askingVersion = 2;
const dayMs = 24 * 60 * 60 * 1_000;

interface Sealing {
  readonly secrets: Secrets;
  readonly namespace: string;
  /** The environment of this server. A token that names another one is refused. Default: tokens name none. */
  readonly environment?: string | undefined;
}

/** `publicUrl` is where the app is mounted, with its prefix: `https://example.com/layover`. */
export function callbackSealer(options: Sealing & { readonly publicUrl: string }): SealCallback {
  const { secrets, namespace, environment, publicUrl } = options;
  const base = publicUrl.replace(/\/+$/, "");
  return (ref) => {
    const packed = toBase64Url(pack(ref, environment));
    const token = `${packed}.${secrets.sign("callback", signedText(namespace, packed))}`;
    return { token, url: `${base}/callbacks/${token}` };
  };
}

export function callbackOpener({ secrets, namespace, environment }: Sealing): OpenCallback {
  return (token) => {
    const [packed = "", mac = "", ...rest] = token.split(".");
    if (rest.length > 0 || !secrets.verify("callback", signedText(namespace, packed), mac)) return undefined;
    const bytes = fromBase64Url(packed);
    const { ref, madeFor = "" } = (bytes && unpack(bytes)) ?? {};
    return madeFor === "" || madeFor === environment ? ref : undefined;
  };
}

/** A namespace has no line break in it. */
function signedText(namespace: string, packed: string): string {
  return `${namespace}\n${packed}`;
}

function pack(ref: CallbackRef, environment: string | undefined): Uint8Array {
  const { title = "", text = "", endsAt = 0, madeAt = -1, madeIn = 0 } = ref;
  const isAsking = title !== "" || text !== "";
  const runId = ref.runId.replaceAll("-", "").match(/../g) ?? [];
  return Uint8Array.from([
    isAsking ? askingVersion : plainVersion,
    ...runId.map((byte) => Number.parseInt(byte, 16)),
    ...packNumber(ref.epoch),
    ...packNumber(ref.occurrence),
    ...packNumber(ref.version),
    ...packText(ref.workflow),
    ...packText(ref.name),
    ...packText(ref.path),
    ...(isAsking ? [...packText(title), ...packText(text)] : []),
    // The default name is left out: it would not tell one environment from another.
    ...packText(environment === defaultEnvironment ? "" : (environment ?? "")),
    ...packNumber(Math.ceil(endsAt / dayMs)),
    ...packNumber(madeAt + 1),
    ...(madeIn > 0 ? packNumber(madeIn) : []),
  ]);
}

function packNumber(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...packNumber(Math.floor(value / 128))];
}

function packText(text: string): number[] {
  const bytes = new TextEncoder().encode(text);
  return [...packNumber(bytes.length), ...bytes];
}

/** Unpacks bytes whose MAC was verified. Undefined: a later version has packed them. */
function unpack(bytes: Uint8Array): { readonly ref: CallbackRef; readonly madeFor: string } | undefined {
  let position = 17;
  const number = (): number => {
    const byte = bytes[position++] ?? 0;
    return byte < 128 ? byte : byte - 128 + 128 * number();
  };
  const text = (): string => {
    const length = number();
    position += length;
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(position - length, position));
  };
  const version = bytes[0];
  if (version !== plainVersion && version !== askingVersion) return undefined;
  const hex = [...bytes.subarray(1, 17)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const ref = {
    runId: hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
    epoch: number(),
    occurrence: number(),
    version: number(),
    workflow: text(),
    name: text(),
    path: text(),
  };
  const [title, body] = version === askingVersion ? [text(), text()] : ["", ""];
  const madeFor = text();
  const endsAt = number() * dayMs;
  const madeAt = number() - 1;
  const madeIn = number();
  const asked = { ...(title !== "" && { title }), ...(body !== "" && { text: body }) };
  const made = { ...(madeAt >= 0 && { madeAt }), ...(madeIn > 0 && { madeIn }) };
  return { ref: { ...ref, ...asked, ...(endsAt > 0 && { endsAt }), ...made }, madeFor };
}
