/** Each verb of a client refuses a transaction above read committed, a database of another environment, and a key that was revoked. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aStart, at, soon, terms } from "./runs.ts";
import { type Answers, stageOn } from "./stage.ts";

const some = { runId: randomUUID(), callId: randomUUID(), armed: [soon] };
const signal = { signalId: randomUUID(), name: "go", encodedPayload: "0null" };
const flow = { workflow: "flow", callId: randomUUID(), armed: [soon] };
const verbs: readonly (readonly [name: keyof Answers, call: object])[] = [
  ["start_run", aStart()],
  ["signal_with_start", { ...aStart(), id: "one", signal }],
  ["send_signal", { ...some, ...signal }],
  ["answer_callback", { ...some, ...at("a"), epoch: 0, outcome: "resolved", value: "0null" }],
  ...(["pause_run", "resume_run", "cancel_run", "terminate_run", "delete_run"] as const).map(
    (name) => [name, some] as const,
  ),
  ...(["retry_run", "restart_run", "fork_run"] as const).map((name) => [name, { ...some, from: at("a") }] as const),
  ["upgrade_run", { ...some, version: 2 }],
  ["operate_runs", { verb: "pause", filter: { workflow: "flow" }, limit: 10, armed: [soon] }],
  ["pause_workflow", flow],
  ["resume_workflow", flow],
];

describeSomePostgres("a call of", (database) => {
  const stage = stageOn(database);

  // A user may start a run within a transaction of his own.
  describe.each(verbs.filter(([name]) => name !== "start_run"))("%s is refused in a transaction", (name, call) => {
    test.each(["repeatable read", "serializable"])("at %s", async (isolation) => {
      const session = await stage.session("blind");
      await session.begin(isolation);
      await expect(session.call(name, call)).rejects.toMatchObject({ code: "LO001" });
    });
  });

  test.each(verbs)("%s is refused in a database of another environment", async (name, call) => {
    await stage.onlooker.call("adopt_environment", terms);
    const theirs = { ...call, environment: "theirs", endpoint: terms.endpoint };
    await expect(stage.onlooker.call(name, theirs)).rejects.toMatchObject({ code: "LO010" });
  });

  test.each(verbs)("%s is refused with a key that was revoked, and with no other one", async (name, call) => {
    const [revoked, other] = [randomUUID(), randomUUID()];
    await stage.onlooker.call("revoke_key", { keyId: revoked });
    await expect(stage.onlooker.call(name, { ...call, keyId: revoked })).rejects.toMatchObject({ code: "LO005" });
    const said = stage.onlooker.call(name, { ...call, keyId: other });
    await said.catch((error: unknown) => expect(error).not.toMatchObject({ code: "LO005" }));
  });
});
