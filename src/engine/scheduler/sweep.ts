/**
 * Deletes stored values (layover/store) that no run holds any more: first from the store, and then the rows that name them. If
 * this dies in between, a later sweep does it again.
 */
import type { EngineContext } from "../engine-context.ts";
import type { TimeLimit } from "./time-limit.ts";

const mostAtOnce = 100;
/** When `sweep_values` answers the same keys again. */
const againMs = 10 * 60_000;

/** Does nothing where no store is given. A store that fails is asked again ten minutes later, and for nothing else until then. */
export async function sweep({ options, report }: EngineContext, limit: TimeLimit): Promise<void> {
  const { calls } = options;
  const { store } = calls;
  if (store === undefined) return;
  for (let isMore = true; isMore; limit.extend()) {
    const answer = await limit.wait(() => calls.sweepValues({ limit: mostAtOnce }));
    const { keys, nextAt } = answer;
    isMore = answer.isMore;
    if (!isMore && nextAt !== null) await limit.wait(() => calls.alarms.arm([nextAt]));
    if (keys.length === 0) continue;
    try {
      await limit.wait(() => store.delete(keys));
    } catch (error) {
      report(error, "deleting stored values");
      await limit.wait(() => calls.alarms.arm([calls.clock.now() + againMs]));
      return;
    }
    await limit.wait(() => calls.forgetValues({ keys }));
  }
}
