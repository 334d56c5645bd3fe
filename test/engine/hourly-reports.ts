/** A schedule that starts a report each hour, the worlds in which it fires, and what the database tells of it there. */
import { type Schedule, schedule, workflow } from "layover";
import * as z from "zod";
import type { TestDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

export const report = workflow({
  name: "report",
  version: 1,
  input: z.object({ day: z.string() }),
  output: z.string(),
});
/** Each run sleeps as long as its input's first letter says, and answers its day. */
export const reports = report.handler(async ({ input, step }) => {
  if (input.day.startsWith("slow")) await step.sleep("slow", "90 minutes");
  return await step.run("write", () => input.day);
});

export const hourly = (more: Partial<Parameters<typeof schedule<typeof report>>[0]> = {}) =>
  schedule({
    name: "hourly",
    cron: "0 * * * *",
    start: report,
    input: ({ scheduledAt }) => ({ day: scheduledAt.toISOString() }),
    ...more,
  } as Parameters<typeof schedule<typeof report>>[0]);

export const build = (id: string, schedules: readonly Schedule[], name = "server") =>
  ({ workflows: [reports], schedules, deployment: { name, id } }) as const;

/** Answers what begins a world whose first deployment declares these schedules. */
export function schedulesOn(database: TestDatabase) {
  return async function worldWith(schedules: readonly Schedule[], options: Partial<WorldOptions> = {}): Promise<World> {
    const world = await World.begin(database, { ...build("a", schedules), ...options });
    await world.tick();
    return world;
  };
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly created: Date;
}

export async function runsOf(world: World): Promise<readonly Row[]> {
  const { database } = world;
  const { rows } = await database.pool.query<Row>(
    `select r.user_id as id, s.status, r.created_at as created from layover.run r join layover.run_state s on s.run_id = r.id
      where r.namespace = $1 order by r.user_id`,
    [world.namespace],
  );
  return rows;
}

export const idsOf = async (world: World) => (await runsOf(world)).map(({ id }) => id);

interface Seen {
  readonly fired: number;
  readonly skipped: number;
  readonly last_skip: { readonly cause: string } | null;
  readonly due_at: Date | null;
  readonly next_at: Date | null;
}

export async function seen(world: World, name = "hourly"): Promise<Seen | undefined> {
  const { database } = world;
  const { rows } = await database.pool.query<Seen>(
    `select v.fired::integer, v.skipped::integer, v.last_skip, v.due_at, v.next_at
       from layover.schedule v where v.namespace = $1 and v.name = $2`,
    [world.namespace, name],
  );
  return rows[0];
}

export async function verb(world: World, name: string, call: object): Promise<Record<string, unknown>> {
  const { database } = world;
  const { rows } = await database.pool.query<{ readonly answer: Record<string, unknown> }>(
    `select layover.${name}($1) as answer`,
    [JSON.stringify({ namespace: world.namespace, ...call })],
  );
  return rows[0]?.answer ?? {};
}
