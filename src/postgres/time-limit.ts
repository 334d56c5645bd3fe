/** Settles as `work` does; rejects with what `late` answers if that takes longer. Without `ms` there is no limit. */
export function within<Result>(work: Promise<Result>, ms: number | undefined, late: () => Error): Promise<Result> {
  if (ms === undefined) return work;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
