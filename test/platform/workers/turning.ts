/**
 * Has a test turn the clock of a Worker and of its Durable Objects: `POST /turn?to=MS` sets how far they are ahead.
 * Alarms are still the runtime's: one is set for when it is due by the turned clock, and again whenever that is
 * turned. `POST /drop` has the runtime forget the alarms, and `POST /evict` the objects, but not what they have
 * stored. `POST /minutes` answers of each object how many minutes it keeps, and how many of these are over.
 */
import { type AlarmNamespace, type CloudflareWorker, LayoverAlarm as Untouched } from "layover/cloudflare";

/** Milliseconds by which the clock of this isolate is ahead. The objects are in the same isolate. */
let aheadMs = 0;
const now = Date.now;
Date.now = () => now() + aheadMs;
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + aheadMs;

interface State {
  readonly storage: ConstructorParameters<typeof Untouched>[0]["storage"] & { deleteAlarm(): Promise<void> };
  abort(reason: string): void;
}

export class LayoverAlarm extends Untouched {
  readonly #state: State;

  constructor(state: State, env: object) {
    const { storage } = state;
    const turned: ConstructorParameters<typeof Untouched>[0]["storage"] = {
      get: (keys) => storage.get(keys),
      put: (entries) => storage.put(entries),
      delete: (keys) => storage.delete(keys),
      list: (options) => storage.list(options),
      async getAlarm() {
        const at = await storage.getAlarm();
        return at === null ? null : at + aheadMs;
      },
      setAlarm: (at) => storage.setAlarm(at - aheadMs),
    };
    super({ storage: turned }, env);
    this.#state = state;
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const { storage } = this.#state;
    if (pathname === "/turn") {
      const at = await storage.getAlarm();
      if (at !== null) await storage.setAlarm(at - Number(searchParams.get("by")));
    } else if (pathname === "/minutes") {
      const minutes = [...(await storage.list({ prefix: "minute/" })).keys()].map((key) => Number(key.slice(7)));
      const over = minutes.filter((minute) => minute * 60_000 < Date.now() - 2_000);
      return Response.json([minutes.length, over.length]);
    } else if (pathname === "/drop") await storage.deleteAlarm();
    else if (pathname === "/evict") this.#state.abort("the object is evicted");
    else return await super.fetch(request);
    return new Response();
  }
}

interface Worker<E, Context> extends Omit<CloudflareWorker<E>, "fetch"> {
  readonly fetch: (request: Request, env: E, context: Context) => Promise<Response>;
}

export function turning<E extends { readonly ALARM?: AlarmNamespace }, Context>(
  worker: Worker<E, Context>,
): Worker<E, Context> {
  return {
    ...worker,
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (!["/turn", "/drop", "/evict", "/minutes"].includes(pathname))
        return await worker.fetch(request, env, context);
      const to = searchParams.get("to");
      const byMs = to === null ? 0 : Number(to) - aheadMs;
      aheadMs += byMs;
      const shards = Number(searchParams.get("shards"));
      const minutes: unknown[] = [];
      for (let shard = 0; shard < shards; shard += 1) {
        const object = env.ALARM?.getByName(`layover-${shard}`);
        const answer = await object?.fetch(`https://object${pathname}?by=${byMs}`, { method: "POST" }).catch(() => {});
        if (pathname === "/minutes") minutes.push(await answer?.json());
      }
      return Response.json(minutes);
    },
  };
}
