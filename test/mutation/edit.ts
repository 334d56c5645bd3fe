/** A change of one place in a text, and the words for it. */

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly to: string;
  /** What is shown of the edit, where that is not the changed text itself. */
  readonly shown?: { readonly from: string; readonly to: string };
}

export function applied(text: string, { start, end, to }: Edit): string {
  return text.slice(0, start) + to + text.slice(end);
}

/**
 * Shortens a text to one line that people can read. An edit's name is made of it, and so stays however the text around
 * it moves.
 */
export function inWords(text: string): string {
  const line = text
    .replace(/--[^\n]*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= 100 ? line : `${line.slice(0, 97)}...`;
}
