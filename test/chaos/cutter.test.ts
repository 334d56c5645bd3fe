import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { Cutter } from "./cutter.ts";

describe("a connection that is cut at a statement", () => {
  const database = testDatabase({ isEmpty: true, isOwn: true });
  let cutter: Cutter;
  let client: Client;
  const count = async () => (await database.pool.query("select count(*)::integer as count from note")).rows[0]?.count;
  const note = (text: string) => client.query({ name: "note", text: "insert into note values ($1)", values: [text] });

  beforeEach(async () => {
    await database.pool.query("create table note (text text)");
    cutter = await Cutter.open({ to: database.url });
    client = new Client(cutter.url);
    client.on("error", () => {});
    await client.connect();
  });
  afterEach(() => cutter.close());

  test("before it has done nothing", async () => {
    cutter.arm("before", /insert into note/);
    await expect(note("lost")).rejects.toThrow("terminated");
    expect(await count()).toBe(0);
    expect([...cutter.made]).toEqual([["before insert into note values ($1)", 1]]);
  });

  test("after it has committed it, and who sent it does not know", async () => {
    cutter.arm("after", /insert into note/);
    await expect(note("kept")).rejects.toThrow("terminated");
    expect(await count()).toBe(1);
  });

  test("during it has been sent", async () => {
    cutter.arm("during", /insert into note/);
    await expect(note("somewhere")).rejects.toThrow("terminated");
    await expect.poll(count).toBe(1);
  });

  test("that goes silent is neither answered nor closed, and new ones work when it is over", async () => {
    await note("first");
    cutter.silence();
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    note("lost").then(end, end);
    const other = new Client(cutter.url);
    other.on("error", () => {});
    other.connect().then(end, end);
    expect(await count()).toBe(1);
    cutter.speak();
    const later = new Client(cutter.url);
    await later.connect();
    await later.query("insert into note values ('later')");
    await later.end();
    expect(await count()).toBe(2);
    expect(isOver).toBe(false);
  });

  test("knows a statement that was prepared before, and leaves all others alone", async () => {
    await note("first");
    cutter.arm("before", /insert into note/);
    await client.query("select 1");
    await client.query("select count(*) from note where text = $1", ["first"]);
    await expect(note("second")).rejects.toThrow("terminated");
    expect(await count()).toBe(1);
  });
});
