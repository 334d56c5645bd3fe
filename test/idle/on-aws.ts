/** Runs that wait on AWS: the functions of a stack, whose schedules fire late in their minute, and a Postgres behind Neon's endpoint. */
import { deployWhole } from "../aws/whole.ts";
import type { Site, SiteOptions } from "./site.ts";

/** The latest that EventBridge Scheduler says it may be. */
export const latestMs = 59_000;

export async function openAws({ settings }: SiteOptions): Promise<Site> {
  const whole = await deployWhole({
    entry: "test/idle/functions.ts",
    settings,
    lateness: () => Math.random() * latestMs,
  });
  const { cloud } = whole;
  return {
    databaseUrl: whole.databaseUrl,
    async start(workflow, input) {
      const { status, body } = await whole.api("POST", `/v1/workflows/${workflow}/runs`, { input });
      if (status !== 201) throw new Error(`a start was answered ${status}: ${JSON.stringify(body)}`);
    },
    untilAwake: async (withinMs) => void (await whole.untilSaid(/awake/, withinMs)),
    get counts() {
      const of = (name: string) => cloud.invoked.filter((each) => each.name === name).length;
      return { ticks: of("tick"), turns: of("turns"), forwards: of("forward"), "Neon asked": whole.statements };
    },
    earlyMs: 125_000,
    alarmsLateMs: latestMs,
    end: async () => await whole.end(),
  };
}
