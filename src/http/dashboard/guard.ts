/**
 * Tells requests of the dashboard's own pages from those that another website has a browser send. A browser says in
 * `Sec-Fetch-Site` where a request comes from, and no script can change it.
 */
import { mediaType } from "../../client/over-http/media-type.ts";
import { LayoverError } from "../../core/errors.ts";

/**
 * Lets a write in that a page of this app sends. Old browsers say nothing of the site: then `Origin` must be that of
 * `publicUrl`. The JSON body keeps forms of other websites out by itself.
 *
 * @throws LayoverError `forbidden`, `unsupported_media_type`
 */
export function checkWrite({ headers }: Request, publicUrl: string | undefined): void {
  const site = headers.get("sec-fetch-site");
  const isOwn = site === null ? isOwnOrigin(headers.get("origin"), publicUrl) : site === "same-origin";
  if (!isOwn) throw foreign();
  if (mediaType(headers) === "application/json") return;
  throw new LayoverError("unsupported_media_type", "the body did not come as application/json", {
    hint: "Use the buttons of the dashboard, in a browser that runs its script.",
  });
}

/**
 * Lets a page be read by whoever opens it, also by a link in a mail, and by the dashboard's own script. A script of another
 * website cannot read it, whatever the server's `cors` allows.
 *
 * @throws LayoverError `forbidden`
 */
export function checkRead({ headers }: Request): void {
  const site = headers.get("sec-fetch-site") ?? "none";
  if (site === "same-origin" || site === "none" || headers.get("sec-fetch-mode") === "navigate") return;
  throw foreign();
}

function isOwnOrigin(origin: string | null, publicUrl: string | undefined): boolean {
  return origin !== null && publicUrl !== undefined && origin === URL.parse(publicUrl)?.origin;
}

function foreign(): LayoverError {
  return new LayoverError("forbidden", "this request comes from another website", {
    hint: "Open the dashboard in a tab of its own, and use its buttons.",
  });
}
