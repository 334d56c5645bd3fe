/**
 * Cloudflare, AWS and, in most seeds, processes of Node's at once, on one database. Each has alarms, dispatches and processes of its
 * own, and each lacks a version that the others have. So a run is begun on one host and goes on on another. A ring from one to
 * another is a request: it may be late, and is lost with whoever carries it out. A host may be released alone (builds.ts).
 */

import type { OpenCallback } from "../../../src/core/contract/callback.ts";
import { Registry } from "../../../src/engine/registry.ts";
import { callbackOpener, callbackSealer } from "../../../src/http/callback-token.ts";
import { ringing } from "../../../src/http/ring.ts";
import { Secrets } from "../../../src/http/secrets.ts";
import { makeCalls } from "../../../src/postgres/calls.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { Process } from "../../engine/process.ts";
import { type HostName, hostNames } from "../releases.ts";
import { Apart } from "./apart.ts";
import { Aws } from "./aws.ts";
import { type Build, Builds } from "./builds.ts";
import { Cloudflare } from "./cloudflare.ts";
import { InMemory } from "./in-memory.ts";
import { LambdaEnvironment } from "./lambda-environment.ts";
import type { Ground, Outside, Plan } from "./outside.ts";
import { Rings } from "./rings.ts";

/** As the other hosts have them, so that links of callbacks and rings count at each. */
const secrets = new Secrets(["a root secret of at least 32 bytes, for tests"]);

interface Born {
  readonly host: HostName;
  readonly build: Build;
  readonly plan: Plan;
}

