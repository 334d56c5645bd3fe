/** Rings at an app: asks its deployment for a tick. */
import type { WallClock } from "../../core/ports.ts";
import { type RingMessage, ringRequest, tickPath } from "../../http/alarm.ts";
import type { App } from "./apps.ts";

export type Ring =
  | { readonly outcome: "answered"; readonly more: boolean }
  /** `isGone`: the address says that nothing is there. */
  | { readonly outcome: "failed"; readonly isGone: boolean; readonly says: string };

/**
 * How long an app may take to answer. No other instant of the app rings meanwhile, so an instant may ring as much too
 * late. The app answers sooner, since its work goes on after the answer.
 */
const answerMs = 45_000;

/** The most bytes of an answer that are read. */
const mostAnswer = 1_024;

export async function ringApp(
  { id, url, secrets }: App,
  message: RingMessage,
  { host, send }: { readonly host: WallClock; readonly send: typeof fetch },
): Promise<Ring> {
  const limit = new AbortController();
  const stop = host.after(answerMs, () => limit.abort(new Error(`it has not answered in ${answerMs / 1_000} s`)));
  try {
    const request = ringRequest(message, { secrets, app: id, nowMs: host.now() });
    const response = await send(`${url}${tickPath}`, { ...request, redirect: "manual", signal: limit.signal });
    const { status } = response;
    if (status !== 200) {
      await response.body?.cancel();
      return { outcome: "failed", isGone: status === 404 || status === 410, says: `it has answered ${status}` };
    }
    const more = moreIn(await start(response));
    if (more === undefined) return { outcome: "failed", isGone: false, says: "its answer was not that of a tick" };
    return { outcome: "answered", more };
  } catch (error) {
    const says = error instanceof Error ? error.message.slice(0, 200) : "it could not be reached";
    return { outcome: "failed", isGone: false, says };
  } finally {
    stop();
  }
}

/** The first bytes of the answer, as text. What is longer is none of a tick. */
async function start(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > mostAnswer) break;
  }
  return text;
}

function moreIn(text: string): boolean | undefined {
  try {
    const { more }: { more?: unknown } = Object(JSON.parse(text));
    return typeof more === "boolean" ? more : undefined;
  } catch {
    return undefined;
  }
}
