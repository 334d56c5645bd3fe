/** Has a deployment judge runs by the code that it carries: `--at URL`. Data and keys stay there. */
import type { Api } from "../../client/over-http/api.ts";
import { LayoverError } from "../../core/errors.ts";
import { mostRuns } from "../../http/replay-check/asked.ts";
import type { Judgements, Parked } from "../../http/replay-check/judge.ts";
import type { Build } from "../../http/replay-check/mount.ts";
import { type ServerPlace, withServer } from "../runs/server.ts";
import { plain } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import type { Examiner, JudgedRun } from "./examine.ts";

const path = "/v1/replay-check";

/** The exit code where another build has answered than the one that is meant. */
const otherBuild = 6;

export interface JudgePlace extends ServerPlace {
  readonly url: string;
  /** The id of the build that is to judge. Undefined: whichever answers first. */
  readonly deployment: string | undefined;
}

/** @throws UsageError where it does not answer, lets nobody in, judges nothing, or is of another build */
export async function withExaminerAt<Result>(
  place: JudgePlace,
  work: (examiner: Examiner) => Promise<Result>,
): Promise<Result> {
  return await withServer(({ api }) => work(examinerAt(api, place)), place);
}

function examinerAt(api: Api, { url, deployment }: JudgePlace): Examiner {
  let versions: Parked["versions"] = {};
  let judge: Build | undefined;
  // Each answer is looked at: requests may be led to several builds.
  const checked = <Answer extends { readonly deployment: Build }>(answer: Answer): Answer => {
    judge = checkBuild(answer.deployment, judge, deployment);
    return answer;
  };
  return {
    build: () => judge,
    listParked: async ({ workflow, version, before }) => {
      const asked = api.get(path, { query: { workflow, version, cursor: before } });
      const answer = await asked.catch((error: unknown) => Promise.reject(mounted(error, url)));
      const page = checked(answer as Parked); // as its route answers
      versions = page.versions;
      return { runs: page.runs, next: page.cursor ?? null };
    },
    carries: (workflow, version) => versions[workflow]?.includes(version) === true,
    judge: async (runIds) => {
      const verdicts: JudgedRun[] = [];
      for (let left = runIds; left.length > 0; ) {
        const [answers, rest] = [await judgedAt(api, left.slice(0, mostRuns)), left.slice(mostRuns)];
        left = [...answers.flatMap((answer) => answer.left), ...rest];
        for (const { runId, ...verdict } of answers.flatMap((answer) => checked(answer).verdicts)) {
          if (verdict.outcome !== "over" && verdict.outcome !== "elsewhere") verdicts.push({ runId, verdict });
        }
      }
      return verdicts;
    },
  };
}

/** If there is no answer about several runs, each is asked about by itself, so that the one is named which is the cause. */
async function judgedAt(api: Api, runs: readonly string[]): Promise<readonly Judgements[]> {
  try {
    return [(await api.post(path, { runs })) as Judgements]; // as its route answers
  } catch (error) {
    const isAnswer =
      error instanceof LayoverError && !["unreachable", "unexpected_answer", "internal"].includes(error.code);
    if (isAnswer) throw error;
    const [only] = runs;
    if (runs.length > 1 || only === undefined) return await judgedSingly(api, runs);
    const why = plain(error instanceof Error ? error.message : String(error));
    throw new UsageError(`The deployment gave no answer about the run ${only}: ${why}`, {
      hint: "The code may not come to rest when that run is replayed. Replay it on this machine: layover replay RUN",
      cause: error,
    });
  }
}

async function judgedSingly(api: Api, runs: readonly string[]): Promise<readonly Judgements[]> {
  const answers: Judgements[] = [];
  for (const runId of runs) answers.push(...(await judgedAt(api, [runId])));
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
