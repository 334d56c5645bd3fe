/** Opens a data folder, writes row after row, and says each number once it is committed. For embedded.test.ts. */
import { openEmbedded } from "../../src/postgres/embedded.ts";

const { query } = await openEmbedded(process.argv[2] ?? "");
await query("create table if not exists row (id integer primary key, payload text not null)");
const [last] = await query("select coalesce(max(id), 0) as id from row");
process.stdout.write("open\n");
for (let id = Number(last?.["id"]) + 1; ; id++) {
  await query("insert into row values ($1, repeat('x', 2000))", [id]);
  await query("update row set payload = repeat('y', 2000) where id = $1", [id]);
  process.stdout.write(`${id}\n`);
}
