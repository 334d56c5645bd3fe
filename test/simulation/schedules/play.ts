/**
 * Plays a scenario of schedules: the real engine, client and SQL in a world where calls fail, come late or twice, processes
 * die, alarms ring late, the database's clock is set, and people change schedules at their instants. After each
 * statement the court compares the rows with the reference, and the wake rule has to hold.
 */
import type { ScheduleVerbs } from "../../../src/client/schedules.ts";
import { Chance } from "../../engine/chance.ts";
import { World } from "../../engine/world.ts";
import type { Fate, PortCall, WorldOptions } from "../../engine/world-options.ts";
import type { TestDatabase } from "../../postgres/database.ts";
import type { Site } from "../site.ts";
import { beginning, declare, nameOf, quick, workflows } from "./code.ts";
import { Court } from "./court.ts";
import { declarationElsewhere, rivalOf } from "./elsewhere.ts";
import { firstOver, wrongRuns } from "./runs.ts";
import type { Act, Scenario, Terms } from "./scenario.ts";

export interface Report {
  readonly wrongs: readonly string[];
  readonly runs: number;
  readonly statements: number;
  readonly deaths: number;
  readonly troubles: number;
}

const minuteMs = 60_000;
/** How long nothing goes wrong at the end, so that what is due is fired. */
const calmMs = 10 * minuteMs;
const longestStrayMs = 5 * minuteMs;
/** SQL functions that somebody asks for who waits for the answer for ever. */
const asked = /^(create|pause|resume|trigger|delete|adopt)_/;
/** What follows a deployment until its first tick has succeeded: as hosts ring again. */
const mostTries = 30;

export async function playSchedules(site: Site, scenario: Scenario, onLine?: (line: string) => void): Promise<Report> {
  await site.clear();
  return await new Play(site, scenario, onLine).play();
}

/** A statement that somebody sends once more, later. */
interface Stray {
  readonly text: string;
  readonly parameters: readonly (string | number | null)[];
  readonly atMs: number;
}

class Play {
  readonly #site: Site;
  readonly #scenario: Scenario;
  readonly #chance: Chance;
  readonly #note: (line: string) => void;
  #world: World | undefined;
  #court: Court | undefined;
  #troubles = 0;
  #strays: Stray[] = [];
  #outageUntil = 0;
  /** What the code declares, by number. */
  #code: ReadonlyMap<number, Terms>;
  #before: ReadonlyMap<number, Terms>;
  #builds = 1;

