/**
 * Limits how many bytes of bodies are in memory at once. While a request is answered, its body is there several times:
 * as bytes, as text and as the value. Without the limit, 200 requests of 1 MiB each took 600 MB, and a small process
 * ended.
 */
import { LayoverError } from "../core/errors.ts";

export class BodyBudget {
  readonly #mostBytes: number;
  #held = 0;

  /** @param mostBytes how many bytes of bodies may be held at once */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Answers the request if there is room for its body, and holds the room until the answer is there. A body of unknown
   * length takes the room of the longest one, `longest`. A request always has room if it is the only one.
   *
   * @throws LayoverError `busy`
   */
  async hold<Result>(request: Request, longest: number, answer: () => Promise<Result>): Promise<Result> {
    const size = Math.min(announced(request) ?? longest, longest * longestEscape);
    if (this.#held > 0 && this.#held + size > this.#mostBytes) throw busy(this.#mostBytes);
    this.#held += size;
    try {
      return await answer();
    } finally {
      this.#held -= size;
    }
  }
}

/** How many bytes of a form one byte of its content may take (`%7B`). A longer form is refused before it is read. */
const longestEscape = 3;

/** How many bytes are to come. Undefined: the request does not say. */
function announced({ method, headers }: Request): number | undefined {
  if (method === "GET" || method === "HEAD") return 0;
  const length = headers.get("content-length");
  return length !== null && /^\d+$/.test(length) ? Number(length) : undefined;
}

function busy(limit: number): LayoverError {
  return new LayoverError("busy", `this server has no room for another body: it holds ${limit} bytes of them at most`, {
    hint: "Send the request again in some seconds. With the same ids nothing happens twice.",
    details: { limit },
  });
}
