/** How programs are written down, so that who reads a failing one can follow it. */

/** `open`, each item on lines of its own, `close`. */
export function block(open: string, items: readonly string[], close: string): string {
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `  ${item.replaceAll("\n", "\n  ")},\n`).join("")}${close}`;
}

/** A function whose body is this expression. */
export function lambda(given: string, words: string): string {
  return words.startsWith("await ") ? `(${given}) => ${words.slice("await ".length)}` : `async (${given}) => ${words}`;
}

/** A promise of this expression. */
export function promise(words: string): string {
  return words.startsWith("await ") ? words.slice("await ".length) : `(async () => ${words})()`;
}

/** The last argument of a call, where something is said by it. */
export function options(all: Readonly<Record<string, number | string | boolean | undefined>>): string {
  const said = Object.entries(all).filter(([, value]) => value !== undefined);
  return said.length === 0 ? "" : `, { ${said.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")} }`;
}

/** The name of a round's number: in a map within a map it is another one. */
export function roundIn(at: string): string {
  return ["i", "j", "k"][at.split("[").length - 1] ?? "l";
}
