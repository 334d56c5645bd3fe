/** Tells which names somebody may have mixed up: `chrage` and `charge`, `coolOff` and `cool off`. */

/**
 * Whether two names are alike. Names of one series, such as `ship 1` and `ship 2`, are not: each is meant as it is
 * written.
 */
export function areAlike(one: string, other: string): boolean {
  const [first, second] = [bare(one), bare(other)];
  if (first.replaceAll(/\d/g, "") === second.replaceAll(/\d/g, "")) return first === second;
  const most = Math.min(first.length, second.length) < 4 ? 1 : 2;
  return edits(first, second) <= most;
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}/]/gu, "");
}

/**
 * How many letters must be added, removed or replaced, or swapped with their neighbour, to make one name of the other.
 */
function edits(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const ways = [at(last, column) + 1, at(next, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1)];
      next.push(Math.min(...ways, isSwapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY));
    }
    [before, last] = [last, next];
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
