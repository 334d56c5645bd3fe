import { expectRepaired, repairs, tellRepair } from "./repair.ts";
import { describeCrashes } from "./suite.ts";

for (const [verb, { repair, ...repaired }] of Object.entries(repairs))
  describeCrashes(
    `a delivery that fails, and a ${verb} of it`,
    tellRepair(repair),
    "completed",
    expectRepaired(repaired),
  );
