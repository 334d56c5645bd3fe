/**
 * The one order of locks: runs by id; within a run its own row, then its pending rows by path. Each test holds the
 * first row, lets a call run into it that needs the second one too, and finds that the call has not locked that yet.
 */
import { aParkedRun, branches, type Run } from "./runs.ts";
import type { Session, Stage } from "./stage.ts";

export type Calls = Readonly<Record<string, () => Promise<(session: Session) => Promise<unknown>>>>;

/** Tells whether nobody has locked the row. */
export const isFreeOn = (stage: Stage) => async (row: string) =>
  (await stage.look(`select ${row} for update skip locked`)).length === 1;

/** As the planner might choose, for all that it knows of the tables. */
export const plan = async (session: Session, settings: readonly string[]) => {
  for (const setting of settings) await session.query(`set ${setting}`);
};

/** Tells whether the call locks the branches of a run by their paths, and not as their rows lie in the table. */
export async function locksByPath(
  stage: Stage,
  call: (run: Run, session: Session) => Promise<unknown>,
  arrange: (run: Run) => Promise<unknown> = async () => {},
): Promise<boolean> {
  const run = await aParkedRun(stage, branches(["b", "a"]));
  await arrange(run);
  let last: unknown;
  do {
    await stage.onlooker.query("update layover.pending set turn = turn where path = 'a'");
    last = (await stage.look("select path from layover.pending where path in ('a', 'b') order by ctid desc"))[0]?.[
      "path"
    ];
  } while (last !== "a"); // behind the other one, also where rows were deleted ahead of both
  let unlocked: readonly unknown[] = [];
  await stage.collide({
    first: (session) => session.query("select from layover.pending where path = 'a' for update"),
    second: async (session) => {
      for (const scan of ["indexscan", "bitmapscan"]) await session.query(`set enable_${scan} = off`);
      await session.query("discard plans"); // of tests before, whose session this may be
      return await call(run, session);
    },
    meanwhile: async () => {
      unlocked = await stage.look("select from layover.pending where path = 'b' for update skip locked");
    },
  });
  return unlocked.length === 1;
}
