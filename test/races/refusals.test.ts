import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  aStart,
  branches,
  minute,
  noon,
  type Run,
  second,
  soon,
} from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

interface Call {
  /** Brings a run into the state in which the call would move it. */
  readonly arrange: (stage: Stage) => Promise<Run>;
  readonly make: (run: Run, session: Session, notAfter?: number) => Promise<unknown>;
}

const calls: Readonly<Record<string, Call>> = {
  "a claim of a run": {
    arrange: aRun,
    make: (run, session, notAfter) => run.claim(session, { token: "first", ...late(notAfter) }),
  },
  "a claim of a branch": {
    arrange: (stage) => aParkedRun(stage, branches(["a"])),
    make: (run, session, notAfter) => run.claimBranch(session, "a", { token: "a", ...late(notAfter) }),
  },
  "a finish of a run": {
    arrange: aRunAtWork,
    make: (run, session, notAfter) => run.finish(session, { token: "first", next: "ready", ...late(notAfter) }),
  },
  "a finish of a branch": {
    arrange: (stage) => aFanOut(stage, ["a"]),
    make: (run, session, notAfter) => run.finishBranch(session, "a", { token: "a", ...late(notAfter) }),
  },
  "a renewal of a run's lease": {
    arrange: aRunAtWork,
    make: (run, session, notAfter) => run.renew(session, "first", late(notAfter)),
  },
  "a renewal of a branch's lease": {
    arrange: (stage) => aFanOut(stage, ["a"]),
    make: (run, session, notAfter) => run.renew(session, "a", { path: "a", ...late(notAfter) }),
  },
  "a move of what is due": {
    arrange: aRun,
    make: (run, session, notAfter) => {
      const move = { runId: run.id, seenDueAt: soon, dueAt: soon + minute, isDispatched: true, branches: [] };
      return session.call("move_due", { moves: [move], notAfter });
    },
  },
  "a signal": {
    arrange: aRun,
    make: (run, session, notAfter) => run.signal(session, "address", late(notAfter)),
  },
  "an answer to a callback": {
    arrange: (stage) => aParkedRun(stage, [aDemand("callback", "approval")]),
    make: (run, session, notAfter) => run.answer(session, "approval", late(notAfter)),
  },
  "a pause": {
    arrange: aRun,
    make: (run, session, notAfter) => run.operate(session, "pause", late(notAfter)),
  },
  "a resume": {
    arrange: async (stage) => {
      const run = await aRun(stage);
      await run.operate(stage.onlooker, "pause");
      return run;
    },
    make: (run, session, notAfter) => run.operate(session, "resume", late(notAfter)),
  },
  "a termination": {
    arrange: aRun,
    make: (run, session, notAfter) => run.operate(session, "terminate", late(notAfter)),
  },
  "a cancel": {
    arrange: aRun,
    make: (run, session, notAfter) => run.operate(session, "cancel", late(notAfter)),
  },
  "a deletion": {
    arrange: aFailedRun,
    make: (run, session, notAfter) => run.operate(session, "delete", late(notAfter)),
  },
  "a retry": {
    arrange: aFailedRun,
    make: (run, session, notAfter) => session.call("retry_run", { ...repair(run), ...late(notAfter) }),
  },
  "a restart": {
    arrange: aFailedRun,
    make: (run, session, notAfter) => session.call("restart_run", { ...repair(run), ...late(notAfter) }),
  },
  "a fork": {
    arrange: aFailedRun,
    make: (run, session, notAfter) => session.call("fork_run", { ...repair(run), ...late(notAfter) }),
  },
};
const kinds = Object.entries(calls);

function repair({ id: runId }: Run) {
  return { runId, callId: randomUUID(), armed: [soon] };
}

async function aFailedRun(stage: Stage): Promise<Run> {
  const run = await aRunAtWork(stage);
  const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
  const records = [aRecord("step", "a", { isFailure: true })];
  await run.finish(stage.onlooker, { token: "first", records, next: "failed", value: "0{}", failure });
  return run;
}

const advice = /alter role postgres set default_transaction_isolation = 'read committed'/;

describeSomePostgres(
  "a call is refused",
  (database) => {
    const stage = stageOn(database);
    /** Everything that there is. */
    const all = async () => {
      const tables = ["run", "run_state", "record", "pending", "map", "attempt", "signal", "callback", "operation"];
      const parts = tables.map((table) => `(select json_agg(t) from layover.${table} t) as ${table}`);
      return (await stage.look(`select ${parts.join(", ")}`))[0];
    };
    /** Locks the run's rows, and leaves them as they are. */
    const hold = async (session: Session) => {
      await session.query("update layover.run_state set turn = turn");
      await session.query("update layover.pending set turn = turn");
    };

    describe.each(["repeatable read", "serializable"])(
      "in a transaction at %s, where it could not see what it waited for",
      (isolation) => {
        test.each(kinds)("and changes nothing: %s", async (_, { arrange, make }) => {
          const run = await arrange(stage);
          const before = await all();
          const session = await stage.session("blind");
          await session.begin(isolation);
          await expect(make(run, session)).rejects.toMatchObject({
            code: "LO001",
            hint: expect.stringMatching(advice),
          });
          await session.rollback();
          expect(await all()).toEqual(before);
        });
      },
    );

    describe("when it waited for a lock beyond the instant that its sender still counts on", () => {
      const notAfter = noon + 5 * second;

      test.each(kinds)("and changes nothing: %s", async (_, { arrange, make }) => {
        const run = await arrange(stage);
        const before = await all();
        const second = (session: Session) => make(run, session, notAfter);
        const meanwhile = () => stage.clock.set(notAfter + 1);
        await expect(stage.collide({ first: hold, second, meanwhile })).rejects.toMatchObject({ code: "LO002" });
        expect(await all()).toEqual(before);
      });

      test.each(kinds)("but not at that very instant: %s", async (_, { arrange, make }) => {
        const run = await arrange(stage);
        const before = await all();
        const second = (session: Session) => make(run, session, notAfter);
        await stage.collide({ first: hold, second, meanwhile: () => stage.clock.set(notAfter) });
        expect(await all()).not.toEqual(before);
      });

      test("and changes nothing: a start that waited for another one with its user id", async () => {
        const start = (more: object) => (session: Session) =>
          session.call("start_run", { ...aStart(), id: "o1", ...more });
        const both = {
          first: start({}),
          second: start({ notAfter }),
          meanwhile: () => stage.clock.set(notAfter + 1),
          ends: "rollback",
        } as const;
        await expect(stage.collide(both)).rejects.toMatchObject({ code: "LO002" });
        expect(await all()).toMatchObject({ run: null, run_state: null });
      });

      test("with the others of its set, when one of them waited", async () => {
        const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const before = await all();
        const finish = { token: "first", next: "ready" } as const;
        const turns = [run.toFinish(finish), other.toFinish(finish)];
        const both = {
          first: (session: Session) => run.renew(session, "first"),
          second: (session: Session) => session.call("finish_turns", { turns, notAfter }),
          meanwhile: () => stage.clock.set(notAfter + 1),
          ends: "rollback",
        } as const;
        await expect(stage.collide(both)).rejects.toMatchObject({ code: "LO002" });
        expect(await all()).toEqual(before);
      });
    });
  },
  { perTest: true },
);

function late(notAfter: number | undefined): { notAfter?: number } {
  return notAfter === undefined ? {} : { notAfter };
}
