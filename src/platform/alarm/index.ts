/**
 * The public names of `layover/alarm`: a Worker that rings for deployments on other hosts. So they need no clock of their
 * own, and nobody asks their databases while nothing is due.
 *
 *   export { AppAlarm, default } from "layover/alarm";
 */
import { hostClock } from "../../postgres/host-clock.ts";
import { alarmWorker } from "./worker.ts";

export { AppAlarm, type AppMessage, type KeptStorage } from "./app-alarm.ts";
export type { AlarmEnv } from "./worker.ts";

export default alarmWorker(hostClock);
