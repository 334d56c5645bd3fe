/** Compares a MAC with the one that somebody gives. It takes as long wherever the first difference is. */

/** Whether two texts are equal. The length of a MAC is no secret. */
export function areEqual(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index += 1) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}
