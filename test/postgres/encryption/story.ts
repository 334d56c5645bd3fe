/** A story in which a value crosses to the database at every place where one can. Each value has the word in it. */
import { NonRetryableError, type Step, schedule, workflow } from "layover";
import { signal, start } from "layover/webhooks";
import * as z from "zod";
import type { Query } from "../../../src/core/ports.ts";
import { seal } from "../../engine/process.ts";
import { World } from "../../engine/world.ts";
import type { WorldOptions } from "../../engine/world-options.ts";
import { order as shopOrder } from "../../http/an-app.ts";
import { anAppWith, aShop } from "../../http/webhooks/a-webhook.ts";
import type { TestDatabase } from "../database.ts";

/** A word that stands in every value, and nowhere else. */
export const word = "tulip";

const Text = z.object({ text: z.string() });
const text = (of: string) => ({ text: `${word} ${of}` });

const gift = workflow({ name: "gift", version: 1, input: Text, output: Text });
export const order = workflow({
  name: "order",
  version: 1,
  input: Text,
  output: z.array(Text),
  signals: { address: Text },
  callbacks: { approval: Text },
});
const lap = workflow({ name: "lap", version: 1, input: z.object({ left: z.number(), text: z.string() }) });
const trip = workflow({ name: "trip", version: 1, input: Text });
const nap = workflow({ name: "nap", version: 1, input: Text });
const sale = workflow({ name: "sale", version: 1, input: Text });
const report = workflow({ name: "report", version: 1, input: Text });

const gifts = gift.handler(({ input, step }) => step.run("wrap", () => text(`wrapped for ${input.text}`)));

const orders = order.handler(async ({ input, step }) => {
  step.setStatus(text("status"));
  const charge = await step.run(
    "charge",
    ({ attempt }) => {
      if (attempt === 1) throw Object.assign(new Error(`${word} declined`), { data: text("data") });
      return text(`charge of ${input.text}`);
    },
    { retry: { delay: "1s", jitter: false } },
  );
  const approval = await step.waitForCallback("approval", () => text("announced"));
  const address = await step.waitForSignal("address");
  const wrapped = await step.invoke("wrap", gift, text("child"));
  await step.start("thank", gift, text("detached"));
  const parcels = await step.map("ship", ["a", "b"], (item, { step }) =>
    step.run("send", ({ attempt }) => {
      if (attempt === 1) throw new Error(`${word} lost in ${item}`);
      return text(`parcel ${item}`);
    }),
  );
  return [charge, approval, address, wrapped, ...parcels];
});

const laps = lap.handler(async ({ input, step }) => {
  if (input.left === 0) return undefined;
  await step.sleep("round", "1 minute");
  return await step.continueAsNew({ left: input.left - 1, text: `${word} lap` });
});

const book = (step: Pick<Step, "run">) =>
  step.run("book", () => text("booked"), {
    compensate: {
      run: () => {
        throw new Error(`${word} undo`);
      },
      retry: { maxAttempts: 2, delay: "1s", jitter: false },
    },
  });

/** The trip fails, since nobody takes its payment. Its booking is undone, and so is the step that was to be tried again. */
const trips = trip.handler(async ({ step }) => {
  await book(step);
  const hold = step.run("hold", () => Promise.reject(new Error(`${word} busy`)), {
    retry: { delay: "1 hour" },
    compensate: () => undefined,
  });
  await Promise.all([
    hold,
    step.sleep("later", "1 minute").then(() => {
      return step.run("pay", () => Promise.reject(new NonRetryableError(`${word} refused`)));
    }),
  ]);
});

/** Fails, and is neither undone nor over: somebody gives the result. */
const naps = nap.handler(async ({ step, input }) => {
  const first = await step.run("first", () => text("first"));
  const second = await step.run("second", () => {
    throw new NonRetryableError(`${word} nap ${input.text}`);
  });
  await step.sleep("sleep", "10 days");
  return [first, second];
});

/** Fails while its charge is at work, so it closes until that has ended. */
const sales = (world: () => World) =>
  sale.handler(async ({ step }) => {
    const charge = step.run("charge", () => world().foreign("2 minutes"), {
      timeout: "10 minutes",
      compensate: () => undefined,
    });
    await Promise.all([charge, step.run("reserve", () => Promise.reject(new NonRetryableError(`${word} sold out`)))]);
  });

const reports = report.handler(({ step }) => step.run("write", () => text("report")));

export const workflows = [gifts, orders, laps, trips, naps, reports];
const schedules = [
  schedule({ name: "fixed", cron: "0 * * * *", start: report, input: text("scheduled") }),
  schedule({ name: "made", cron: "30 * * * *", start: report, input: () => text("computed") }),
];

