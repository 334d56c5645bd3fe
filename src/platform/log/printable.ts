/**
 * Text as a terminal may show it. Names, values and errors come from others, and a terminal obeys what it is sent: it
 * clears itself, hides, and turns text round. So nothing is printed but what can be seen; all else is escaped, as JSON does it.
 */

/** Controls and what has no form of its own: format signs, such as those that turn the direction, and line separators. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** On one line: a line end is escaped, too. */
export function printable(text: string): string {
  return text.replace(unseen, escaped);
}

/** Lines stay lines. */
export function printableLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line.replaceAll("\t", "  ")))
    .join("\n");
}

/** `\u001b`; of two such beyond U+FFFF. */
export function escaped(sign: string): string {
  return sign
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
