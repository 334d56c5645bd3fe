/** The name of a webhook, which is a part of its address. */
import { LayoverError } from "../../core/errors.ts";
import { checkName } from "../../core/names.ts";

/** @throws LayoverError `invalid_name` */
export function checkWebhookName(name: string): string {
  const checked = checkName(name, "the webhook's name");
  if (/^[A-Za-z0-9_-]{1,50}$/.test(checked)) return checked;
  throw invalidName(checked, "is no part of an address");
}

function invalidName(name: string, why: string): LayoverError {
  return new LayoverError("invalid_name", `the webhook's name ${JSON.stringify(name)} ${why}`, {
    hint: 'Give each webhook a name of its own: 1 to 50 letters, digits, "-" and "_".',
    details: { field: "name" },
  });
}
