/**
 * The ends of invoked runs that the handler did not take before it ended itself. They are recorded before the undos begin, so that an undo is
 * told what its run resulted in.
 */
import { fromStored } from "../../core/codec/stored-value.ts";
import { placeName } from "../../core/replay/demand.ts";
import type { EndsAnswer, InvokedEnd, Place } from "../../postgres/wire.ts";
import type { Entry } from "./turn-mail.ts";

/** Reads how these runs have ended, as far as they have, and whether there are more ends than one answer has room for. */
export type ReadEnds = (
  runIds: readonly string[],
) => Promise<Pick<EndsAnswer & { readonly outcome: "read" }, "ends" | "isMore">>;

export interface EndsOfInvoked {
  readonly records: readonly { readonly place: Place; readonly entry: Entry }[];
  readonly isMore: boolean;
  /** Why none of them can be read. Undefined: one can, or there is none. */
  readonly unreadable?: string | undefined;
}

/**
 * Makes the records of those of these runs that are over. An end that cannot be read here is left for another read, which has
 * more room, or for another deployment: it would be recorded as it is, and what the run resulted in would be lost.
 */
export async function endsOfInvoked(
  invoked: readonly (Place & { readonly runId: string })[],
  readEnds: ReadEnds,
): Promise<EndsOfInvoked> {
  if (invoked.length === 0) return { records: [], isMore: false };
  const places = new Map(invoked.map(({ runId, ...place }) => [runId, place]));
  const { ends, isMore } = await readEnds([...places.keys()]);
  const unreadable: string[] = [];
  const records = ends.flatMap(({ runId, status, value }) => {
    const place = places.get(runId);
    const why = place === undefined ? undefined : whyUnreadable(place, value);
    if (why !== undefined) unreadable.push(why);
    const entry = { kind: "child", isFailure: status !== "completed", value } as const;
    return place === undefined || why !== undefined ? [] : [{ place, entry }];
  });
  const isLeft = unreadable.length > 0;
  return { records, isMore: isMore || isLeft, unreadable: records.length === 0 ? unreadable[0] : undefined };
}

function whyUnreadable(place: Place, value: InvokedEnd["value"]): string | undefined {
  try {
    fromStored(value, `the end of ${placeName(place)}`);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
