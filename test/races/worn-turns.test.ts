/** A turn that ends its processes again and again is given up by the claim that finds it so: it is tried again later, or its run is blocked. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import { aRunAtWork, minute, noon, type Run, second, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run whose turn is worn",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
      ],
    });
    const { write, set } = rowsOn(stage);
    const row = async (run: Run) =>
      (
        await stage.look(
          `select status, turn, token, leased_until, claims, beginnings, lost, spared, lost_token, blocked,
              layover.show_ready_at(ready_at)::float8 as ready, layover.to_ms(due_at)::float8 as due from layover.run_state where run_id = $1`,
          [run.id],
        )
      )[0];
    const inSeconds = (count: number) => `layover.now() + interval '${count} s'`;
    /** Its lease of the first turn is over, as five others were before. */
    let run: Run;
    beforeEach(async () => {
      run = await aRunAtWork(stage);
      await stage.clock.advance(minute);
      await set(run, "claims = 51, beginnings = 6, lost = 5, spared = 1");
    });
    const now = noon + minute;
    const retriedAt = now + minute;
    const claim = (more: object = {}) => run.claim(stage.onlooker, { token: "next", groupSize: 1, ...more });
    /** It was tried again as often as it may be. */
    const spend = () =>
      write("setback", run, {
        ...{ path: "''", occurrence: "1", turn: "1", reason: "'why'", tries: "4" },
        ...{ since: "layover.now()", until: "layover.now()" },
      });
    const again = {
      ...{ status: "parked", turn: 2, token: null, leased_until: null, claims: 0, beginnings: terms.maxBeginnings - 1 },
      ...{ lost: 6, spared: 1, lost_token: tokenOf("first"), blocked: null, ready: retriedAt },
    };

    test("is parked until it is tried again, and looked at by the next tick", async () => {
      await set(run, `due_at = ${inSeconds(3600)}`);
      expect(await claim()).toEqual({ outcome: "not_ready", readyAt: null });
      expect(await row(run)).toEqual({ ...again, due: now });
    });

    describe("is looked at", () => {
      test.each([
        ["when it was to be looked at", 59, now + 59 * second],
        ["when it was to be looked at, which is when it is tried again", 60, retriedAt],
        ["by the next tick, where that is earlier", 61, now],
      ])("%s: %#", async (_, due, expected) => {
        await set(run, `due_at = ${inSeconds(due)}`);
        await claim();
        expect(await row(run)).toEqual({ ...again, due: expected });
      });

      test("again, and tried no later, where it reaches its timeout before", async () => {
        await set(run, `due_at = ${inSeconds(31)}, timeout_at = ${inSeconds(30)}`);
        await claim();
        expect(await row(run)).toEqual({ ...again, ready: now + 30 * second, due: now });
      });
    });

    test("counts its beginnings as they are, where these are few, and nobody spared it before it lost a lease", async () => {
      await set(
        run,
        `beginnings = 2, lost = 0, spared = 3, token = null, leased_until = null, status = 'parked', ready_at = 'epoch', lost_token = '${tokenOf("old")}'`,
      );
      await stage.onlooker.query("update layover.run_state set lost = 4, spared = 0 where run_id = $1", [run.id]);
      await claim();
      const left = { ...again, beginnings: 2, lost: 4, spared: 0, lost_token: tokenOf("old") };
      expect(await row(run)).toMatchObject(left);
    });

    test("is blocked where it was tried again often enough, and is looked at no more", async () => {
      await spend();
      await set(run, `due_at = ${inSeconds(1)}, ready_at = ${inSeconds(-1)}`);
      expect(await claim()).toEqual({ outcome: "blocked" });
      expect(await row(run)).toEqual({
        ...again,
        ...{ beginnings: 0, lost: 0, ready: now - second, due: null },
        blocked: "6 invocations in a row began turn 1 and never finished it",
      });
    });

    test("is another one, and no other run is changed", async () => {
      const other = await aRunAtWork(stage);
      await set(other, "claims = 51, beginnings = 6, lost = 5, spared = 1");
      const before = await row(other);
      await claim();
      expect(await row(other)).toEqual(before);
    });

    test("goes on where it is not known that it goes alone", async () => {
      await set(run, "lost = 0, spared = 0");
      expect(await claim()).toMatchObject({ outcome: "claimed" });
      expect(await row(run)).toMatchObject({
        lost: 1,
        spared: 0,
        claims: 51,
        lost_token: tokenOf("first"),
        due: expect.anything(),
      });
    });
  },
  { perTest: true },
);
