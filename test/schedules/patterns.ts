/** Random cron patterns. Each is made from the numbers that it means, so nobody has to read its text to know them. */
import fc from "fast-check";

export interface Pattern {
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** Sunday is 0. */
  readonly weekdays: ReadonlySet<number>;
  /** Whether a day of month or a day of week is enough. */
  readonly isEither: boolean;
  /** Whether minute and hour are plain numbers. */
  readonly isFixed: boolean;
  /**
   * Whether croner means the same days. To it, a step restricts a field, also one that begins with `*`; and a range from
   * Sunday to "sun" is a whole week.
   */
  readonly isSameToCroner: boolean;
}

interface Field {
  readonly text: string;
  readonly numbers: readonly number[];
  readonly kind: "star" | "star step" | "numbers" | "ranges";
}

interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly names?: readonly string[];
  /** How many numbers differ. A week has seven days, with eight numbers. */
  readonly count: number;
}

const bounds = {
  minute: { low: 0, high: 59, count: 60 },
  hour: { low: 0, high: 23, count: 24 },
  day: { low: 1, high: 31, count: 31 },
  month: { low: 1, high: 12, count: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec".split(" ") },
  weekday: { low: 0, high: 7, count: 7, names: "sun mon tue wed thu fri sat".split(" ") },
} satisfies Record<string, Bounds>;

function upTo(first: number, last: number, step = 1): number[] {
  const numbers: number[] = [];
  for (let number = first; number <= last; number += step) numbers.push(number);
  return numbers;
}

/** Writes a number as people do: plainly, with a zero before it, or as a name in any case. */
function word({ low, names }: Bounds, number: number): fc.Arbitrary<string> {
  const name = names?.[number - low];
  const written = [String(number), String(number).padStart(2, "0"), ...(name ? [name, name.toUpperCase()] : [])];
  return fc.constantFrom(...written);
}

function field(of: Bounds, numbers: fc.Arbitrary<number>): fc.Arbitrary<Field> {
  const { low, high, count } = of;
  const one = numbers.chain((number) => word(of, number).map((text) => ({ text, numbers: [number] })));
  const range = fc.tuple(numbers, numbers, fc.option(fc.integer({ min: 1, max: count }))).chain(([a, b, step]) => {
    const [first, last] = a < b ? [a, b] : [b, a];
    return fc.tuple(word(of, first), word(of, last)).map(([from, to]) => ({
      text: `${from}-${to}${step === null ? "" : `/${step}`}`,
      numbers: upTo(first, last, step ?? 1),
    }));
  });
  const list = (item: fc.Arbitrary<{ text: string; numbers: number[] }>): fc.Arbitrary<Field> =>
    fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => {
      const text = items.map((each) => each.text).join(",");
      return { text, numbers: items.flatMap((each) => each.numbers), kind: text.includes("-") ? "ranges" : "numbers" };
    });
  const star: Field = { text: "*", numbers: upTo(low, high), kind: "star" };
  const starStep = fc.integer({ min: 1, max: count }).map((step): Field => {
    return { text: `*/${step}`, numbers: upTo(low, low + count - 1, step), kind: "star step" };
  });
  return fc.oneof(
    { arbitrary: fc.constant(star), weight: 2 },
    { arbitrary: list(one), weight: 4 },
    { arbitrary: list(fc.oneof(one, range)), weight: 1 },
    { arbitrary: starStep, weight: 1 },
  );
}

function within({ low, high }: Bounds): fc.Arbitrary<number> {
  return fc.integer({ min: low, max: high });
}

/** Clocks change at night, so most hours are of the night. */
const nightly = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 2, 3, 23), weight: 4 },
  { arbitrary: within(bounds.hour), weight: 1 },
);
const star = fc.constant<Field>({ text: "*", numbers: upTo(1, 31), kind: "star" });
const isRestricted = ({ text }: Field) => !/^[*?]/.test(text);

/** Most patterns are of each day or of each weekday, since the others rarely fire where clocks change. */
export const patterns: fc.Arbitrary<Pattern> = fc
  .record({
    minute: field(bounds.minute, fc.oneof(fc.constantFrom(0, 1, 30, 59), within(bounds.minute))),
    hour: field(bounds.hour, nightly),
    day: fc.oneof({ arbitrary: star, weight: 2 }, field(bounds.day, within(bounds.day))),
    month: fc.oneof({ arbitrary: star, weight: 3 }, field(bounds.month, within(bounds.month))),
    weekday: field(bounds.weekday, within(bounds.weekday)),
    asksNothing: fc.boolean(),
    space: fc.constantFrom(" ", "  ", "\t"),
  })
  .map(({ minute, hour, day, month, weekday, asksNothing, space }) => {
    const texts = [minute, hour, day, month, weekday].map(({ text }) => text);
    if (asksNothing) for (const index of [2, 4]) texts[index] = texts[index] === "*" ? "?" : (texts[index] ?? "*");
    return {
      text: texts.join(space),
      minutes: new Set(minute.numbers),
      hours: new Set(hour.numbers),
      days: new Set(day.numbers),
      months: new Set(month.numbers),
      weekdays: new Set(weekday.numbers.map((number) => number % 7)),
      isEither: isRestricted(day) && isRestricted(weekday),
      isFixed: minute.kind === "numbers" && hour.kind === "numbers",
      isSameToCroner: ![day, weekday].some(({ kind }) => kind === "star step") && !/-sun/i.test(weekday.text),
    };
  });
