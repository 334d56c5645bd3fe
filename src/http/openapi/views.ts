/** What the answers hold, as JSON Schema. */
import { actViews } from "./act-views.ts";
import { judgedViews } from "./judged-views.ts";
import { runViews } from "./run-views.ts";

export const views = { ...runViews, ...actViews, ...judgedViews };

/** The views that an answer may hold. */
export type ViewName = keyof typeof views;
