/** Calls of schedules and of deliveries that are refused before they change anything: each of them says so itself. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon } from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

const definition = { workflow: "flow", version: 1, everyMs: minute, startAt: noon, encodedInput: "0null" };
const versions = { flow: [1] };
const keyId = "01980000-0000-7000-8000-000000000001";
const armed = [noon + 2 * minute];
const delivery = { webhook: "shop", delivery: "d1", armed };
const place = { environment: "production", endpoint: "db/main" };

interface Call {
  readonly arrange?: (stage: Stage) => Promise<unknown>;
  readonly make: (session: Session, more: object) => Promise<unknown>;
}

const created = (stage: Stage) => stage.onlooker.call("create_schedule", { name: "a", definition, armed });
const declare = (stage: Stage, deploymentName: string, everyMs: number) =>
  stage.onlooker.call("note_deployment", {
    ...place,
    deploymentName,
    deployment: "1",
    note: "deployed",
    versions,
    schedules: { a: { ...definition, everyMs } },
    armed,
  });
/** Lets a minute pass. */
const passed = (stage: Stage) => stage.clock.set(noon + minute);

/** What people and senders call. */
const verbs: Readonly<Record<string, Call>> = {
  "making a schedule": {
    make: (session, more) => session.call("create_schedule", { name: "a", definition, armed, ...more }),
  },
  "pausing a schedule": {
    arrange: created,
    make: (session, more) => session.call("pause_schedule", { name: "a", ...more }),
  },
  "resuming a schedule": {
    arrange: async (stage) => {
      await created(stage);
      await stage.onlooker.call("pause_schedule", { name: "a" });
    },
    make: (session, more) => session.call("resume_schedule", { name: "a", armed, ...more }),
  },
  "triggering a schedule": {
    arrange: created,
    make: (session, more) => session.call("trigger_schedule", { name: "a", runId: randomUUID(), armed, ...more }),
  },
  "deleting a schedule": {
    arrange: created,
    make: (session, more) => session.call("delete_schedule", { name: "a", ...more }),
  },
  "adopting a schedule": {
    arrange: async (stage) => {
      await declare(stage, "server", minute);
      await declare(stage, "worker", 2 * minute);
    },
    make: (session, more) => session.call("adopt_schedule", { name: "a", owner: "worker", armed, ...more }),
  },
  "noting a delivery that is refused": {
    make: (session, more) => session.call("receive_delivery", { ...delivery, refused: "too new", deeds: [], ...more }),
  },
};

const reads: Readonly<Record<string, Call>> = {
  "looking at a schedule": { make: (session, more) => session.call("get_schedule", { name: "a", ...more }) },
  "listing schedules": { make: (session, more) => session.call("list_schedules", more) },
  "looking at a delivery": { make: (session, more) => session.call("get_delivery", { ...delivery, ...more }) },
  "listing deliveries": { make: (session, more) => session.call("list_deliveries", { limit: 1, ...more }) },
};

/** What the scheduler calls. */
const ticks: Readonly<Record<string, Call>> = {
  "looking at a schedule early": {
    arrange: async (stage) => {
      await created(stage);
      await stage.look("update layover.schedule set due_at = layover.now()"); // as an alarm of an earlier calendar left it
    },
    make: (session, more) => session.call("fire_schedules", { names: ["a"], versions, armed, ...more }),
  },
  "looking at kept signals": {
    arrange: async (stage) => {
      const signal = { workflow: "flow", id: "a", signalId: randomUUID(), name: "address", encodedPayload: "0null" };
      await stage.onlooker.call("receive_delivery", { ...delivery, armed: [noon + minute], deeds: [signal] });
      await passed(stage);
    },
    make: (session, more) => session.call("send_kept_signals", { limit: 10, armed, ...more }),
  },
};

describeSomePostgres(
  "a call of schedules or deliveries",
  (database) => {
    const stage = stageOn(database);
    /** Everything that there is. */
    const all = async () => {
      const tables = ["schedule", "scheduled_run", "delivery", "kept_signal", "run"];
      const parts = tables.map((table) => `(select json_agg(t) from layover.${table} t) as ${table}`);
      return (await stage.look(`select ${parts.join(", ")}`))[0];
    };

    describe.each(Object.entries({ ...verbs, ...ticks }))("is refused, and changes nothing: %s", (_, call) => {
      test.each(["repeatable read", "serializable"])(
        "at %s, where it could not see what it waited for",
        async (isolation) => {
          await call.arrange?.(stage);
          const before = await all();
          const session = await stage.session("blind");
          await session.begin(isolation);
          await expect(call.make(session, {})).rejects.toMatchObject({ code: "LO001" });
          await session.rollback();
          expect(await all()).toEqual(before);
        },
      );

      test("after the instant that its sender still counts on", async () => {
        await call.arrange?.(stage);
        const before = await all();
        await expect(call.make(stage.onlooker, { notAfter: noon - 1 })).rejects.toMatchObject({ code: "LO002" });
        expect(await all()).toEqual(before);
        await call.make(stage.onlooker, { notAfter: noon + minute });
        expect(await all()).not.toEqual(before);
      });

      test("if a process is gone in which it is armed", async () => {
        await call.arrange?.(stage);
        const before = await all();
        const rings = [randomUUID()];
        await expect(call.make(stage.onlooker, { rings })).rejects.toMatchObject({ code: "LO011" });
        expect(await all()).toEqual(before);
      });
    });
    test.each(Object.entries({ ...verbs, ...ticks }))(
      "is refused in a database that is not its own, and at an unknown address: %s",
      async (_, call) => {
        await call.arrange?.(stage);
        await stage.onlooker.call("adopt_environment", place);
        const before = await all();
        for (const other of [{ environment: "staging" }, { endpoint: "db/copy" }])
          await expect(call.make(stage.onlooker, { ...place, ...other })).rejects.toMatchObject({ code: "LO010" });
        expect(await all()).toEqual(before);
        await call.make(stage.onlooker, place);
        expect(await all()).not.toEqual(before);
      },
    );

    test.each(Object.entries({ ...verbs, ...reads }))("is refused with a revoked key: %s", async (_, call) => {
      await call.arrange?.(stage);
      await stage.onlooker.call("create_key", { keyId, name: "shop", scopes: ["admin"] });
      await call.make(stage.onlooker, { keyId, namespace: "other" });
      await stage.onlooker.call("revoke_key", { keyId });
      const before = await all();
      await expect(call.make(stage.onlooker, { keyId })).rejects.toMatchObject({ code: "LO005" });
      expect(await all()).toEqual(before);
    });
  },
  { perTest: true },
);
