/**
 * A host tells the test of each request that it makes beside those to its database, before it sends it and when it is answered:
 * the test may let the host die there. What a host does between two requests, nobody sees.
 */

/** Sends a request, and answers what came back. */
export type Tell = <Answer>(send: () => Promise<Answer>) => Promise<Answer>;

const untold = globalThis.fetch;

/** `fatesUrl`: where the host tells of a request (fates.ts). */
export function tellingAt(fatesUrl: string): Tell {
  return async (send) => {
    const fate = await (await untold(`${fatesUrl}/next`)).text();
    const answer = await send();
    if (fate === "dies after") await untold(`${fatesUrl}/die`);
    return answer;
  };
}

/** Has all of `fetch` told, except for requests to these addresses: of the database, and of what begins the host's code. */
export function tellFetches(tell: Tell, except: readonly string[] = []): void {
  globalThis.fetch = (input, init) => {
    const send = () => untold(input, init);
    return except.some((address) => String(input).startsWith(address)) ? send() : tell(send);
  };
}