export class Mixed implements Outside {
  /** A process of Node's takes its alarms with it, and its successor arms only what comes next. */
  readonly isExact: boolean;
  readonly graceMs = 36_000;
  rungInVainAt: number | undefined;
  readonly #ground: Ground;
  readonly #hosts: readonly HostName[];
  readonly #cloudflare: Cloudflare;
  readonly #aws: Aws;
  readonly #node: Apart;
  readonly #nodes: number;
  readonly #builds: Builds;
  readonly #rings: Rings;
  readonly #born = new Map<Mortal, Born>();
  /** The version that each host lacks. */
  readonly #lacking: Readonly<Record<HostName, number>>;
  /** The host that asks for another process. */
  #asking: HostName = "cloudflare";
  /** The hosts on which a tick of a live build has succeeded since the last deployment or release. */
  readonly #ticked = new Set<HostName>();
  /** How many rollbacks nobody has told the database of yet. */
  #untold = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
    const { below } = ground;
    const lacking = below(4);
    const aws = lacking + 1 + below(3);
    this.#lacking = { cloudflare: lacking, aws, node: aws + 1 };
    this.#nodes = below(3);
    this.#hosts = this.#nodes === 0 ? ["cloudflare", "aws"] : hostNames;
    this.isExact = this.#nodes === 0;
    this.#cloudflare = new Cloudflare(this.#groundOf("cloudflare"));
    this.#aws = new Aws(this.#groundOf("aws"));
    this.#node = new Apart(this.#groundOf("node"), (own, elsewhere) => new InMemory(own, elsewhere));
    this.#builds = new Builds({ ground, hosts: this.#hosts, onChange: (...change) => this.#change(...change) });
    this.#rings = new Rings({ ground, takerAt: (address) => this.#takerAt(address) });
  }

  readonly beget = (plan: Plan): Mortal => {
    const { instead, deployment, workflows, namespace } = plan;
    const host = (instead && this.#born.get(instead)?.host) ?? this.#asking;
    const build = this.#pick(host);
    const lacking = [this.#lacking[host], build.without];
    // Two processes of Node's have doors of their own; the other hosts have one address.
    const address = `https://${host === "node" ? plan.name?.replaceAll(" ", "-") : host}.example`;
    const own: Plan = {
      ...plan,
      workflows: workflows.filter(
        ({ contract: { name, version } }) => name === "offspring" || !lacking.includes(version),
      ),
      deployment: deployment && {
        name: host,
        id: build.id,
        ...(host === "node" && { wakeAddress: address }),
      },
      publicUrl: address,
      onError: (error, doing) => {
        if (doing.startsWith("ringing at ")) this.rungInVainAt = this.#ground.now();
        plan.onError?.(error, doing);
      },
      send: async (url, init) => await this.#rings.send(String(url), init, born),
      ringing: ({ timers: host }) => ringing({ secrets, namespace, host, send: own.send }),
      callbacks: { seal: callbackSealer({ secrets, namespace, publicUrl: address }), open: openerOf(namespace) },
    };
    const born: Mortal = { cloudflare: this.#cloudflare, aws: this.#aws, node: this.#node }[host].beget(own);
    this.#born.set(born, { host, build, plan: own });
    return born;
  };

  readonly taker = (): Mortal => this.#takerOn(this.#hosts[this.#ground.below(this.#hosts.length)] ?? "aws");

  get refusedAt(): number | undefined {
    const all = [this.#cloudflare.refusedAt, this.#aws.refusedAt, this.#builds.changedAt];
    const known = all.filter((at) => at !== undefined);
    return known.length === 0 ? undefined : Math.max(...known);
  }

  happenings(): readonly Happening[] {
    const sources = [this.#cloudflare, this.#aws, this.#node, this.#builds, this.#rings];
    return sources.flatMap((source) => source.happenings());
  }

  next(): number | undefined {
    const sources = [this.#cloudflare, this.#aws, this.#node, this.#builds, this.#rings];
    return earliest(sources.map((source) => source.next()));
  }

  /** A Durable Object knows the build that comes back in a rollback. So what was left to it is found when somebody tells of that. */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    const told: StandingAlarm = { at: now, ringsAt: now, isRinging: true, isUnarmed: true };
    const alarms = [...this.#cloudflare.standing(), ...this.#aws.standing(), ...this.#node.standing()];
    return this.#untold > 0 ? [...alarms, told] : alarms;
  }

  /** A process of Node's does not count them. */
  taken(runId: string): number {
    if (this.#nodes > 0) return Number.POSITIVE_INFINITY;
    return this.#cloudflare.taken(runId) + this.#aws.taken(runId);
  }

  /** Whether some host carries the version in whichever build of it is asked. */
  carries(version: number): boolean {
    return this.#hosts.some((host) => this.#lacking[host] !== version && this.#builds.carry(host, version));
  }

  sweeping(): readonly { readonly name: string; readonly id: string }[] {
    return this.#hosts.flatMap((name) => this.#builds.of(name).map(({ id }) => ({ name, id })));
  }

  lose(process: Mortal): void {
    for (const part of [this.#cloudflare, this.#aws, this.#node, this.#rings]) part.lose(process);
    if (isOnDemand(process)) this.#born.delete(process); // of the others it is asked who takes their place
  }

  /** As for processes of Node's alone. */
  end(process: Process): void {
    this.#node.end(process);
    this.#born.delete(process);
  }

  lookAfter(ms: number): void {
    this.#node.lookAfter(ms);
  }

  deployed(): void {
    this.#ticked.clear();
    this.#asking = "node";
    for (let count = 0; count < this.#nodes; count += 1) this.#ground.another();
    this.#asking = "cloudflare";
    this.#cloudflare.deployed();
    this.#aws.deployed();
  }

  /** Notes that a tick of this process has succeeded, which looks at everything if it is the first one of its build. */
  hasTicked(process: Mortal): void {
    const born = this.#born.get(process);
    if (born !== undefined) this.#note(born.host, born.build.id);
  }

  #note(host: HostName, build: string): void {
    if (this.#builds.of(host).some(({ id }) => id === build)) this.#ticked.add(host);
    if (this.#ticked.size === this.#hosts.length) this.#ground.hasTicked(this.#ground.deployment());
  }

  #groundOf(host: HostName): Ground {
    const ground = this.#ground;
    return {
      ...ground,
      another: () => {
        this.#asking = host;
        const made = ground.another();
        this.#asking = "cloudflare";
        return made;
      },
      processes: () => this.#at(host).filter((process) => process instanceof Process),
      deployment: () => this.#builds.of(host).at(-1)?.id ?? "",
      hasTicked: (build) => this.#note(host, build),
    };
  }

  /** Which build a new process of the host has: the newest one, if no process has that yet. */
  #pick(host: HostName): Build {
    const live = this.#builds.of(host);
    const newest = live.at(-1) ?? live[0];
    const isThere = this.#at(host).some((process) => this.#born.get(process)?.build.id === newest.id);
    return isThere ? (live[this.#ground.below(live.length)] ?? newest) : newest;
  }

  /** The processes of a host that may take something. */
  #at(host: HostName): readonly Mortal[] {
    return [...this.#born]
      .filter(([process, born]) => born.host === host && !process.isDead && !process.isBeginning)
      .map(([process]) => process);
  }

  #takerOn(host: HostName): Mortal {
    const there = this.#at(host);
    const one = there[this.#ground.below(Math.max(1, there.length))];
    return host === "aws" || one === undefined ? this.#aws.taker() : one;
  }

  /** Who answers at an address. Undefined: nobody is there. */
  #takerAt(address: string): Mortal | undefined {
    const host = (["cloudflare", "aws"] as const).find((name) => address.startsWith(`https://${name}.`));
    if (host !== undefined) return this.#takerOn(host);
    return this.#at("node").find((process) => address.startsWith(this.#born.get(process)?.plan.publicUrl ?? "-"));
  }

  /** Other builds of the host are alive now: the processes of the others are gone, and some of a gradual release's host. */
  #change(host: HostName, what: "released" | "over" | "rolled back"): void {
    const { crash, below, released } = this.#ground;
    const live = this.#builds.of(host).map(({ id }) => id);
    const old = [...this.#born].filter(([process, born]) => born.host === host && !process.isDead);
    const first = below(Math.max(1, old.length));
    for (const [index, [process, { build }]] of old.entries())
      if (!live.includes(build.id) || (what === "released" && index === first)) crash(process);
    if (what === "over") return;
    this.#ticked.delete(host);
    released();
    if (host === "aws") this.#aws.deployed();
    if (what === "rolled back") this.#tellRollback(host);
  }

  /** Somebody runs `layover deployed` after a rollback, until that has ended well. */
  #tellRollback(host: HostName): void {
    this.#untold += 1;
    this.#rings.errand({
      what: `layover deployed for ${host}`,
      taker: () => this.#takerOn(host),
      act: async (process, client) => {
        const { plan, build } = this.#born.get(process) ?? {};
        if (plan === undefined || build === undefined) throw new Error("the process is gone");
        if (!this.#builds.of(host).some(({ id }) => id === build.id)) {
          this.#untold -= 1; // other builds have come since
          return;
        }
        const calls = makeCalls({ query: process.query, namespace: plan.namespace, alarm: async () => {} });
        const { versions, signatures } = new Registry(plan.workflows);
        const named = { environment: "default", deploymentName: host, deployment: build.id };
        await calls.noteDeployment({ ...named, note: "deployed", versions, signatures });
        await client.wake();
        this.#untold -= 1;
        this.#note(host, build.id);
      },
    });
  }
}

/** As with processes of Node's alone: it never ends by this machine's clock. */
function openerOf(namespace: string): OpenCallback {
  const open = callbackOpener({ secrets, namespace });
  return (token) => {
    const { endsAt: _, ...ref } = open(token) ?? {};
    return "runId" in ref ? ref : undefined;
  };
}

/** Whether the platform makes such a process when it is needed, and none in its place when it is dead. */
export function isOnDemand(process: Mortal): boolean {
  return process instanceof LambdaEnvironment;
}
