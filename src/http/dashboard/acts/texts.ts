/** What a form of the dashboard sends: a JSON object of texts, by the names of its inputs. An empty text counts as none. */
import { toMilliseconds } from "../../../core/duration.ts";
import { readValue } from "../../body.ts";
import { invalidField, isPlainObject } from "../../fields.ts";

export class Texts {
  readonly #texts: ReadonlyMap<string, string>;

  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
  }

  /** @throws LayoverError `invalid_request`, and as `readValue` */
  static async of(request: Request, maxBytes: number): Promise<Texts> {
    const body = (await readValue(request, maxBytes)) ?? {};
    if (!isPlainObject(body))
      throw invalidField("the body", "is not an object", "Send what the form of the page sends.");
    const texts = Object.entries(body).map(([name, text]): [string, string] => {
      if (typeof text === "string") return [name, text];
      throw invalidField(name.slice(0, 60), "is not a text", "Send what the form of the page sends.");
    });
    return new Texts(new Map(texts));
  }

  get all(): ReadonlyMap<string, string> {
    return this.#texts;
  }

  /** Undefined: it is empty, or not there. */
  of(name: string): string | undefined {
    return this.#texts.get(name)?.trim() || undefined;
  }

  /** @throws LayoverError `invalid_request` */
  needed(name: string): string {
    const text = this.of(name);
    if (text === undefined) throw invalidField(name, "is missing", "Fill it in.");
    return text;
  }

  number(name: string): number | undefined {
    const text = this.of(name);
    if (text === undefined) return undefined;
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw invalidField(name, "is not a whole number", "Write digits alone.");
  }

  /** A length of time, in milliseconds. @throws LayoverError `invalid_duration` */
  duration(name: string): number | undefined {
    const text = this.of(name);
    return text === undefined ? undefined : toMilliseconds(text, { field: name });
  }

  /** `customer:c1, region:eu`. @throws LayoverError `invalid_request` */
  tags(name: string): Readonly<Record<string, string>> | undefined {
    const text = this.of(name);
    if (text === undefined) return undefined;
    return Object.fromEntries(
      text.split(/\s*,\s*/).map((tag): [string, string] => {
        const colon = tag.indexOf(":");
        if (colon > 0) return [tag.slice(0, colon).trim(), tag.slice(colon + 1).trim()];
        throw invalidField(
          name,
          `${JSON.stringify(tag.slice(0, 60))} is not name:value`,
          "Write customer:c1, region:eu.",
        );
      }),
    );
  }
}
