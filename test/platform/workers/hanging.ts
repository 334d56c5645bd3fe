/** A Worker whose Durable Object of alarms never answers. It answers how asking that went, once it has given up. */
import type { AlarmNamespace } from "layover/cloudflare";
import { askAlarm } from "../../../src/platform/cloudflare/alarm/layover-alarm.ts";
import { hostClock } from "../../../src/postgres/host-clock.ts";

export class LayoverAlarm {
  async fetch(): Promise<Response> {
    const forever = setInterval(() => {}, 60_000); // whatever hangs for nothing is ended by the runtime
    await Promise.withResolvers<void>().promise;
    clearInterval(forever);
    return new Response();
  }
}

export default {
  async fetch(_request: Request, { ALARM }: { readonly ALARM: AlarmNamespace }): Promise<Response> {
    try {
      await askAlarm({ namespace: ALARM, host: hostClock, limitMs: 50 }, 0, { look: true });
      return new Response("answered");
    } catch (error) {
      return new Response(String(error));
    }
  },
};
