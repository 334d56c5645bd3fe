/** The token of a callback that somebody names by its token or, as people pass it on, by its whole URL. */
export function callbackTokenIn(tokenOrUrl: string): string {
  return /\/callbacks\/([^/?#]+)/.exec(tokenOrUrl)?.[1] ?? tokenOrUrl;
}
