/** Each module of functions/ that serves hands over all workflows, schedules and webhooks: what it forgets never happens on its host. */
import { globSync, readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { shop } from "../../functions/webhooks/shop.ts";
import { schedules, workflows } from "../../functions/workflows/index.ts";

/** The options that a module gave to `serve`. */
let given: unknown;

/** Stands for `serve` of an entry. */
function serve(options: unknown): Readonly<Record<string, unknown>> {
  given = options;
  return { url: "", close: async () => {} };
}

afterEach(() => {
  given = undefined;
  vi.resetModules();
  vi.restoreAllMocks();
  for (const entry of ["layover/node", "layover/lambda", "layover/fetch", "layover/cloudflare"]) vi.doUnmock(entry);
});

const deployments: readonly (readonly [module: string, entry: string, load: () => Promise<unknown>])[] = [
  ["node.ts", "layover/node", () => import("../../functions/node.ts")],
  ["lambda.ts", "layover/lambda", () => import("../../functions/lambda.ts")],
  ["fetch.ts", "layover/fetch", () => import("../../functions/fetch.ts")],
  ["vercel.ts", "layover/fetch", () => import("../../functions/vercel.ts")],
  ["worker.ts", "layover/cloudflare", () => import("../../functions/worker.ts")],
  ["worker-pg.ts", "layover/cloudflare", () => import("../../functions/worker-pg.ts")],
];

test.each(deployments)("functions/%s", async (_, entry, load) => {
  for (const verb of ["on", "once"] as const) vi.spyOn(process, verb).mockReturnThis(); // what node.ts listens to
  vi.spyOn(console, "log").mockReturnValue();
  vi.doMock(entry, () => ({ serve, requireDatabase: async () => {}, LayoverAlarm: class {} }));
  await load();
  expect(given).toMatchObject({
    workflows: workflows.map(({ contract: { name } }) => ({ contract: { name } })),
    schedules: schedules.map(({ name }) => ({ name })),
    webhooks: [{ name: shop.name }],
  });
});

test("no other module of functions/ serves workflows", () => {
  const serving = globSync("functions/*.ts").filter((path) =>
    /import \{[^}]*\bserve\b[^}]*\} from "layover\//.test(readFileSync(path, "utf8")),
  );
  expect(serving.toSorted()).toEqual(deployments.map(([module]) => `functions/${module}`).toSorted());
});
