/** What the answers hold, as JSON Schema. */
import { actViews } from "./act-views.ts";
import { runViews } from "./run-views.ts";

export const views = { ...runViews, ...actViews };

/** The views that an answer may hold. */
export type ViewName = keyof typeof views;
