/** The Worker of functions/alarm.ts, which tells what reaches it. */
import { AppAlarm as Untold, default as worker } from "../../functions/alarm.ts";
import { tell } from "../demo/observing.ts";

export class AppAlarm extends Untold {
  override async fetch(request: Request): Promise<Response> {
    tell("object");
    return await super.fetch(request);
  }

  override async alarm(): Promise<void> {
    tell("alarm");
    await super.alarm();
  }
}

export default {
  ...worker,
  async scheduled(...call: Parameters<typeof worker.scheduled>) {
    tell("cron");
    await worker.scheduled(...call);
  },
} satisfies typeof worker;
