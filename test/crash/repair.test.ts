import { expectRepaired, tellRepair } from "./repair.ts";
import { describeCrashes } from "./suite.ts";

describeCrashes("a delivery that fails and is retried", tellRepair, "completed", expectRepaired);
