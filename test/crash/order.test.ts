import { tellOrder } from "./order.ts";
import { describeCrashes } from "./suite.ts";

describeCrashes("an order", tellOrder);