/** Tells the story, and answers its world. `look` is called after each chapter. */
export async function tellStory(
  database: TestDatabase,
  query: Query,
  options: Partial<WorldOptions>,
  look: () => Promise<void>,
): Promise<World> {
  const build = { workflows: [...workflows, sales(() => world)], schedules, deployment: { name: "server", id: "a" } };
  const world: World = await World.begin(database, { ...build, ...options });
  await world.tick();
  for (const tell of [tellOrder, tellClosing, tellRepairs, tellPeople, tellBlocked, () => tellDeliveries(query)]) {
    await tell(world);
    await look();
  }
  return world;
}

async function tellOrder(world: World): Promise<void> {
  const run = await world.start(order, text("input"), { id: "o1" });
  await world.pass("2 minutes");
  await approve(world, run.runId);
  await approve(world, run.runId);
  await world.signal(run, order, "address", text("address"));
  await world.start(lap, { left: 2, text: `${word} first lap` });
  await world.start(trip, text("trip"), { id: "t1" });
  await world.pass("2 hours");
}

async function tellClosing(world: World): Promise<void> {
  await world.start(sale, text("closing"));
  await world.pass("30 seconds");
}

/** Answers the callback of an order. */
export async function approve(world: World, runId: string): Promise<void> {
  const place = { path: "approval", occurrence: 1, name: "approval" };
  const { token } = seal({ ...place, runId, epoch: 0, workflow: "order", version: 1, madeAt: 0 });
  await world.ask((client) => client.resolveCallback(token, text("approved"), { contract: order }));
}

async function tellRepairs(world: World): Promise<void> {
  const run = await world.start(nap, text("input"));
  await world.pass("1 minute");
  const results = { second: text("given") };
  await world.ask((client) => client.retry(run.runId, { results, reason: `${word} retried` }));
  await world.pass("1 minute");
  await world.ask((client) => client.cancel(run.runId, { by: "ada", reason: `${word} cancelled` }));
  await world.pass("1 minute");
  await world.ask((client) =>
    client.restart(run.runId, { contract: nap, input: text("again"), reason: `${word} anew` }),
  );
  await world.pass("1 minute");
  await world.ask((client) => client.fork(run.runId, { contract: nap, input: text("forked") }));
  await world.pass("1 minute");
}

async function tellPeople(world: World): Promise<void> {
  const reason = `${word} by a person`;
  await world.ask((client) => client.pauseWorkflow("nap", { reason }));
  const options = { cron: "0 5 * * *", input: text("made at run time") };
  await world.ask((client) => client.schedules.create("daily", report, options));
  await world.ask((client) => client.schedules.pause("daily", { reason }));
  const ended = await world.start(order, text("terminated"));
  await world.ask((client) => client.pause(ended.runId, { reason }));
  await world.ask((client) => client.resume(ended.runId, { reason }));
  await world.pass("1 minute");
  await world.ask((client) => client.terminate(ended.runId, { reason }));
  await world.ask((client) => client.cancelRuns({ workflow: "lap" }, { reason }));
  const deleted = await world.start(gift, text("deleted"));
  await world.pass("1 minute");
  await world.ask((client) => client.delete(deleted.runId, { reason }));
  await world.pass("1 minute");
}

/** A run that is blocked for a reason with a value in it: no deployment that is alive has code that fits. */
async function tellBlocked(world: World): Promise<void> {
  const run = await world.start(order, text("blocked"));
  await world.pass("2 minutes");
  const other = order.handler(async ({ step }) => {
    await step.run(`${word} charge`, () => 1);
    return [];
  });
  const others = [...workflows.filter(({ contract }) => contract !== order), other];
  await world.deploy({ workflows: others, deployment: { name: "server", id: "b" } });
  await approve(world, run.runId);
  await world.pass("2 minutes");
  await world.deploy({ workflows: others, deployment: { name: "server", id: "c" } });
  await world.pass("2 minutes");
}

async function tellDeliveries(query: Query): Promise<void> {
  const shop = aShop(({ event }) => {
    if (event.type === "broken") throw new Error(`${word} broken`);
    return event.type === "paid"
      ? start(shopOrder, { id: `${word} ${event.order}` }, { id: event.order })
      : signal(shopOrder, { id: event.order }, "address", { city: `${word} city` });
  });
  const app = anAppWith(query, shop);
  await app.deliver("d1", { type: "paid", order: "o1", note: word });
  await app.deliver("d2", { type: "moved", order: "o1", note: word });
  await app.deliver("d3", { type: "moved", order: "later", note: word });
  await app.deliver("d4", { type: "broken", order: "o1", note: word });
}
