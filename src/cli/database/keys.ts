/**
 * `layover keys`: makes API keys, lists them and revokes them. A key is shown once; the database of DATABASE_URL keeps
 * its name and what it may do, and whether it was revoked.
 */
import { styleText } from "node:util";
import { Command } from "commander";
import { dateOf } from "../../client/run-view.ts";
import { toMilliseconds } from "../../core/duration.ts";
import { type ApiKey, createApiKey, readApiKey, type Scope, scopes } from "../../http/api-key.ts";
import { Secrets } from "../../http/secrets.ts";
import type { WireKey } from "../../postgres/wire-operator.ts";
import { type Cell, print, printAside, printJson, table } from "../screen.ts";
import { environment, namespace, rootSecrets, setting } from "../settings.ts";
import { clockTime, day } from "../times.ts";
import { UsageError } from "../usage-error.ts";
import { withDatabase } from "./database.ts";
import { revokeKey } from "./revoke-key.ts";

export const keys = new Command("keys")
  .summary("makes API keys, lists and revokes them")
  .description("Makes API keys for your deployment, lists them and revokes them.")
  .addHelpText(
    "after",
    `\nExamples:
  layover keys create shop --scopes start,signal
  layover keys create ci --scopes read --expires 90d
  layover keys revoke shop`,
  );

keys
  .command("create")
  .summary("makes a key, and shows it once")
  .description("Makes an API key, signed by LAYOVER_SECRET, and writes it to stdout: once, since it is kept nowhere.")
  .argument("<name>", "whose key it is")
  .requiredOption("--scopes <list>", `what it may do: ${scopes.join(", ")}; none includes another`, scopesIn)
  .option("--expires <duration>", "until when it counts: 90d; for ever, if left out")
  .option("--json", "answer as JSON")
  .action(create);

keys
  .command("list")
  .summary("lists the keys that were made or revoked")
  .option("--json", "answer as JSON")
  .action(list);

keys
  .command("revoke")
  .summary("makes a key count no more, at once")
  .argument("<key>", "its name, its id, or the key itself")
  .option("--json", "answer as JSON")
  .action(revokeKey);

keys
  .command("alarm")
  .summary("shows the key of the alarm")
  .description(
    `Writes the key to stdout with which a deployment and its alarm (layover init --on alarm) sign what they say to each
other. It is derived from LAYOVER_SECRET, so it changes with that, and tells nothing of it. No database is asked.`,
  )
  .action(() => print(new Secrets([needSecret("it makes the key")]).keyFor("alarm")));

/** @throws UsageError */
function needSecret(why: string): string {
  const secret = setting("LAYOVER_SECRET");
  if (secret !== undefined) return secret;
  throw new UsageError(`LAYOVER_SECRET is not set, and ${why}.`, {
    hint: "Set it to the root secret of the deployment that the key is for: one made by another does not count there.",
  });
}

interface Json {
  readonly json?: true;
}

async function create(
  name: string,
  { scopes, expires, json }: Json & { readonly scopes: readonly Scope[]; readonly expires?: string },
): Promise<void> {
  needSecret("it signs the key");
  const expiresAt = expires === undefined ? undefined : endOf(expires);
  const key = createApiKey(new Secrets(rootSecrets()), {
    name,
    namespace: namespace(),
    environment: environment(),
    scopes,
    expiresAt,
  });
  const made = readApiKey(key);
  if (made === undefined) throw new Error("a key that was just made can be read");
  await withDatabase(async ({ calls }) => {
    const { keyId } = made;
    const call = { keyId, name, scopes, ...(expiresAt !== undefined && { expiresAt: expiresAt.getTime() }) };
    const { outcome } = await calls.createKey(call);
    if (outcome !== "taken") return;
    throw new UsageError(`There is a key named ${JSON.stringify(name)}, and it counts.`, {
      hint: `Revoke it (layover keys revoke ${name}), or give this one another name.`,
    });
  });
  if (json) printJson({ key, ...made });
  else announce(key, made);
}

function endOf(expires: string): Date {
  const ms = toMilliseconds(expires, { field: "--expires" });
  if (ms > 0) return new Date(Date.now() + ms);
  throw new UsageError(`The key would count never: --expires is ${expires}.`, {
    hint: "Give how long it is to count, such as --expires 90d, or leave it out.",
  });
}

/** The key alone on stdout: `KEY=$(layover keys create …)`. */
function announce(key: string, { name, scopes, expiresAt }: ApiKey): void {
  const until = expiresAt === undefined ? "until it is revoked" : `until ${clockTime(expiresAt)}`;
  printAside(`The key ${JSON.stringify(name)} may ${scopes.join(", ")}, ${until}. It is shown this once:`);
  print(key);
}

async function list({ json }: Json): Promise<void> {
  const answer = await withDatabase(({ calls }) => calls.listKeys());
  if (json) return printJson(answer.keys.map((key) => ({ ...datesOf(key), state: stateOf(key, answer.now) })));
  if (answer.keys.length === 0)
    return print("No key was made here yet: layover keys create NAME --scopes start,read,signal,callbacks");
  print(
    table(
      columns,
      answer.keys.map((key) => rowOf(key, answer.now)),
    ),
  );
}

const columns = [
  { title: "NAME" },
  { title: "STATE", isWhole: true },
  { title: "SCOPES" },
  { title: "CREATED", isWhole: true },
  { title: "UNTIL", isWhole: true },
  { title: "ID", isWhole: true },
];

function rowOf(key: WireKey, now: number): (string | Cell)[] {
  const { createdAt, expiresAt, revokedAt } = datesOf(key);
  const until = revokedAt ?? expiresAt;
  const state = stateOf(key, now);
  const style = state === "counts" ? undefined : (text: string) => styleText("dim", text);
  return [
    key.name ?? "(made elsewhere)",
    { text: state, style },
    key.scopes?.join(",") ?? "",
    createdAt === undefined ? "" : day(createdAt),
    until === undefined ? "for ever" : day(until),
    key.keyId,
  ];
}

function stateOf({ revokedAt, expiresAt }: WireKey, now: number): "counts" | "revoked" | "expired" {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= now ? "expired" : "counts";
}

function datesOf(key: WireKey) {
  const { createdAt, expiresAt, revokedAt } = key;
  return { ...key, createdAt: dateOf(createdAt), expiresAt: dateOf(expiresAt), revokedAt: dateOf(revokedAt) };
}

function scopesIn(text: string): readonly Scope[] {
  const asked = text.split(",").map((part) => part.trim());
  const unknown = asked.find((part) => !scopes.some((scope) => scope === part));
  if (unknown === undefined) return scopes.filter((scope) => asked.includes(scope));
  throw new UsageError(`${JSON.stringify(unknown)} is no scope.`, {
    hint: `The scopes are ${scopes.join(", ")}: --scopes start,read`,
  });
}
