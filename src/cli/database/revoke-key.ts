/**
 * `layover keys revoke`. A key counts in one namespace, so it is revoked there and nowhere else: the key itself says which
 * that is. Whoever has an id alone is told where that was made, or that nobody made it: then it is another database's.
 */
import { validate as isUuid } from "uuid";
import { checkNamespace } from "../../core/names.ts";
import { readApiKey } from "../../http/api-key.ts";
import { plain, print, printJson } from "../screen.ts";
import { namespace } from "../settings.ts";
import { UsageError } from "../usage-error.ts";
import { databaseUrl, shownAddress, withDatabase } from "./database.ts";

/** @throws UsageError where no key of that name counts, or the id is of another namespace */
export async function revokeKey(text: string, { json }: { readonly json?: true }): Promise<void> {
  const { key, namespace: ofKey } = named(text.trim());
  const {
    outcome,
    keys: revoked,
    madeIn,
  } = await withDatabase(({ calls }) => calls.revokeKey(key), { namespace: ofKey });
  if (outcome !== "revoked") throw notRevoked(key, madeIn);
  if (json) return printJson({ outcome, namespace: ofKey, keys: revoked });
  const place = ofKey === namespace() ? "" : ` in its own namespace, ${JSON.stringify(ofKey)}`;
  for (const { keyId, name } of revoked) {
    print(name === null ? writtenDown(keyId, ofKey) : `Revoked ${plain(JSON.stringify(name))} (${keyId})${place}.`);
  }
}

type KeyName = { readonly keyId: string } | { readonly name: string };

/** What leaked is often the key itself: its id stands in it, and the namespace in which it counts. @throws UsageError */
function named(text: string): { readonly key: KeyName; readonly namespace: string } {
  if (isUuid(text)) return { key: { keyId: text }, namespace: namespace() };
  const read = readApiKey(text);
  if (read !== undefined && isUuid(read.keyId))
    return { key: { keyId: read.keyId }, namespace: checkNamespace(read.namespace) };
  if (!text.startsWith("lok_")) return { key: { name: text }, namespace: namespace() };
  throw new UsageError("What begins with lok_ is no whole key.", {
    hint: "Give it as it was shown, to its last character; or its name or id: layover keys list shows all.",
  });
}

/** `madeIn` is the namespace of a key with this id. */
function notRevoked(key: KeyName, madeIn: string | undefined): UsageError {
  if ("keyId" in key) {
    const elsewhere = madeIn ?? "";
    return new UsageError(
      `The key ${key.keyId} was made in the namespace ${JSON.stringify(elsewhere)}, and LAYOVER_NAMESPACE says ${JSON.stringify(namespace())}.`,
      { hint: `Revoke it there: LAYOVER_NAMESPACE=${elsewhere} layover keys revoke ${key.keyId}` },
    );
  }
  // It may be most of a key, and errors are logged.
  const shown = key.name.length > 40 ? `${key.name.slice(0, 12)}…` : key.name;
  return new UsageError(`There is no key named ${JSON.stringify(shown)} that counts.`, {
    hint: "layover keys list shows all; a key that is not listed is revoked by its id, or by the key itself.",
  });
}

function writtenDown(keyId: string, namespace: string): string {
  const where = `${JSON.stringify(namespace)} of ${shownAddress(databaseUrl())}`;
  return (
    `No key with the id ${keyId} was made in the namespace ${where}. It is written down as revoked there nevertheless.\n` +
    "If it counts still, look at DATABASE_URL and LAYOVER_NAMESPACE."
  );
}
