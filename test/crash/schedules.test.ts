import { expectEachFiring, tellSchedule } from "./schedules.ts";
import { describeCrashes, twoProcesses } from "./suite.ts";

describeCrashes("reports of a schedule", tellSchedule, "completed", expectEachFiring, [twoProcesses]);
