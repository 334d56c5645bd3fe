/** The Worker beside two other hosts on one database. */
import { type AlarmNamespace, type QueueProducer, serve } from "layover/cloudflare";
import { neon } from "layover/neon";
import { LayoverAlarm as Turned, turning } from "../workers/turning.ts";
import { drainable, draining } from "./draining.ts";
import { tellFetches, tellingAt } from "./told-requests.ts";
import { type Build, workflowsOf } from "./workflows.ts";

/** Put in by the bundler. */
declare const settings: { readonly build?: Build; readonly fatesUrl: string; readonly fetchEndpoint: string };

const tell = tellingAt(settings.fatesUrl);
tellFetches(tell, [settings.fetchEndpoint]);

export class LayoverAlarm extends Turned {
  override async alarm(): Promise<void> {
    await drainable(() => super.alarm());
  }
}

interface Env {
  readonly ALARM: AlarmNamespace;
  readonly DATABASE_URL: string;
  readonly LAYOVER_SECRET: string;
  readonly PUBLIC_URL: string;
  readonly QUEUE: QueueProducer;
}

export default draining(
  turning(
    serve<Env>({
      workflows: workflowsOf("cloudflare", settings.build),
      database: (env) => neon(env.DATABASE_URL, { fetchEndpoint: settings.fetchEndpoint }),
      publicUrl: (env) => env.PUBLIC_URL,
      secrets: (env) => [env.LAYOVER_SECRET],
      queue: ({ QUEUE }) => ({ sendBatch: (messages) => tell(() => QUEUE.sendBatch(messages)) }),
      alarm: ({ ALARM }) => ({
        getByName: (name) => ({ fetch: (...request) => tell(() => ALARM.getByName(name).fetch(...request)) }),
      }),
    }),
  ),
);
