/**
 * Reads a connection string for Neon's driver. A wrong one is refused before the driver sees it: the driver's error
 * would quote it, with its password.
 */
import { LayoverError } from "../core/errors.ts";
import { decode, endpointAt } from "./endpoint.ts";

export interface NeonAddress {
  /** The connection string, without characters that the driver refuses, such as a line break at the end. */
  readonly connectionString: string;
  /** What the database is called (see Query.endpoint), as by an adapter that connects to it. */
  readonly endpoint: string;
}

/** @throws LayoverError `invalid_request`, which quotes nothing: a string that is wrong may hold its password anywhere */
export function readNeonAddress(connectionString: unknown, fetchEndpoint?: string): NeonAddress {
  if (connectionString === undefined || connectionString === "") {
    throw refused(
      "the connection string for neon() is missing",
      "Set the variable that it is read from, such as DATABASE_URL.",
    );
  }
  const url = typeof connectionString === "string" ? parse(connectionString) : undefined;
  if (url === undefined) {
    throw refused(
      "neon() was given no valid connection string",
      "It reads postgresql://user:password@host/database; write %40 for @ in the password, %2F for /, %23 for #, %3F for ?.",
    );
  }
  if (fetchEndpoint !== undefined && !URL.canParse(fetchEndpoint)) {
    throw refused("the fetchEndpoint of neon() is no address", "It reads http://localhost:5432/sql.");
  }
  if (fetchEndpoint === undefined && !/^[^.]+\..*[a-z]/.test(url.hostname)) {
    throw refused(
      "the connection string for neon() leads to no host of Neon's",
      "Use layover/pg for another Postgres. For what speaks Neon's protocol, such as Neon Local, set fetchEndpoint.",
    );
  }
  return {
    connectionString: `postgresql:${url.href.slice(url.protocol.length)}`,
    endpoint: endpointAt(url.hostname, decode(url.pathname.slice(1))),
  };
}

/** Reads the address by the rules of http, as Neon's driver does. */
function parse(connectionString: string): URL | undefined {
  const [, rest] = /^\s*postgres(?:ql)?:(.*)$/s.exec(connectionString) ?? [];
  const url = rest === undefined ? null : URL.parse(`http:${rest}`);
  return url === null || url.username === "" || url.pathname === "/" ? undefined : url;
}

function refused(message: string, hint: string): LayoverError {
  return new LayoverError("invalid_request", message, { hint });
}
