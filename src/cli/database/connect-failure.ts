/** Why a connection could not be made, in words: never with the password, nor with a stack. */
import { formatDuration } from "../../core/duration.ts";
import { decode } from "../../postgres/endpoint.ts";
import { UsageError } from "../usage-error.ts";

interface Failure {
  readonly code: string;
  readonly message: string;
}

interface Target {
  /** host:port */
  readonly host: string;
  readonly hostname: string;
  readonly user: string;
  readonly database: string;
}

type Words = readonly [message: string, hint: string];

const certificate =
  "If that is the server's own, name its authority in DATABASE_URL: ?sslmode=verify-full&sslrootcert=ca.pem";

/** The causes, by the codes of Node, of OpenSSL and of Postgres. */
const causes: Readonly<Record<string, (target: Target, failure: Failure) => Words>> = {
  ECONNREFUSED: ({ host }) => [
    `Nothing listens at ${host}.`,
    "Start that Postgres, or put host and port in DATABASE_URL right.",
  ],
  ENOTFOUND: ({ hostname }) => [
    `There is no host named ${hostname}.`,
    "Look at DATABASE_URL for a slip, and whether this machine is online.",
  ],
  EAI_AGAIN: ({ hostname }) => [`The name ${hostname} cannot be looked up now.`, "Is this machine online?"],
  timeout: ({ host }) => [
    `${host} did not answer within ${formatDuration(10_000)}.`,
    "A firewall may be in between: is this machine's address on the list of those that may connect?",
  ],
  ECONNRESET: ({ host }) => [
    `${host} ended the connection at once.`,
    "Is that a Postgres? If it wants TLS, add ?sslmode=verify-full to DATABASE_URL.",
  ],
  "28P01": ({ user }) => [`The password of the role "${user}" is wrong.`, "Put it right in DATABASE_URL."],
  "28000": ({ user }, { message }) => [
    `The server does not let the role "${user}" in: ${message}.`,
    message.includes("no encryption") || message.includes("SSL off")
      ? "It wants TLS: add ?sslmode=verify-full to DATABASE_URL."
      : "Look at the role's name, and at the server's pg_hba.conf.",
  ],
  "3D000": ({ database, host }) => [
    `There is no database named "${database}" at ${host}.`,
    `Create it (create database "${database}"), or put its name right in DATABASE_URL.`,
  ],
  "53300": ({ host }) => [
    `${host} has no connection left.`,
    "Wait until others end, raise max_connections, or connect through a pooler.",
  ],
  "57P03": ({ host }) => [`The server at ${host} is starting or stopping.`, "Try again in a moment."],
  "08P01": ({ host }, { message }) => [
    `The pooler at ${host} refused: ${message}.`,
    "Look at user and database in DATABASE_URL; some poolers want the project in the user's name.",
  ],
  tlsUnsupported: ({ host }) => [
    `The server at ${host} has no TLS.`,
    "On your own machine that is well: take sslmode out of DATABASE_URL.",
  ],
  certificate: ({ hostname }, { message }) => [
    `The certificate of ${hostname} is not trusted: ${message}.`,
    certificate,
  ],
};

export function connectFailure(cause: unknown, url: URL): UsageError {
  const failure = failureIn(cause, url);
  const target: Target = {
    host: url.port === "" ? `${url.hostname}:5432` : url.host,
    hostname: url.hostname,
    user: decode(url.username) || "(none)",
    database: decode(url.pathname.slice(1)),
  };
  const [message, hint] = causes[kindOf(failure)]?.(target, failure) ?? [
    `The connection to ${target.host} failed: ${failure.message}.`,
    "Look at DATABASE_URL.",
  ];
  return new UsageError(message, { hint });
}

function kindOf({ code, message }: Failure): string {
  if (code in causes) return code;
  if (code === "ETIMEDOUT" || /timeout/i.test(message)) return "timeout";
  if (message.includes("does not support SSL")) return "tlsUnsupported";
  if (/CERT|UNABLE_TO_|ERR_TLS/.test(code)) return "certificate";
  return message.includes("terminated unexpectedly") ? "ECONNRESET" : "";
}

/** A host with several addresses fails with one error for each, in an AggregateError without a message. */
function failureIn(cause: unknown, { password }: URL): Failure {
  const error: unknown = cause instanceof AggregateError ? (cause.errors[0] ?? cause) : cause;
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const code: unknown = "code" in error ? error.code : "";
  const message = [password, decode(password)].reduce(
    (text, secret) => (secret === "" ? text : text.replaceAll(secret, "…")),
    error.message.replace(/\.$/, ""),
  );
  return { code: typeof code === "string" ? code : "", message };
}
