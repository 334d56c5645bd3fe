/**
 * Cloudflare and AWS at once, on one database. Each has alarms, a queue and processes of its own, and each lacks a version that
 * the other one has. So a run is begun on one cloud and goes on on the other. A ring from one to the other is a request: it may
 * be late, and is lost with whoever carries it out.
 */
import { earliest, type Happening } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import { Aws } from "./aws.ts";
import { Cloudflare } from "./cloudflare.ts";
import { LambdaEnvironment } from "./lambda-environment.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

interface Ring {
  readonly to: CloudName;
  readonly readyUntil: number;
  readonly at: number;
  readonly answer: (response: Promise<Response>) => void;
}

const clouds = ["cloudflare", "aws"] as const;
type CloudName = (typeof clouds)[number];

const percentLate = 10;
const latestMs = 30_000;

export class Mixed implements Outside {
  readonly isExact = true;
  readonly graceMs = 36_000;
  readonly #ground: Ground;
  readonly #cloudflare: Cloudflare;
  readonly #aws: Aws;
  readonly #isolates = new Set<Mortal>();
  /** The version that each cloud lacks. */
  readonly #lacking: Readonly<Record<CloudName, number>>;
  /** The cloud that asks for another process. */
  #asking: CloudName = "cloudflare";
  /** The clouds on which a tick of the deployment has succeeded. */
  readonly #ticked = new Map<string, Set<CloudName>>();
  #rings: Ring[] = [];
  readonly #underWay = new Map<Ring, Mortal>();

  constructor(ground: Ground) {
    this.#ground = ground;
    const lacking = ground.below(4);
    this.#lacking = { cloudflare: lacking, aws: lacking + 1 + ground.below(3) };
    this.#cloudflare = new Cloudflare(this.#groundOf("cloudflare"));
    this.#aws = new Aws(this.#groundOf("aws"));
  }

  readonly beget = (plan: Plan): Mortal => {
    const cloud = this.#asking;
    const { deployment, workflows } = plan;
    const own: Plan = {
      ...plan,
      workflows: workflows.filter(
        ({ contract: { name, version } }) => name === "offspring" || version !== this.#lacking[cloud],
      ),
      deployment: deployment && { ...deployment, name: cloud },
      publicUrl: `https://${cloud}.example`,
      send: async (url, init) => await this.#send(String(url), init, born),
    };
    const born: Mortal = cloud === "aws" ? this.#aws.beget(own) : this.#cloudflare.beget(own);
    if (cloud === "cloudflare") this.#isolates.add(born);
    return born;
  };

  readonly taker = (): Mortal => this.#takerOn(clouds[this.#ground.below(clouds.length)] ?? "aws");

  get refusedAt(): number | undefined {
    const both = [this.#cloudflare.refusedAt, this.#aws.refusedAt].filter((at) => at !== undefined);
    return both.length === 0 ? undefined : Math.max(...both);
  }

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    return [
      ...this.#cloudflare.happenings(),
      ...this.#aws.happenings(),
      ...this.#rings
        .filter(({ at }) => at <= now)
        .map((ring) => ({ what: () => `a ring comes to ${ring.to}`, act: () => this.#carryOut(ring) })),
    ];
  }

  next(): number | undefined {
    const { timeOf } = this.#ground;
    return earliest([this.#cloudflare.next(), this.#aws.next(), ...this.#rings.map(({ at }) => timeOf(at))]);
  }

  standing() {
    return [...this.#cloudflare.standing(), ...this.#aws.standing()];
  }

  taken(runId: string): number {
    return this.#cloudflare.taken(runId) + this.#aws.taken(runId);
  }

  lose(process: Mortal): void {
    this.#isolates.delete(process);
    this.#cloudflare.lose(process);
    this.#aws.lose(process);
    for (const [ring, carrier] of this.#underWay)
      if (carrier === process) this.#end(ring, Promise.reject(new Error("whoever carried it out is gone")));
  }

  deployed(): void {
    this.#asking = "cloudflare";
    this.#cloudflare.deployed();
    this.#aws.deployed();
  }

  #groundOf(cloud: CloudName): Ground {
    const ground = this.#ground;
    return {
      ...ground,
      another: () => {
        this.#asking = cloud;
        const made = ground.another();
        this.#asking = "cloudflare";
        return made;
      },
      hasTicked: (deployment) => {
        const ticked = this.#ticked.get(deployment) ?? new Set();
        this.#ticked.set(deployment, ticked.add(cloud));
        if (ticked.size === clouds.length) ground.hasTicked(deployment);
      },
    };
  }

  #takerOn(cloud: CloudName): Mortal {
    const isolates = [...this.#isolates].filter(({ isDead }) => !isDead);
    const isolate = isolates[this.#ground.below(Math.max(1, isolates.length))];
    return cloud === "aws" || isolate === undefined ? this.#aws.taker() : isolate;
  }

  async #send(url: string, init: RequestInit | undefined, asking: Mortal): Promise<Response> {
    const { below, now } = this.#ground;
    const to = clouds.find((cloud) => url.startsWith(`https://${cloud}.`));
    if (to === undefined) throw new Error(`nobody is at ${url}`);
    const { readyUntil }: { readyUntil: number } = JSON.parse(String(init?.body));
    const { promise, resolve } = Promise.withResolvers<Response>();
    const answer = (response: Promise<Response>) => {
      response.catch(() => {});
      if (!asking.isDead) resolve(response);
    };
    promise.catch(() => {});
    await asking.ask("dispatch", `a ring for ${to}`, async () => {
      const at = now() + (below(100) < percentLate ? below(latestMs) : 0);
      this.#rings.push({ to, readyUntil, at, answer });
    });
    return await promise;
  }

  #carryOut(ring: Ring): void {
    this.#rings = this.#rings.filter((other) => other !== ring);
    const carrier = this.#takerOn(ring.to);
    this.#underWay.set(ring, carrier);
    const ticked = carrier.request((client) => client.ring(ring.readyUntil));
    const response = ticked.then(() => new Response(null, { status: 204 }));
    const end = () => this.#end(ring, response);
    void response.then(end, end);
  }

  #end(ring: Ring, response: Promise<Response>): void {
    if (this.#underWay.delete(ring)) ring.answer(response);
  }
}

/** Whether the platform makes such a process when it is needed, and none in its place when it is dead. */
export function isOnDemand(process: Mortal): boolean {
  return process instanceof LambdaEnvironment;
}
