import { tellCancel } from "./cancel.ts";
import { describeCrashes } from "./suite.ts";

describeCrashes("an order that is cancelled", tellCancel, "cancelled");
