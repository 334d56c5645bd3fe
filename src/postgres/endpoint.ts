/** Which database an address leads to: `host/database`, without port or credentials. */

export interface Address {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly database?: string | undefined;
  readonly user?: string | undefined;
}

/** Fills in as libpq and node-postgres do: what the address leaves out comes from the environment, then the defaults. */
export function endpointOf(address: Address): string {
  const parsed = address.connectionString === undefined ? {} : parse(address.connectionString);
  const { PGHOST, PGDATABASE, PGUSER } = environment();
  const host = parsed.host || address.host || PGHOST || "localhost";
  const user = parsed.user || address.user || PGUSER;
  const database = parsed.database || address.database || PGDATABASE || user || "postgres";
  return endpointAt(host, database);
}

/** Neon's pooler has a host name of its own, beside that of the same database. */
export function endpointAt(host: string, database: string): string {
  const direct = host.replace(/^\[(.*)\]$/, "$1").replace(/^([^./]+)-pooler(?=\.)/i, "$1");
  return `${direct}/${database}`.toLowerCase();
}

/**
 * Reads the parts of a connection string without `URL`, which refuses some passwords and quotes them in its error. So
 * all that stands before the last `@` counts as credentials.
 */
function parse(connectionString: string): { host?: string; database?: string; user?: string } {
  const [, credentials = "", host = "", database = "", search = ""] =
    /^[a-z0-9+.-]*:\/\/(?:([^?]*|.*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/i.exec(connectionString) ?? [];
  const options = new URLSearchParams(search);
  return {
    host: options.get("host") ?? decode(host.replace(/:\d*$/, "")),
    database: options.get("dbname") ?? decode(database),
    user: decode(credentials.split(":")[0] ?? ""),
  };
}

/** Decodes a part of an address. What follows a lone % cannot be decoded, so such a part stands for itself. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A Worker has no `process` unless it asks for one. */
function environment(): Readonly<Record<string, string | undefined>> {
  return typeof process === "undefined" ? {} : process.env;
}
