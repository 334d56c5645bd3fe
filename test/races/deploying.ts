/** Notes of deployments, as a deploy makes them. */
import type { NoteAnswer } from "../../src/postgres/wire-scheduler.ts";
import { terms } from "./runs.ts";
import type { Stage } from "./stage.ts";

/** Notes a build of a deployment, in the default namespace and with the versions of {@link terms}. */
export const noteOn =
  (stage: Stage) =>
  (deploymentName: string, deployment: string, more: object = {}): Promise<NoteAnswer> =>
    stage.onlooker.call("note_deployment", {
      ...{ ...terms, deploymentName, deployment, note: "deployed" },
      ...more,
    });
