/** Makes what counts the things that are named alike within a run: each call answers the next number of a name, from 1. */
export function occurrences(): (name: string) => number {
  const counts = new Map<string, number>();
  return (name) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count;
  };
}
