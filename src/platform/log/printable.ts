/**
 * Text as a terminal may show it. Names, values and errors come from others, and a terminal obeys control signs: it
 * clears itself, hides text, and turns it round. So only what can be seen is printed. All else is escaped as in JSON.
 */

/** Signs that cannot be seen: controls, line separators, and format signs such as those that turn the direction. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes one line. Line ends are escaped, too. */
export function printable(text: string): string {
  return text.replace(unseen, escaped);
}

/** Keeps the lines of a text. */
export function printableLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line.replaceAll("\t", "  ")))
    .join("\n");
}

/** Writes a sign as `\u001b`, or as two of these beyond U+FFFF. */
export function escaped(sign: string): string {
  return sign
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
