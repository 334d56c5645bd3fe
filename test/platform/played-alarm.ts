/**
 * The stand-alone alarm in time that a test plays: the object that rings, what it stores, and the app that answers or
 * does not.
 */
import { AppAlarm } from "layover/alarm";
import { expect } from "vitest";
import {
  type AlarmStatus,
  type ArmOrder,
  armRequest,
  type Distance,
  type RingMessage,
  readRing,
  statusRequest,
  tickPath,
} from "../../src/http/alarm.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { type AlarmEnv, alarmWorker } from "../../src/platform/alarm/worker.ts";
import { SkewedTimers } from "../engine/timers.ts";
import { RingingStorage } from "../idle/ringing-storage.ts";
import { secrets } from "./a-worker.ts";

export const beginning = Date.UTC(2026, 0, 1, 12);
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const key = secrets.keyFor("alarm");
export const others = new Secrets(["YW5vdGhlciBzZWNyZXQsIHdoaWNoIGlzIGFsc28gbG9uZyBlbm91Z2ghISE"]);

export class PlayedAlarm {
  time = 0;
  readonly host = new SkewedTimers({ time: () => this.time, beginning });
  readonly storage = new RingingStorage(this.host, () => void this.object.alarm());
  /** When it rang, in seconds from the beginning, and for what. */
  readonly rings: (readonly [second: number, message: RingMessage])[] = [];
  /** What the objects were asked. */
  asked = 0;
  answer: () => Response | Promise<Response> = () => Response.json({ more: false });
  env: AlarmEnv & Record<string, unknown> = {
    APPS: { orders: "https://orders.example/prefix/", shop: "https://shop.example" },
    ORDERS_KEY: key,
    SHOP_KEY: others.keyFor("alarm"),
    ALARM: {
      getByName: () => ({
        fetch: (url, init) => {
          this.asked += 1;
          return this.object.fetch(new Request(url, init));
        },
      }),
    },
  };
  readonly worker = alarmWorker(this.host);
  object = this.#object();

  #object(): AppAlarm {
    return new AppAlarm({ storage: this.storage }, this.env, {
      host: this.host,
      send: async (url, init) => {
        expect(String(url)).toBe(`https://orders.example/prefix${tickPath}`);
        expect(init?.redirect).toBe("manual");
        const request = new Request(String(url), init);
        const message = await readRing(request, { secrets, app: "orders", nowMs: this.host.now() });
        this.rings.push([this.time / 1_000, message]);
        const { promise, reject } = Promise.withResolvers<never>();
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        return await Promise.race([this.answer(), promise]);
      },
    });
  }

  configure(APPS: Record<string, string>): void {
    this.env = { ...this.env, APPS };
    this.evict();
  }

  /** The object is gone from memory, and comes back. */
  evict(): void {
    this.object = this.#object();
  }

  request(path: string, init: RequestInit): Promise<Response> {
    return this.worker.fetch(new Request(`https://alarm.example${path}`, init), this.env);
  }

  async arm(arm: readonly Distance[], deployment = "one"): Promise<number> {
    return (await this.request("/apps/orders/arm", this.#signed({ arm, deployment }))).status;
  }

  /** Arms for an app that is known already, so that no ring is due to its code. */
  async known(): Promise<void> {
    await this.arm([]);
    await this.pass(10_000);
    this.rings.length = 0;
  }

  async status(): Promise<AlarmStatus> {
    const request = statusRequest({ secrets, app: "orders", nowMs: this.host.now() });
    return (await (await this.request("/apps/orders/status", request)).json()) as AlarmStatus;
  }

  #signed(order: ArmOrder): RequestInit {
    return armRequest(order, { secrets, app: "orders", nowMs: this.host.now() });
  }

  async pass(ms: number): Promise<void> {
    const until = this.time + ms;
    for (;;) {
      for (let round = 0; round < 10; round += 1) await new Promise((resolve) => setImmediate(resolve));
      const { next } = this.host;
      if (next === undefined || next > until) break;
      this.time = Math.max(this.time, next);
      while (this.host.fire());
    }
    this.time = until;
  }

  seconds(): readonly number[] {
    return this.rings.splice(0).map(([second]) => second);
  }
}
