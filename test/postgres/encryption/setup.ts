/** The example of src/postgres/encryption/README.md: test/rooms.test.ts holds that they are the same. */
import { encrypted } from "layover/encryption";
import { pg } from "layover/pg";
import { Pool } from "pg";

const { env } = process;

export const database = encrypted(pg(new Pool({ connectionString: env["DATABASE_URL"] })), {
  current: "k2", // encrypts
  keys: { k2: env["LAYOVER_KEY_2"], k1: env["LAYOVER_KEY_1"] }, // each of them decrypts
  sameness: env["LAYOVER_SAMENESS"], // stays when keys are rotated
});
