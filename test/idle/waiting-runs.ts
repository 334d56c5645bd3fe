/** The runs that wait: hundreds for something that does not happen, and one for an instant after the quiet minutes. */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import * as z from "zod";
import type { Site } from "./site.ts";

const dayMs = 24 * 3_600_000;

/** As many sleep, wait for a signal, and wait for a callback. Resolves when all of them wait. */
export async function startWaiting(site: Site, each: number): Promise<void> {
  const wakesAt = Date.now() + dayMs;
  for (let index = 0; index < each; index += 1) {
    const starts = [
      site.start("sleeper", { wakesAt }),
      site.start("listener", undefined),
      site.start("asker", undefined),
    ];
    await Promise.all(starts);
  }
  await untilParked(site);
}

/** Resolves when it sleeps. */
export async function startDueAt(site: Site, wakesAt: number): Promise<void> {
  await site.start("sleeper", { wakesAt });
  await untilParked(site);
}

const Began = z.array(z.object({ began_at: z.date() }));

/** How late the step began of the run that was due. Nobody asks the database before that run says that it is awake. */
export async function latenessMs(site: Site, wakesAt: number): Promise<number> {
  await site.untilAwake(wakesAt + 90_000 - Date.now());
  const step = async () =>
    Began.parse(await ask(site, "select began_at from layover.record where path = 'morning'"))[0]?.began_at.getTime();
  return (await until(step, "the step of the run that was due is recorded")) - wakesAt;
}

/** Nobody is at work. */
async function untilParked(site: Site): Promise<void> {
  const moving = "select from layover.run_state where status <> 'parked' or ready_at <= layover.now() limit 1";
  await until(async () => ((await ask(site, moving)).length === 0 ? true : undefined), "all runs wait");
}

async function until<Answer>(look: () => Promise<Answer | undefined>, what: string): Promise<Answer> {
  const givenUpAt = Date.now() + 60_000;
  for (;;) {
    const answer = await look();
    if (answer !== undefined) return answer;
    if (Date.now() > givenUpAt) throw new Error(`${what}: not so within a minute`);
    await delay(100);
  }
}

async function ask(site: Site, query: string): Promise<readonly unknown[]> {
  const client = new Client(site.databaseUrl);
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}
