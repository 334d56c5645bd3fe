/** Ticks when an alarm rings, and looks after the alarms when the cron trigger fires. */
import { codeOf, type Ticked, TickFailed, tickAll } from "./alarm/script.ts";
import { watch } from "./alarm/watch.ts";
import { afterRingMs, type ServedWorker } from "./served-worker.ts";

/** Makes the Durable Objects of this script tick for this Worker, too, when they ring. */
export function tickWhenRung<Env extends object>(worker: ServedWorker<Env>): void {
  const { script, carries, report, isolateOf } = worker;
  // A Durable Object has the bindings of its script, which are this Worker's.
  script.add({
    tick: async (bindings, readyUntil) => {
      try {
        return await tickOnce(worker, bindings as Env, readyUntil);
      } catch (error) {
        report(error, "ticking");
        throw error;
      }
    },
    report,
    codeOf: (bindings) => ({ id: isolateOf(bindings as Env).deployment.id, carries }),
  });
}

/** Does what the cron trigger is for. */
export async function onCron<Env extends object>(worker: ServedWorker<Env>, env: Env): Promise<void> {
  const { script, sweepMs, tell, report, alarmsOf } = worker;
  try {
    const shards = alarmsOf(env);
    if (shards === undefined) await tickOnce(worker, env);
    else
      await watch({
        shards,
        code: codeOf(script, env),
        sweepMs,
        tick: (readyUntil) => tickAll(script, env, readyUntil),
        tell,
      });
  } catch (error) {
    if (!(error instanceof TickFailed)) report(error, "ticking");
    throw error; // so that Cloudflare counts it as failed
  }
}

async function tickOnce<Env>({ host, begin }: ServedWorker<Env>, env: Env, readyUntil?: number): Promise<Ticked> {
  const until = host.now() + afterRingMs;
  const { tick, end } = begin(env, { until: () => until });
  try {
    const { due } = await tick(readyUntil);
    return { due, isWhole: await end() };
  } catch (error) {
    await end();
    throw error;
  }
}