  constructor(site: Site, scenario: Scenario, onLine: ((line: string) => void) | undefined) {
    this.#site = site;
    this.#scenario = scenario;
    this.#chance = new Chance(scenario.seed, 2);
    const now = () => (this.#world === undefined ? "" : new Date(this.#world.now).toISOString().slice(5, 23));
    this.#note = (line) => onLine?.(`${now()}  ${line}`);
    this.#code = new Map(scenario.schedules.entries());
    this.#before = this.#code;
  }

  get world(): World {
    if (this.#world === undefined) throw new Error("the world has not begun");
    return this.#world;
  }

  get court(): Court {
    if (this.#court === undefined) throw new Error("the court does not sit yet");
    return this.#court;
  }

  async play(): Promise<Report> {
    const { platform, processes, seed, acts, forMs } = this.#scenario;
    const { pool, query, clock } = this.#site;
    const judged = Object.assign((...call: Parameters<typeof query>) => this.#send(...call), {
      endpoint: query.endpoint,
    });
    const database: TestDatabase = { url: "", pool, query: judged, turnClock: async () => clock };
    const options = { platform, processes, seed, number: 1, isShuffled: true, mostEvents: 1_000_000, ...this.#build() };
    this.#world = await World.begin(database, options);
    const { world } = this;
    this.#court = new Court(pool, world.namespace);
    world.fate = (call) => this.#fate(call);
    try {
      await this.#untilNoted();
      for (const act of acts) {
        if (act.atMs > world.time) await world.pass(act.atMs - world.time);
        this.#note(JSON.stringify(act));
        await this.#act(act);
      }
      await this.#end(Math.max(forMs, world.time));
    } catch (error) {
      if (!(error instanceof Over))
        this.court.wrongs.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      await world.end();
    }
    const { wrongs, runs } = this.court;
    if (wrongs.length > 0) this.#note(`✗ ${wrongs.join("\n✗ ")}`);
    const statements = world.calls.filter(({ port }) => port === "query").length;
    return { wrongs, runs: runs.size, statements, deaths: world.deaths, troubles: this.#troubles };
  }

  /** Lets the time of the scenario pass, and then some time in which nothing goes wrong. */
  async #end(forMs: number): Promise<void> {
    const { world, court } = this;
    await world.pass(forMs - world.time);
    this.#strays = [];
    this.#troubles = Number.POSITIVE_INFINITY;
    court.excuse(world.now);
    await this.#untilNoted();
    await world.pass(calmMs);
    await court.end();
    for (const wrong of await wrongRuns(this.#site, world.namespace, [...this.#code.keys()].map(nameOf)))
      court.wrongs.push(wrong);
    this.#troubles = this.#scenario.troubles;
  }

  #build(): Pick<WorldOptions, "workflows" | "schedules" | "deployment"> {
    const schedules = [...this.#code].map(([which, terms]) => declare(which, terms));
    return { workflows, schedules, deployment: { name: "server", id: `build ${this.#builds}` } };
  }

  /** As a host does it, the first tick of a build is rung for again until it has ended. */
  async #untilNoted(): Promise<void> {
    const { world } = this;
    for (let tries = 0; tries < mostTries; tries += 1) {
      await world.tick();
      const { rows } = await this.#site.pool.query(
        "select from layover.deployment d where d.namespace = $1 and d.id = $2 and d.looked_at is not null and d.has_declared",
        [world.namespace, `build ${this.#builds}`],
      );
      if (rows.length > 0) return;
      await world.pass("20 seconds");
    }
    throw new Error("a build is never noted");
  }

  async #act(act: Act): Promise<void> {
    const { world, court } = this;
    switch (act.verb) {
      case "pause":
      case "resume": {
        const { verb, which } = act;
        return await this.#insist((schedules) => schedules[verb](nameOf(which)));
      }
      case "adopt": {
        const { owner } = await rivalOf(this.#site, world.namespace, act.which);
        return await this.#insist((schedules) => schedules.adopt(nameOf(act.which), { owner }));
      }
      case "declare elsewhere":
        return await this.#declareElsewhere(act.which, act.terms);
      case "delete":
        return await this.#insist((schedules) => schedules.delete(`made ${act.which}`));
      case "trigger":
      case "trigger at once": {
        const terms = { runId: this.#chance.uuid(), ignoresOverlap: act.verb === "trigger at once" };
        return await this.#insist((schedules) => schedules.trigger(nameOf(act.which), terms));
      }
      case "restart": {
        const run = await firstOver(this.#site, world.namespace, act.which);
        const callId = this.#chance.uuid();
        if (run !== undefined) await this.#patiently(() => world.ask((client) => client.restart(run, { callId })));
        return;
      }
      case "create": {
        const every = { every: `${10 * (act.which + 1)} minutes`, startAt: new Date(beginning) } as const;
        return await this.#insist((schedules) =>
          schedules.create(`made ${act.which}`, quick, { ...every, input: { at: "made" } }),
        );
      }
      case "pause workflow":
      case "resume workflow": {
        const verb = act.verb === "pause workflow" ? "pauseWorkflow" : "resumeWorkflow";
        const terms = { callId: this.#chance.uuid() };
        return await this.#patiently(() => world.ask((client) => client[verb](act.isSlow ? "slow" : "quick", terms)));
      }
      case "edit":
        return await this.#deploy(new Map([...this.#code, [act.which, act.terms]]));
      case "remove":
        return await this.#deploy(new Map([...this.#code].filter(([which]) => which !== act.which)));
      case "roll back":
        return await this.#deploy(this.#before);
      case "set the clock":
        court.excuse(Math.max(world.now, world.now + act.byMs) + Math.abs(act.byMs));
        return await world.setClock(act.byMs);
      case "outage":
        this.#outageUntil = world.time + act.byMs;
        return court.excuse(world.now + act.byMs);
      case "tick":
      case "tick twice":
        if (act.verb === "tick twice")
          world.platform.alarms.push({ at: world.now, ringsAt: world.hostNow, isRinging: false });
        return await world.tick();
    }
  }

  async #deploy(code: ReadonlyMap<number, Terms>): Promise<void> {
    this.#before = this.#code;
    this.#code = code;
    this.#builds += 1;
    await this.world.deploy(this.#build());
    await this.#untilNoted();
    this.court.excuse(this.world.now);
  }

  /** It changes nothing until somebody adopts it, so it arms nothing. */
  async #declareElsewhere(which: number, terms: Terms): Promise<void> {
    const { namespace } = this.world;
    const { isOurs } = await rivalOf(this.#site, namespace, which);
    const call = declarationElsewhere(namespace, which, terms);
    if (isOurs) await this.#judged("select layover.note_deployment($1) as answer", [call]);
  }

  #insist(question: (schedules: ScheduleVerbs) => Promise<unknown>): Promise<void> {
    return this.#patiently(() => this.world.ask((client) => question(client.schedules)));
  }

  /** Somebody asks again until they are answered, if only by a refusal. */
  async #patiently(ask: () => Promise<unknown>): Promise<void> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      try {
        return void (await ask());
      } catch (error) {
        if (error instanceof Over) throw error;
        if (error instanceof Error && "code" in error && refusals.has(String(error.code))) return;
        await this.world.pass("7 seconds");
      }
    }
    throw new Error("somebody is never answered");
  }

  #fate({ port, what }: PortCall): Fate {
    if (this.court.wrongs.length > 0) throw new Over();
    const { platform, perMille, focus, troubles } = this.#scenario;
    const { world } = this;
    if (port === "query" && world.time < this.#outageUntil) return "fails before";
    if (this.#troubles >= troubles || (focus !== undefined && focus !== what && focus !== port)) return "passes";
    if (this.#chance.below(1_000) >= perMille * (focus === undefined ? 1 : 10)) return "passes";
    this.#troubles += 1;
    this.court.excuse(world.now + minuteMs);
    const fates = ["dies before", "dies after", "fails before", "fails after", "is never answered"] as const;
    const isInMemory = port !== "query" && platform !== "cloud";
    const fate = this.#chance.pick(fates.slice(0, isInMemory ? 2 : port !== "query" || asked.test(what) ? 4 : 5));
    this.#note(`${what} ${fate}`);
    return fate;
  }

  /** Sends a statement to the real database, and what was held up before it. The court looks at each. */
  async #send(...[text, parameters = []]: Parameters<Site["query"]>): ReturnType<Site["query"]> {
    const { world } = this;
    const late = this.#strays.filter(({ atMs }) => atMs <= world.time);
    this.#strays = this.#strays.filter(({ atMs }) => atMs > world.time);
    for (const stray of late) await this.#judged(stray.text, stray.parameters).catch(() => {});
    const { perMille, troubles } = this.#scenario;
    if (this.#troubles < troubles && this.#chance.below(1_000) < perMille) {
      this.#troubles += 1;
      this.#strays.push({
        text,
        parameters: [...parameters] as Stray["parameters"],
        atMs: world.time + this.#chance.below(longestStrayMs),
      });
    }
    return await this.#judged(text, parameters);
  }

  async #judged(text: string, parameters: Parameters<Site["query"]>[1]): ReturnType<Site["query"]> {
    const name = /layover\.(\w+)/.exec(text)?.[1] ?? "";
    if (reading.has(name)) return await this.#site.query(text, parameters);
    const sent = String(parameters?.[0] ?? "{}");
    const rows = await this.#site.query(text, parameters).catch(async (error: unknown) => {
      await this.court.judge(name, sent, true);
      throw error;
    });
    if (watched.test(name)) this.#note(`${name} ${sent.slice(0, 300)} → ${JSON.stringify(rows[0]).slice(0, 400)}`);
    await this.court.judge(name, sent, false);
    return rows;
  }
}

/** Something is wrong, and the world is left there. */
class Over extends Error {}

const reading = new Set(["read_clock", "list_due", "get_run", "list_runs", "get_history", "read_callback"]);
const watched = /schedule|workflow|note_deployment/;
/** What is refused because the schedule is none, or is not as somebody thought. */
const refusals = new Set(["unknown_schedule", "schedule_conflict", "schedule_overlap", "not_applicable"]);
