/** Splits what is sent to a platform into pieces that it takes. */

export interface PieceLimits<Item> {
  /** The most items of a piece. */
  readonly most: number;
  /** The most bytes of a piece. An item that has more goes alone. */
  readonly mostBytes: number;
  readonly bytesOf: (item: Item) => number;
}

export function piecesOf<Item>(items: readonly Item[], { most, mostBytes, bytesOf }: PieceLimits<Item>): Item[][] {
  const pieces: Item[][] = [];
  let bytesLeft = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    const last = pieces.at(-1);
    if (last === undefined || last.length === most || bytes > bytesLeft) {
      pieces.push([item]);
      bytesLeft = mostBytes - bytes;
    } else {
      last.push(item);
      bytesLeft -= bytes;
    }
  }
  return pieces;
}
