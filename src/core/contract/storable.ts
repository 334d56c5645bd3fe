/**
 * Which values can be stored, as far as the compiler knows. A step that results in a `Response` or a function is a type
 * error, and its sentence says why.
 *
 * A type that may be storable passes: `unknown`, `any`, type parameters. So does everything that only the running
 * program can tell: an instance of a class without methods, what a Map holds, what lies deep in a recursive type. Such
 * a step fails when it runs, see unstorable.ts.
 */

/**
 * `unknown` if a `T` can be stored, otherwise a type that no value has. Join it by `&` to the place that gives the `T`:
 * the compiler infers `T` as if it were not there.
 */
export type Storable<T> = Verdict<T> extends "unstorable" ? CannotBeStored<Reason<T>> : unknown;

/** What a type error shows of a value that cannot be stored. */
export interface CannotBeStored<Why extends string> {
  readonly [why]: Why;
}
declare const why: unique symbol;

/**
 * The verdict on a type. It is a text and not a boolean: so the compiler sees that a type parameter may be "storable",
 * and lets it pass.
 */
type Verdict<T> = [unknown] extends [T] ? "storable" : [T] extends [StoredPart<T>] ? "storable" : "unstorable";

/** `T` without what cannot be stored. The compiler looks at members when it compares them, so types may be recursive. */
type StoredPart<T> = [unknown] extends [T]
  ? T
  : T extends StoredWhole
    ? T
    : T extends Code
      ? never
      : T extends readonly (infer Item)[]
        ? readonly StoredMember<Item>[]
        : { [Key in keyof T]: Key extends symbol ? unknown : StoredMember<T[Key]> };

/** A member that may also be a text passes, such as `customer: string | Customer` of an SDK. Mostly it is the text. */
type StoredMember<T> = Extract<NonNullable<T>, StoredWhole> extends never ? StoredPart<T> : T;

type StoredWhole =
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: what a body without a result returns
  | void
  | Date
  | Error
  | URL
  | Uint8Array
  | ArrayBuffer
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>;

type Code = symbol | ((...parameters: never) => unknown) | (abstract new (...parameters: never) => unknown);

/** Why `T` cannot be stored. The parts of a union that can be stored give `never`. */
type Reason<T> = T extends StoredWhole
  ? never
  : T extends symbol
    ? "A symbol cannot be stored. Use a text instead."
    : T extends Code
      ? "A function cannot be stored. Leave it out: only data can be stored."
      : T extends PromiseLike<unknown>
        ? "A promise cannot be stored. Write `await` before what makes it."
        : T extends { readonly bodyUsed: boolean }
          ? "A response cannot be stored. Read its body first, with `await response.json()`, and return that."
          : T extends readonly unknown[]
            ? `An item of the list cannot be stored. ${Reason<T[number]>}`
            : ReasonOfObject<T, BadKeys<T>>;

type ReasonOfObject<T, Key extends keyof T & string> =
  Extract<T[Key], Code> extends never
    ? `The member "${Key}" cannot be stored: only data can be stored, no functions and no objects with methods.`
    : "An object with functions cannot be stored. Return a plain object with the fields you need.";

type BadKeys<T> = {
  [Key in keyof T & string]: [T[Key]] extends [StoredMember<T[Key]>] ? never : Key;
}[keyof T & string];
