import { expectDelivered, tellDeliveries } from "./deliveries.ts";
import { describeCrashes, twoProcesses } from "./suite.ts";

describeCrashes("what a sender delivers", tellDeliveries, "completed", expectDelivered, [twoProcesses]);
