import { expectSameFamily, tellFamily } from "./family.ts";
import { describeCrashes } from "./suite.ts";

describeCrashes("an order whose parts are made by other runs", tellFamily, "completed", expectSameFamily);
