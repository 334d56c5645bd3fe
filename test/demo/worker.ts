/** The Worker of functions/worker.ts, which tells what reaches it, and whose clock the demo turns. */
import worker from "../../functions/worker.ts";
import { LayoverAlarm as Turned, turning } from "../platform/workers/turning.ts";
import { observing, tell } from "./observing.ts";

export class LayoverAlarm extends Turned {
  override async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).hostname === "layover.internal") tell("object");
    return await super.fetch(request);
  }

  override async alarm(): Promise<void> {
    tell("alarm");
    await super.alarm();
  }
}

export default turning(observing(worker));
