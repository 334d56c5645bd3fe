/** Has a deployment judge runs by the code that it carries: `--at URL`. Data and keys stay there. */
import type { Api } from "../../client/over-http/api.ts";
import { queryOf } from "../../client/over-http/requests.ts";
import { runStatuses } from "../../client/run-view.ts";
import { LayoverError } from "../../core/errors.ts";
import { mostRuns } from "../../http/replay-check/asked.ts";
import type { Judgements, Parked } from "../../http/replay-check/judge.ts";
import type { MoveJudgements } from "../../http/replay-check/judge-move.ts";
import type { Build } from "../../http/replay-check/mount.ts";
import { type ServerPlace, withServer } from "../runs/server.ts";
import { plain } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import type { Examiner, JudgedRun } from "./examine.ts";
import type { Looker } from "./move-run.ts";

const path = "/v1/replay-check";
const movesPath = "/v1/upgrade-check";

/** The exit code where another build has answered than the one that is meant. */
const otherBuild = 6;

export interface JudgePlace extends ServerPlace {
  readonly url: string;
  /** The id of the build that is to judge. Undefined: whichever answers first. */
  readonly deployment: string | undefined;
}

interface PlaceOptions {
  readonly at?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly deployment?: string;
}

/** Looks whether the options say one place where runs are judged. @throws UsageError */
export function checkPlace({ at, header, deployment }: PlaceOptions, module: string | undefined): void {
  if (at !== undefined && module !== undefined) {
    throw new UsageError("With --at the code of the deployment judges, and none here.", {
      hint: "Leave the module away, and keep --at https://…",
    });
  }
  if (at === undefined && (header !== undefined || deployment !== undefined)) {
    throw new UsageError("--header and --deployment say which deployment is to judge, and --at is left out.", {
      hint: "Add the address of the deployment: --at https://…",
    });
  }
}

/** A deployment that finds runs and judges them by its code, asked over HTTP. */
export interface JudgeAt extends Examiner, Looker {
  readonly api: Api;
}

/** @throws UsageError where it does not answer, lets nobody in, judges nothing, or is of another build */
export async function withJudgeAt<Result>(
  place: JudgePlace,
  work: (judge: JudgeAt) => Promise<Result>,
): Promise<Result> {
  return await withServer(({ api }) => work(judgeAt(api, place)), place);
}

function judgeAt(api: Api, { url, deployment }: JudgePlace): JudgeAt {
  let versions: Parked["versions"] = {};
  let build: Build | undefined;
  // Each answer is looked at: requests may be led to several builds.
  const checked = <Answer extends { readonly deployment: Build }>(answer: Answer): Answer => {
    build = checkBuild(answer.deployment, build, deployment);
    return answer;
  };
  return {
    api,
    most: mostRuns,
    build: () => build,
    listParked: async ({ version, before, limit: _, ...filter }) => {
      const status = runStatuses.find((each) => each === filter.status);
      const asked = api.get(path, { query: { ...queryOf({ ...filter, status }), version, cursor: before } });
      const answer = await asked.catch((error: unknown) => Promise.reject(mounted(error, url)));
      const page = checked(answer as Parked); // as its route answers
      versions = page.versions;
      return { runs: page.runs, next: page.cursor ?? null };
    },
    carries: (workflow, version) => versions[workflow]?.includes(version) === true,
    judge: async (runIds) => {
      const judged: JudgedRun[] = [];
      const ask = async (runs: readonly string[]) => (await api.post(path, { runs })) as Judgements; // as its route answers
      for (const { verdicts } of await askedAbout(runIds, ask)) {
        for (const { runId, ...verdict } of verdicts) {
          if (verdict.outcome !== "over" && verdict.outcome !== "elsewhere") judged.push({ runId, verdict });
        }
      }
      return judged;
    },
    lookAt: async (runIds, { from, to }) => {
      const ask = async (runs: readonly string[]) => (await api.post(movesPath, { runs, from, to })) as MoveJudgements; // as its route answers
      return (await askedAbout(runIds, ask)).flatMap(({ verdicts }) => verdicts);
    },
  };

  /** Asks until there is an answer about each run. */
  async function askedAbout<Answer extends Answered>(runIds: readonly string[], ask: Ask<Answer>) {
    const all: Answer[] = [];
    for (let left = runIds; left.length > 0; ) {
      const [answers, rest] = [await answersOf(ask, left.slice(0, mostRuns)), left.slice(mostRuns)];
      all.push(...answers.map(checked));
      left = [...answers.flatMap((answer) => answer.left), ...rest];
    }
    return all;
  }
}

interface Answered {
  readonly deployment: Build;
  readonly left: readonly string[];
}

type Ask<Answer> = (runs: readonly string[]) => Promise<Answer>;

/** If there is no answer about several runs, each is asked about by itself, so that the one is named which is the cause. */
async function answersOf<Answer>(ask: Ask<Answer>, runs: readonly string[]): Promise<readonly Answer[]> {
  try {
    return [await ask(runs)];
  } catch (error) {
    const isAnswer =
      error instanceof LayoverError && !["unreachable", "unexpected_answer", "internal"].includes(error.code);
    if (isAnswer) throw error;
    const [only] = runs;
    if (runs.length > 1 || only === undefined) return await answersSingly(ask, runs);
    const why = plain(error instanceof Error ? error.message : String(error));
    throw new UsageError(`The deployment gave no answer about the run ${only}: ${why}`, {
      hint: "The code may not come to rest when that run is replayed. Replay it on this machine: layover replay RUN",
      cause: error,
    });
  }
}

async function answersSingly<Answer>(ask: Ask<Answer>, runs: readonly string[]): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const runId of runs) answers.push(...(await answersOf(ask, [runId])));
  return answers;
}

/** @throws UsageError */
function checkBuild(build: Build, before: Build | undefined, asked: string | undefined): Build {
  if (asked !== undefined && build.id !== asked) {
    throw new UsageError(
      plain(`Build ${build.id} of ${build.name} has answered, and not ${asked}: nothing is judged.`),
      {
        hint: "Ask the address of that build, or lead there by --header. A build's id is what serve's option `deployment` says, or else a digest of its code.",
        exitCode: otherBuild,
      },
    );
  }
  if (before !== undefined && (build.id !== before.id || build.name !== before.name)) {
    throw new UsageError(plain(`Two builds have answered, ${before.id} and ${build.id}: nothing is judged.`), {
      hint: "Requests to this address are led to several builds. Ask the address of one build, or lead there by --header.",
      exitCode: otherBuild,
    });
  }
  return build;
}

function mounted(error: unknown, url: string): unknown {
  if (!(error instanceof LayoverError && error.code === "not_found")) return error;
  return new UsageError(`The deployment at ${url} judges no runs.`, {
    hint: "Mount that where it is served: serve({ …, replayCheck: replayCheck() }), of layover/replay-check. And name its address with the prefix.",
    cause: error,
  });
}
