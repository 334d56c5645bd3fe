/** The times and limits of the reference model. */

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** The deployment's settings: leases that outlast the motion minute, few crashes until a run is blocked. */
export const leaseMs = 5 * minute;
export const maxClaims = 2;
export const maxBeginnings = 1;
export const callMs = 20 * second;
/** Longest time between two looks at what is dispatched in vain, in milliseconds. */
export const longestBackoffMs = 6 * hour;
/** Longest time from the end of a call's time to its COMMIT, in milliseconds. */
export const commitMs = 30 * second;
/** A retry within this time keeps its map waiting. */
export const soonMs = 10 * second;
export const signalsOffered = 20;
/** Milliseconds from the setback to each try. */
export const tryAfterMs = [minute, 10 * minute, hour, 6 * hour];

/** How many losses may be spared at most. */
export const mostSpared = 5;
