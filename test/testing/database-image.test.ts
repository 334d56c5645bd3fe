import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { expect, onTestFinished, test, vi } from "vitest";
import { openPrepared } from "../../src/testing/database-image.ts";

const timeout = 120_000; // a Postgres is made, which keeps a busy machine at work for long

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "layover-image-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens one, and answers whether it was made anew. */
async function open(folder: string): Promise<"made" | "loaded"> {
  const create = vi.spyOn(PGlite, "create");
  try {
    const database = await openPrepared({ folder });
    const { rows } = await database.query<{ runs: number }>("select count(*)::int as runs from layover.run");
    expect(rows).toEqual([{ runs: 0 }]);
    await database.close();
    return create.mock.calls.some(([options]) => options === undefined) ? "made" : "loaded";
  } finally {
    create.mockRestore();
  }
}

test("a Postgres is made once; a damaged file of it is replaced, and what killed writers left is removed", {
  timeout,
}, async () => {
  const folder = join(aFolder(), "cache");
  expect(await open(folder)).toBe("made");
  const [image = "", ...others] = readdirSync(folder);
  expect(image).toMatch(/^postgres-[0-9a-f]{16}\.tar\.gz$/);
  expect(others).toEqual([]);
  expect(await open(folder)).toBe("loaded");

  const whole = readFileSync(join(folder, image));
  writeFileSync(join(folder, image), whole.subarray(0, whole.length / 2));
  const [abandoned, written] = ["postgres-1.tar.gz.1.draft", "postgres-1.tar.gz.2.draft"];
  for (const draft of [abandoned, written]) writeFileSync(join(folder, draft), "");
  utimesSync(join(folder, abandoned), 0, 0);
  expect(await open(folder)).toBe("made");
  expect(readdirSync(folder).toSorted()).toEqual([image, written].toSorted());
  expect(await open(folder)).toBe("loaded");
});

test("where no file can be written, a Postgres is made each time", { timeout }, async () => {
  const file = join(aFolder(), "file");
  writeFileSync(file, "");
  expect(await open(join(file, "cache"))).toBe("made");
});
