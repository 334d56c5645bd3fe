/** What the stories of the demo share: the host that dies and begins again, the world outside, and the screen. */
import { setTimeout as delay } from "node:timers/promises";
import { Follower } from "./follower.ts";
import type { Host } from "./host.ts";
import { paint, type Screen } from "./screen.ts";
import type { Bar } from "./timeline.ts";
import type { World } from "./world.ts";

export const items = ["lamp", "desk", "chair"];

export class Stage {
  readonly screen: Screen;
  readonly world: World;
  readonly host: Host;
  /** Each time that the host was there. */
  readonly lives: Bar[] = [];
  #livesSince = Number.NaN;

  constructor({ screen, world, host }: Pick<Stage, "screen" | "world" | "host">) {
    this.screen = screen;
    this.world = world;
    this.host = host;
  }

  /** Begins the host, under a heading. */
  async begin(heading: string): Promise<void> {
    this.screen.act(heading);
    await this.host.begin();
    this.#livesSince = Date.now();
  }

  /** Kills the host. Answers when. */
  async kill(when: string): Promise<number> {
    this.screen.say("kill", paint("red", `kill -9 ${this.host.pid} ${when}`));
    const endedAt = Date.now();
    await this.host.kill();
    this.lives.push({ beganAt: this.#livesSince, endedAt, kind: "killed" });
    return endedAt;
  }

  async end(): Promise<void> {
    this.lives.push({ beganAt: this.#livesSince, endedAt: Date.now(), kind: "up" });
    await this.host.end();
  }

  /** Starts the order, and resolves when the payment provider is asked. */
  async order(): Promise<Follower> {
    const { host, screen } = this;
    screen.act("An order comes in");
    const input = { customer: "Ada", amount: 42, items, address: { street: "1 Rose St", city: "London" } };
    const started = await host.api("POST", "/v1/workflows/order/runs", { id: "order-1", input });
    check(started.status === 201, `POST …/runs answers 201, not ${JSON.stringify(started)}`);
    const runId = String(started.body["runId"]);
    screen.say("do", `POST /v1/workflows/order/runs → 201, run ${runId}`);
    await this.untilAsked("charge", 1);
    return new Follower(screen, host, runId);
  }

  /** Answers how often that was done outside. */
  done(kind: string, item?: string): number {
    return this.world
      .asked(kind)
      .filter((effect) => effect.isNew && (item === undefined || effect.details["item"] === item)).length;
  }

  async untilAsked(kind: string, times: number): Promise<void> {
    const givenUpAt = Date.now() + 15_000;
    const asked = () => this.world.asked(kind).length;
    while (asked() < times) {
      check(Date.now() < givenUpAt, `${kind} is asked for ${times} times, not ${asked()}, within 15 s`);
      await delay(20);
    }
  }
}

export function check(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what);
}
