import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createApiKey, openApiKey, readApiKey } from "../../src/http/api-key.ts";
import { serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { aFolder, layover, secret, secrets } from "./layover.ts";
import { napWorkflow } from "./workflows.ts";

const otherSecret = "YW5vdGhlciBzZWNyZXQsIHdoaWNoIGlzIGxvbmcgZW5vdWdoIHRvIGJlIG9uZQ";
const Listed = z.object({ keyId: z.string(), state: z.string() });

describe("layover keys", () => {
  const database = testDatabase();
  const env = (further: Readonly<Record<string, string>> = {}) => ({
    DATABASE_URL: database.url,
    LAYOVER_SECRET: secret,
    ...further,
  });

  test("shows the key of the alarm, which is derived from the secret, and asks no database for it", async () => {
    const shown = await layover(["keys", "alarm"], { env: { LAYOVER_SECRET: secret } });
    expect(shown).toEqual({ status: 0, stdout: `${secrets.keyFor("alarm")}\n`, stderr: "" });
    expect(await layover(["keys", "alarm"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("LAYOVER_SECRET is not set"),
    });
  });

  test("makes a key that a server takes until it is revoked", async () => {
    const made = await layover(["keys", "create", "shop", "--scopes", "start,read", "--expires", "90d"], {
      env: env(),
    });
    expect(made.status).toBe(0);
    expect(made.stderr).toMatch(
      /^The key "shop" may start, read, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\. It is shown this once:\n$/,
    );
    const key = made.stdout.trim();
    const { keyId = "" } = openApiKey(secrets, key, { namespace: "default" }) ?? {};

    const server = await serve({ workflows: [napWorkflow], database: database.query, secrets: [secret], port: 0 });
    try {
      const call = { env: env({ LAYOVER_URL: server.url, LAYOVER_KEY: key }) };
      expect(await layover(["runs"], call)).toMatchObject({
        status: 0,
        stdout: "There is no run yet. Start one: layover start WORKFLOW\n",
      });
      // What leaked is the key: it names itself.
      expect(await layover(["keys", "revoke", key], { env: env() })).toEqual({
        status: 0,
        stdout: `Revoked "shop" (${keyId}).\n`,
        stderr: "",
      });
      expect(await layover(["runs"], call)).toEqual({
        status: 1,
        stdout: "",
        stderr: `The deployment at ${server.url} does not take this LAYOVER_KEY: the API key was revoked.\nlayover doctor finds out why.\n`,
      });
    } finally {
      await server.close();
    }
    const [people, programs] = await Promise.all([
      layover(["keys", "list"], { env: env() }),
      layover(["keys", "list", "--json"], { env: env() }),
    ]);
    expect(people.stdout).toMatch(
      /^NAME +STATE +SCOPES +CREATED +UNTIL +ID\nshop +revoked +start,read +[-\d]{10} +[-\d]{10} /,
    );
    expect(JSON.parse(programs.stdout)).toMatchObject([
      { keyId, name: "shop", scopes: ["start", "read"], state: "revoked" },
    ]);
  });

  test("takes a file's environment only with that file's secret and database", async () => {
    const folder = aFolder();
    writeFileSync(join(folder, ".dev.vars"), `LAYOVER_SECRET=${otherSecret}\nLAYOVER_ENVIRONMENT=development\n`);
    const create = async (name: string, given: Readonly<Record<string, string>>) => {
      const { stdout, stderr } = await layover(["keys", "create", name, "--scopes", "read"], { env: given, folder });
      return { environment: readApiKey(stdout.trim())?.environment, stderr };
    };
    const deployed = await create("deployed", env());
    expect(deployed.environment).toBeUndefined(); // it counts in the default one
    expect(deployed.stderr).toContain(
      'The environment is taken to be "default". The LAYOVER_ENVIRONMENT in .dev.vars does not count, because LAYOVER_SECRET is set elsewhere.\n',
    );
    const named = await create("named", env({ LAYOVER_ENVIRONMENT: "production" }));
    expect(named.environment).toBe("production");
    writeFileSync(join(folder, ".dev.vars"), `DATABASE_URL=${database.url}\n`, { flag: "a" });
    const local = await create("local", {});
    expect(local.environment).toBe("development");
  });

  test("revokes a key in its own namespace, whichever it is asked from", async () => {
    const shop = env({ LAYOVER_NAMESPACE: "shop" });
    const key = (await layover(["keys", "create", "till", "--scopes", "read"], { env: shop })).stdout.trim();
    const { keyId = "" } = readApiKey(key) ?? {};
    const statesIn = async (env: Readonly<Record<string, string>>) => {
      const { stdout } = await layover(["keys", "list", "--json"], { env });
      return z
        .array(Listed)
        .parse(JSON.parse(stdout))
        .filter((listed) => listed.keyId === keyId);
    };

    expect(await layover(["keys", "revoke", keyId], { env: env() })).toEqual({
      status: 1,
      stdout: "",
      stderr:
        `The key ${keyId} was made in the namespace "shop", and LAYOVER_NAMESPACE says "default".\n` +
        `Revoke it there: LAYOVER_NAMESPACE=shop layover keys revoke ${keyId}\n`,
    });
    expect(await statesIn(shop)).toMatchObject([{ state: "counts" }]);

    expect(await layover(["keys", "revoke", `${key}\n`], { env: env() })).toEqual({
      status: 0,
      stdout: `Revoked "till" (${keyId}) in its own namespace, "shop".\n`,
      stderr: "",
    });
    expect(await statesIn(shop)).toMatchObject([{ state: "revoked" }]);
    expect(await statesIn(env())).toEqual([]);
  });

  test("writes an id down as revoked that nobody made here, and says that nobody did", async () => {
    const keyId = v7();
    const { stdout, status } = await layover(["keys", "revoke", keyId], { env: env() });
    expect(status).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^No key with the id ${keyId} was made in the namespace "default" of \\S+/\\w+\\. It is written down as revoked there nevertheless\\.\\n` +
          "If it counts still, look at DATABASE_URL and LAYOVER_NAMESPACE\\.\\n$",
      ),
    );
    const program = await layover(["keys", "revoke", v7(), "--json"], { env: env() });
    expect(JSON.parse(program.stdout)).toMatchObject({
      outcome: "revoked",
      namespace: "default",
      keys: [{ name: null }],
    });
  });

  test("never shows a key that it cannot read", async () => {
    const key = createApiKey(secrets, { name: "shop", namespace: "default", scopes: ["read"] });
    const damaged = [key.slice(0, -50), key.replace("_", ""), `x${key}`, `lok_${key}`];
    const said = await Promise.all(damaged.map((text) => layover(["keys", "revoke", text], { env: env() })));
    for (const { status, stdout, stderr } of said) {
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toMatch(
        /^(What begins with lok_ is no whole key|There is no key named "\S{12}…" that counts)\.\n/,
      );
      expect(stderr).not.toContain(key.slice(10, 40));
    }
  });

  test("says what is wrong, and what to do", async () => {
    await layover(["keys", "create", "ci", "--scopes", "read"], { env: env() });
    const cases: readonly (readonly [readonly string[], string, Readonly<Record<string, string>>?])[] = [
      [
        ["create", "ci", "--scopes", "read"],
        'There is a key named "ci", and it counts.\nRevoke it (layover keys revoke ci), or give this one another name.\n',
      ],
      [
        ["create", "x", "--scopes", "read,write"],
        '"write" is no scope.\nThe scopes are start, read, signal, callbacks, export, admin: --scopes start,read\n',
      ],
      [
        ["create", "x"],
        "Required option '--scopes <list>' not specified.\nlayover keys create --help says what there is.\n",
      ],
      [["create", "x", "--scopes", "read", "--expires", "soon"], '--expires: "soon" is not a duration.\n'],
      [
        ["create", "x", "--scopes", "read", "--expires", "0s"],
        "The key would count never: --expires is 0s.\nGive how long it is to count, such as --expires 90d, or leave it out.\n",
      ],
      [
        ["list"],
        'LAYOVER_NAMESPACE does not do: the namespace "my shop" is not a plain identifier.\nUse 1 to 63 letters',
        { LAYOVER_NAMESPACE: "my shop" },
      ],
      [
        ["create", "x", "--scopes", "read"],
        "LAYOVER_SECRET is not set, and it signs the key.\n",
        { LAYOVER_SECRET: "" },
      ],
      [
        ["create", "x", "--scopes", "read"],
        "A root secret holds 3 bytes, and 32 are needed.\n",
        { LAYOVER_SECRET: "weak" },
      ],
      [["revoke", "nobody"], 'There is no key named "nobody" that counts.\nlayover keys list shows all'],
      [["lost"], "Unknown command 'lost'.\n"],
    ];
    const said = await Promise.all(cases.map(([args, , further]) => layover(["keys", ...args], { env: env(further) })));
    for (const [index, [, expected]] of cases.entries()) {
      expect(said[index]).toMatchObject({ status: 1, stdout: "" });
      expect(said[index]?.stderr).toContain(expected);
    }
  });
});
