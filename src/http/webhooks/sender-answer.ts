/** The answer that the code of a webhook gives a sender: it is checked, and made a response. */
import type { SenderAnswer } from "./verifier.ts";

const mostHeaders = 20;
const longestHeader = 4_096;

/** The form of a header's name, and of its value. A value that came in a header of a request fits. */
const nameForm = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that the code may not set: `type` sets one of them, and the server sets the others. */
const ownHeaders =
  /^(content-(type|length|encoding)|transfer-encoding|connection|cache-control|x-content-type-options)$/i;

/** Statuses whose answers have no body. */
const bare: ReadonlySet<number> = new Set([204, 205, 304]);

/** An answer that was checked. Its body is a text. */
export interface CheckedAnswer extends SenderAnswer {
  readonly body?: string | undefined;
}

/**
 * Checks an answer, and makes its body a text, so that nothing can be wrong with it once the deeds are done.
 *
 * @throws TypeError that says what is wrong with it
 */
export function checkedAnswer({ body, ...given }: SenderAnswer): CheckedAnswer {
  const { status = 200, type = "", headers = {} } = given;
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError(`an answer has the status ${status}. It is a whole number from 200 to 599`);
  if (!isValue(type)) throw new TypeError("the `type` of an answer is no content type");
  const all = Object.entries(headers);
  if (all.length > mostHeaders) throw new TypeError(`an answer has ${all.length} headers. Up to ${mostHeaders} go`);
  for (const [name, value] of all) {
    const shown = JSON.stringify(name.slice(0, 100));
    if (!nameForm.test(name)) throw new TypeError(`an answer has the header ${shown}, which is no name of a header`);
    if (ownHeaders.test(name))
      throw new TypeError(
        `an answer has the header ${shown}, which is not for it to say. Its \`type\` is the content type`,
      );
    if (!isValue(value))
      throw new TypeError(
        `the header ${shown} of an answer is no text of up to ${longestHeader} characters without line breaks`,
      );
  }
  if (bare.has(status) || body === undefined) return given;
  return typeof body === "string"
    ? { ...given, body }
    : { ...given, type: given.type ?? "application/json", body: jsonOf(body) };
}

/** @throws TypeError if JSON cannot hold it */
function jsonOf(body: unknown): string {
  const isNone = "the body of an answer is no JSON";
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (cause) {
    throw new TypeError(`${isNone}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  if (text === undefined) throw new TypeError(`${isNone}: JSON leaves it out`);
  return text;
}

function isValue(value: unknown): boolean {
  return typeof value === "string" && value.length <= longestHeader && valueForm.test(value);
}

/** Makes the response of an answer that was checked. */
export function answerOf({ status = 200, type, headers, body }: CheckedAnswer): Response {
  return new Response(bare.has(status) ? null : body, {
    status,
    headers: {
      ...headers,
      ...(!bare.has(status) && { "content-type": type ?? "text/plain; charset=utf-8" }),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
