/** What a decision to carry out runs at an address, or at one more of them, writes and leaves alone. */
import { expect, test } from "vitest";
import { aStart } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

const main = { environment: "production", endpoint: "db/main" };
const process = {
  id: "00000000-0000-7000-8000-000000000001",
  door: "http://10.0.0.1:3000",
  versions: {},
  gone: [],
  silentMs: 0,
};
const namespaces = ["default", "shop"];

describeEachPostgres(
  "to adopt",
  (database) => {
    const stage = stageOn(database);
    const adopt = async (more: object = {}) => await stage.onlooker.call("adopt_environment", { ...main, ...more });
    const environments = async () =>
      await stage.look(
        `select namespace, name, endpoint, other_endpoints as others, deployment, tried_through is null as is_untried
           from layover.environment order by namespace`,
      );
    const namespacesIn = async (table: string) =>
      (await stage.look(`select namespace from layover.${table} order by namespace`)).map(({ namespace }) => namespace);

    /** Two namespaces, each with a process and a deployment, of which one of a release before had looked at some runs. */
    async function twoNamespaces(): Promise<void> {
      for (const namespace of namespaces) {
        await adopt({ namespace });
        await stage.onlooker.call("note_process", { ...main, ...process, namespace });
        await stage.onlooker.call("note_deployment", {
          ...{ ...main, namespace, deploymentName: "node", deployment: "of now", versions: {}, isExclusive: false },
          note: "deployed",
        });
      }
      await stage.look(
        `update layover.environment set deployment = 'of old', tried_through = '00000000-0000-7000-8000-00000000000f'
           returning namespace`,
      );
    }

    const untouched = {
      ...{ namespace: "shop", name: "production", endpoint: "db/main", others: [] },
      ...{ deployment: "of old", is_untried: false },
    };

    test("one more address is refused in a database that was copied from another one, until this one is adopted", async () => {
      await adopt();
      await stage.look("update layover.environment set identity = 'another' returning name");
      const address = { endpoint: "db/pool", isAddress: true };
      expect(await adopt(address)).toEqual({ outcome: "another_database" });
      expect(await environments()).toMatchObject([{ others: [] }]);
      await adopt();
      expect(await adopt(address)).toEqual({ outcome: "adopted" });
    });

    test("one more address has calls from there carried out, and none from a third one", async () => {
      await adopt();
      await adopt({ endpoint: "db/pool", isAddress: true });
      const start = (endpoint: string) => stage.onlooker.call("start_run", { ...aStart(), ...main, endpoint });
      for (const endpoint of ["db/main", "db/pool"])
        expect(await start(endpoint)).toMatchObject({ outcome: "started" });
      await expect(start("db/third")).rejects.toMatchObject({ code: "LO010" });
    });

    test("one more address adds it once, and has each deployment look at everything", async () => {
      await twoNamespaces();
      for (const endpoint of ["db/pool", "db/direct", "db/pool"])
        expect(await adopt({ endpoint, isAddress: true })).toEqual({ outcome: "adopted" });
      expect(await environments()).toEqual([
        { ...untouched, namespace: "default", others: ["db/direct", "db/pool"], deployment: null, is_untried: true },
        untouched,
      ]);
      expect(await namespacesIn("deployment")).toEqual(["shop"]);
      expect(await namespacesIn("process")).toEqual(namespaces);
    });

    test("an address leaves all as it is where the environment has another name", async () => {
      await twoNamespaces();
      expect(await adopt({ environment: "staging", endpoint: "db/pool", isAddress: true })).toEqual({
        outcome: "another_database",
      });
      expect(await environments()).toEqual([{ ...untouched, namespace: "default" }, untouched]);
      expect(await namespacesIn("deployment")).toEqual(namespaces);
    });

    test("the database forgets all other addresses, deployments and processes of its namespace", async () => {
      await twoNamespaces();
      await adopt({ endpoint: "db/pool", isAddress: true });
      await stage.look(
        `update layover.environment set deployment = 'of old', tried_through = '00000000-0000-7000-8000-00000000000f'
           returning namespace`,
      );
      expect(await adopt({ environment: "staging", endpoint: "db/copy" })).toEqual({ outcome: "adopted" });
      expect(await environments()).toEqual([
        {
          ...{ namespace: "default", name: "staging", endpoint: "db/copy", others: [] },
          ...{ deployment: null, is_untried: true },
        },
        untouched,
      ]);
      expect(await namespacesIn("deployment")).toEqual(["shop"]);
      expect(await namespacesIn("process")).toEqual(["shop"]);
    });

    test.each([
      ["another database", { endpoint: "db/main" }, 'the namespace "default" belongs to another database'],
      [
        "an unknown address",
        { endpoint: "db/pool" },
        'the namespace "default" does not know this database by the address',
      ],
    ])("is asked for by a start of bare SQL in %s, which names no namespace", async (where, more, message) => {
      await adopt();
      if (where === "another database")
        await stage.look("update layover.environment set identity = 'other' returning name");
      const start = JSON.stringify({ workflow: "order", version: 1, ...more });
      await expect(stage.look(`select layover.start_run('${start}')`)).rejects.toThrow(message);
    });
  },
  { perTest: true },
);
