/**
 * `npm run demo`: an order outlives its server, twice. Plays the story with real processes, which it kills with SIGKILL in
 * the middle of a charge and again while the run waits for a person; checks what it tells, and exits with 1 if anything
 * is not as told.
 *
 *   --saga       another story: the order is cancelled, and the server is killed in the middle of the refund
 *   --on HOST    node (the default): `layover dev` on an embedded Postgres
 *                cloudflare: functions/worker.ts on workerd, with its queue, Durable Object and cron trigger
 *                aws: functions/lambda.ts, deployed by its construct to functions, a queue and schedules of this machine
 */
import { join } from "node:path";
import { tellUsage } from "../usage.ts";
import { runLeavingNothing } from "./leaving-nothing.ts";

tellUsage(import.meta.url);
await runLeavingNothing(join(import.meta.dirname, "play.ts"));
