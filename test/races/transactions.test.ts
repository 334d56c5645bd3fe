/** The transaction of a step, and what comes at the same time: what its body wrote and its record are both there, or neither is. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRecord, aRunAtWork, minute, noon, type Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

interface Subject {
  readonly begin: () => Promise<Run>;
  readonly token: string;
  readonly turn: (run: Run) => object;
  readonly takeOver: (run: Run, session: Session) => Promise<unknown>;
  readonly renew: (run: Run, session: Session) => Promise<unknown>;
  readonly finish: (run: Run, session: Session) => Promise<unknown>;
}

interface Rival {
  readonly does: (subject: Subject, run: Run, session: Session) => Promise<unknown>;
  /** How often the body's write and the record are there, where the rival committed first. */
  readonly first: 0 | 1;
}

const once = { first: 1 } as const;
const never = { first: 0 } as const;
const operate = (verb: "cancel" | "pause" | "terminate") => (_: Subject, run: Run, session: Session) =>
  run.operate(session, verb);
const rivals: Readonly<Record<string, Rival>> = {
  "somebody who takes the turn over": { does: (subject, run, session) => subject.takeOver(run, session), ...never },
  "an ordinary finish of the turn": { does: (subject, run, session) => subject.finish(run, session), ...never },
  "a terminate": { does: operate("terminate"), ...never },
  "a cancel": { does: operate("cancel"), ...once },
  "a pause": { does: operate("pause"), ...once },
  "a signal": { does: (_, run, session) => run.signal(session, "address"), ...once },
  "a renewal of the lease": { does: (subject, run, session) => subject.renew(run, session), ...once },
};

describeSomePostgres(
  "the transaction of a step",
  (database) => {
    const stage = stageOn(database);
    const subjects: Readonly<Record<string, Subject>> = {
      "in the run's own turn": {
        begin: () => aRunAtWork(stage),
        token: "first",
        turn: (run) => run.toFinish({ token: "first", next: "ready", records: [aRecord("step", "book")] }),
        takeOver: (run, session) => run.claim(session, { token: "another one" }),
        renew: (run, session) => run.renew(session, "first"),
        finish: (run, session) => run.finish(session, { token: "first", next: "ready" }),
      },
      "in a branch": {
        begin: () => aFanOut(stage, ["book", "other"]),
        token: "book",
        turn: (run) => run.toFinishBranch("book", { token: "book" }),
        takeOver: (run, session) => run.claimBranch(session, "book", { token: "another one" }),
        renew: (run, session) => run.renew(session, "book", { path: "book" }),
        finish: (run, session) => run.finishBranch(session, "book", { token: "book", setback: "slow" }),
      },
    };

    describe.each(Object.entries(subjects))("%s", (_, subject) => {
      /** A run at work, and a table of the user's own. */
      const arrange = async () => {
        await stage.look("create table public.ledger (place text not null)");
        return await subject.begin();
      };
      const carryOut = async (run: Run, session: Session) => {
        await session.query("insert into public.ledger (place) values ('book')");
        const call = { ...terms, turn: subject.turn(run), notAfter: noon + 10 * minute };
        return await session.call("finish_once", call);
      };
      test("is ended with its session once its alarms may have rung in vain", async () => {
        const run = await arrange();
        const session = await stage.session("slow");
        await session.begin();
        await carryOut(run, session);
        const [row] = await session.query("select current_setting('idle_in_transaction_session_timeout') as limit");
        expect(row).toEqual({ limit: "10min" });
        await session.rollback();
      });

      test("leaves other runs where their handlers have seen their histories", async () => {
        const [run, other] = [await arrange(), await subject.begin()];
        await stage.onlooker.query("update layover.run_state set handed_position = 7 where run_id = $1", [other.id]);
        await carryOut(run, stage.onlooker);
        const seen = "select handed_position from layover.run_state where run_id = $1";
        expect(await stage.look(seen, [other.id])).toEqual([{ handed_position: 7 }]);
      });

      test("waits for no lock of another run", async () => {
        const [run, other] = [await arrange(), await subject.begin()];
        await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
        await stage.onlooker.query("set statement_timeout = '5s'");
        expect(await carryOut(run, stage.onlooker)).toMatchObject({ outcome: "finished" });
      });

      test("is refused where it would not see what others commit meanwhile", async () => {
        const run = await arrange();
        const session = await stage.session("blind");
        await session.begin("repeatable read");
        await expect(carryOut(run, session)).rejects.toMatchObject({ code: "LO001" });
        await session.rollback();
      });

      test("is refused where it is armed in a process that is not listed", async () => {
        const run = await arrange();
        const call = { ...terms, turn: subject.turn(run), notAfter: noon + minute, rings: [randomUUID()] };
        await expect(stage.onlooker.call("finish_once", call)).rejects.toMatchObject({ code: "LO011" });
      });

      /** The whole transaction, as a driver carries it out. Answers the code of the error that rolled it back. */
      const transact = async (run: Run, session: Session): Promise<unknown> => {
        await session.begin();
        try {
          const { outcome } = await carryOut(run, session);
          await session.commit();
          return outcome;
        } catch (error) {
          await session.rollback();
          return error instanceof Error && "code" in error ? error.code : error;
        }
      };
      const written = async (run: Run) => {
        const ledger = await stage.look("select from public.ledger");
        return [ledger.length, (await run.kinds()).filter((record) => record.endsWith(" book")).length];
      };

      test.each(["commit", "rollback"] as const)("that waits for the same one: %s", async (ends) => {
        const run = await arrange();
        const [, told] = await stage.collide({
          first: (session) => carryOut(run, session),
          second: (session) => transact(run, session),
          ends,
        });
        expect([told, await written(run)]).toEqual([ends === "commit" ? "LO013" : "finished", [1, 1]]);
      });

      describe.each(Object.entries(rivals))("and %s", (name, { does, first }) => {
        const lapse = async () => {
          if (name.startsWith("somebody")) await stage.clock.advance(2 * minute);
        };

        test.each(["commit", "rollback"] as const)("that it waits for: %s", async (ends) => {
          const run = await arrange();
          await lapse();
          const [, told] = await stage.collide({
            first: (session) => does(subject, run, session),
            second: (session) => transact(run, session),
            ends,
          });
          const times = ends === "commit" ? first : 1;
          expect([told, await written(run)]).toEqual([times === 1 ? "finished" : "LO013", [times, times]]);
        });

        test.each(["commit", "rollback"] as const)("that waits for it: %s", async (ends) => {
          const run = await arrange();
          await lapse();
          await stage.collide({
            first: (session) => carryOut(run, session),
            second: (session) => does(subject, run, session),
            ends,
          });
          const times = ends === "commit" ? 1 : 0;
          expect(await written(run)).toEqual([times, times]);
        });
      });
    });
  },
  { perTest: true },
);
