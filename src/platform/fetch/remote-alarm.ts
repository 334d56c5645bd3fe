/**
 * The alarm of a deployment that has none of its own: the Worker of `layover/alarm`, which it asks over HTTP. It tells
 * distances from now, so that it does not matter what time it is there.
 *
 * The process remembers which minutes it has armed, so it arms each about once. With a minute that comes soon it arms the
 * next one as well: a process at work arms such a minute each minute, so it sends half as many messages.
 */
import { LayoverError } from "../../core/errors.ts";
import type { Alarm, WallClock } from "../../core/ports.ts";
import { within } from "../../core/waits.ts";
import { forgottenMs, longestMotionMs, minuteMs, minuteOf, minuteRingsAt, minuteSlackMs } from "../../core/waking.ts";
import { type AlarmAddress, armRequest, type Distance, mostDistances } from "../../http/alarm.ts";
import type { Secrets } from "../../http/secrets.ts";
import { askAgain } from "../invocation/ask-again.ts";
import { piecesOf } from "../invocation/pieces.ts";

export interface RemoteAlarmOptions {
  readonly address: AlarmAddress;
  readonly secrets: Secrets;
  /** Id of this code. */
  readonly deployment: string;
  readonly host: WallClock;
  readonly send: typeof fetch;
}

/** The pauses between tries. Five tries of 4 s take 26 s, and arming may take 30. */
const pausesMs = [100, 400, 1_600, 4_000];
const answerMs = 4_000;

const mostRemembered = 10_000;

export class RemoteAlarm {
  readonly #options: RemoteAlarmOptions;
  /** The minutes that stand, by the host's clock, each with the database's instant for which it was armed. */
  readonly #armed = new Map<number, number>();

  constructor(options: RemoteAlarmOptions) {
    this.#options = options;
  }

  readonly alarm: Alarm = async (instants) => {
    const now = this.#options.host.now();
    for (const minute of this.#armed.keys()) if (minuteRingsAt(minute) <= now + forgottenMs) this.#armed.delete(minute);
    if (this.#armed.size > mostRemembered) this.#armed.clear();
    const aheadMs = Math.max(...instants.map(({ at, inMs }) => at - inMs)) - now;
    const readyUntil = (minute: number) => minuteRingsAt(minute) + aheadMs + minuteSlackMs;
    const missing = [...new Set(instants.map(({ inMs }) => minuteOf(now + inMs)))].filter(
      // The database's clock may have been set ahead since the minute was armed.
      (minute) => !((this.#armed.get(minute) ?? 0) >= readyUntil(minute) - minuteSlackMs),
    );
    if (missing.length === 0) return;
    const soonest = Math.min(...missing);
    const isMotion = soonest * minuteMs <= now + longestMotionMs;
    const minutes = [...new Set([...missing, ...(isMotion ? [soonest + 1] : [])])];
    for (const piece of piecesOf(minutes, {
      most: mostDistances,
      mostBytes: Number.POSITIVE_INFINITY,
      bytesOf: () => 0,
    }))
      await this.#arm(piece.map((minute) => [minute, readyUntil(minute)]));
  };

  /** Forgets everything: the host's clock was wrong. */
  forget(): void {
    this.#armed.clear();
  }

  async #arm(minutes: readonly (readonly [minute: number, readyUntil: number])[]): Promise<void> {
    const { host } = this.#options;
    await askAgain(
      () => {
        const now = host.now();
        return this.#ask(minutes.map(([minute, until]) => [minute * minuteMs - now, Math.round(until)]));
      },
      pausesMs,
      host,
    );
    for (const [minute, until] of minutes) this.#armed.set(minute, until);
  }

  async #ask(arm: readonly Distance[]): Promise<void> {
    const { address, secrets, deployment, host, send } = this.#options;
    const limit = new AbortController();
    const request = armRequest({ arm, deployment }, { secrets, app: address.app, nowMs: host.now() });
    const answer = send(`${address.url}/arm`, { ...request, redirect: "manual", signal: limit.signal });
    try {
      const response = await within(host, answerMs, answer, () => notArmed("it has not answered in time"));
      await response.body?.cancel();
      if (response.status !== 204) throw notArmed(`it has answered ${response.status}`);
    } catch (cause) {
      limit.abort(cause);
      throw cause instanceof LayoverError ? cause : notArmed("it cannot be reached", cause);
    }
  }
}

function notArmed(why: string, cause?: unknown): LayoverError {
  return new LayoverError("unreachable", `the alarm of this deployment could not be armed: ${why}`, {
    hint: "Nothing was sent to the database. Look at `layover doctor`, and at the option `alarm`. 401: the Worker has another key, or does not know the app.",
    cause,
  });
}
