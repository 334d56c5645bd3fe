import { tellNested } from "./nested.ts";
import { describeCrashes } from "./suite.ts";

describeCrashes("two levels of branches", tellNested);
