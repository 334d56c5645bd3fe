import { describeCrashes, twoProcesses } from "./suite.ts";
import { expectUndone, tellCancelledUndo, tellUndo, tellUndoAtWork } from "./undo.ts";
import { expectUndoneRuns, tellUndoOfRuns } from "./undo-of-runs.ts";

describeCrashes("a trip that fails", tellUndo, "failed", expectUndone, [twoProcesses]);
describeCrashes("a trip that is cancelled while it waits", tellCancelledUndo, "cancelled", expectUndone, [
  twoProcesses,
]);
describeCrashes("a trip that is cancelled while it is booked", tellUndoAtWork(["car"]), "cancelled", expectUndone, [
  twoProcesses,
]);
describeCrashes("a trip of which two parts are booked", tellUndoAtWork(["car", "boat"]), "cancelled", expectUndone, [
  twoProcesses,
]);
describeCrashes("a trip whose parts are other runs", tellUndoOfRuns, "cancelled", expectUndoneRuns, [twoProcesses]);
