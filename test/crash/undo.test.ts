import { describeCrashes } from "./suite.ts";
import { expectUndone, tellCancelledUndo, tellUndo, tellUndoAtWork } from "./undo.ts";

describeCrashes("a trip that fails", tellUndo, "failed", expectUndone);
describeCrashes("a trip that is cancelled while it waits", tellCancelledUndo, "cancelled", expectUndone);
describeCrashes("a trip that is cancelled while it is booked", tellUndoAtWork(["car"]), "cancelled", expectUndone);
describeCrashes("a trip of which two parts are booked", tellUndoAtWork(["car", "boat"]), "cancelled", expectUndone);
