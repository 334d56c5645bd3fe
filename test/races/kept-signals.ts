/** Keeps signals for runs that are not there yet, beside others that are named alike, and looks at what became of them. */
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";
import { aSignalTo, aStartOf } from "./deeds.ts";
import { minute, noon, Run, soon, terms } from "./runs.ts";
import type { Session, Stage } from "./stage.ts";

export const expires = noon + 96 * 60 * minute;
export const elsewhere = { namespace: "elsewhere" };
/** What the signal "0mine" is sent to. */
export const mine = { namespace: "default", workflow: "flow", id: "a" };
/** What `keepOneAndOthers` keeps for others. */
export const others = ['0"of a workflow"', '0"of an id"', '0"elsewhere"'];

export function keptSignalsOn(stage: Stage) {
  const receive = (delivery: string, deeds: readonly DeedCall[], more: object = {}, by: Session = stage.onlooker) =>
    by.call("receive_delivery", { webhook: "shop", delivery, deeds, armed: [soon, expires], ...more });
  const start = async (id: string, more: object = {}) => {
    const { runId } = await stage.onlooker.call("start_run", { ...aStartOf(id), armed: [soon], ...more });
    return new Run(stage, runId ?? "");
  };
  const send = (by: Session = stage.onlooker, more: object = {}) =>
    by.call("send_kept_signals", { limit: 500, armed: [soon + minute], ...more });
  const claim = (by: Session, ...runs: readonly Run[]) =>
    by.call("claim_turns", { ...terms, turns: runs.map((run) => run.toClaim({ token: run.id })) });
  const kept = async (what = "payload") =>
    (await stage.look(`select ${what} as it from layover.kept_signal order by number`)).map(({ it }) => it);
  const sent = async () =>
    await stage.look(
      `select r.namespace, r.workflow, r.user_id as id, g.payload
         from layover.signal g join layover.run r on r.id = g.run_id order by g.number`,
    );

  /** Keeps the signal "0mine" for the run `a` of `flow`, and others for what is named alike. */
  const keepOneAndOthers = async () => {
    await receive("d1", [aSignalTo("a", '0"mine"')]);
    await receive("d2", [aSignalTo("a", '0"of a workflow"', "other"), aSignalTo("b", '0"of an id"')]);
    await receive("d1", [aSignalTo("a", '0"elsewhere"')], elsewhere);
  };
  /** Starts runs that are named like `a` of `flow`. */
  const startOthers = async () => [
    await start("a", elsewhere),
    await start("a", { workflow: "other" }),
    await start("b"),
  ];
  /** Keeps one without a run while runs begin that are named alike. */
  const keepBesideRuns = async () => {
    await receive("d1", [aSignalTo("a")]);
    return await startOthers();
  };
  /** A run that was started, and claimed or ended, after a delivery had looked for it, and before that was committed. */
  const keepTooLate = async (meanwhile: (run: Run) => Promise<unknown>, id = "a") => {
    const receiver = await stage.session(`receiver for ${id}`);
    await receiver.begin();
    await receive(`late ${id}`, [aSignalTo(id, '0"late"')], {}, receiver);
    const run = await start(id);
    await meanwhile(run);
    await receiver.commit();
    return run;
  };
  return { receive, start, send, claim, kept, sent, startOthers, keepOneAndOthers, keepBesideRuns, keepTooLate };
}
