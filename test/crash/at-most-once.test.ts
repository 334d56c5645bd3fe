import { expectAtMostOnce, tellAtMostOnce } from "./at-most-once.ts";
import { describeCrashes } from "./suite.ts";

describeCrashes("letters that are faxed at most once", tellAtMostOnce, "completed", expectAtMostOnce);
