const encoder = new TextEncoder();

/** How many bytes a text takes in UTF-8. */
export function utf8Size(text: string): number {
  return encoder.encode(text).length;
}
