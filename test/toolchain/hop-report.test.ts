import { expect, test } from "vitest";
import { describeHops, hopReport } from "./hop-report.ts";

test("a build that finds no Postgres says why it measured nothing, and succeeds", async () => {
  const report = await hopReport(() => Promise.reject(new Error("no binaries run here")));
  expect(report).toBe("Hops on the local workerd: not measured, because of an Error: no binaries run here");
});

test("a Postgres that was found is stopped, also where nothing could be measured with it", async () => {
  let stops = 0;
  const stop = async () => {
    stops += 1;
  };
  expect(await hopReport(async () => ({ url: "postgres://127.0.0.1:1/", stop }))).toContain("ECONNREFUSED");
  expect(stops).toBe(1);
});

test("latencies are told by their ways", () => {
  const latencies = [
    { way: "a message a step", ms: 4.04 },
    { way: "ten steps a delivery", ms: 1.6 },
  ];
  expect(describeHops(latencies)).toBe(
    "Hops on the local workerd, for a step of 10 in a row: a message a step 4.0 ms, ten steps a delivery 1.6 ms",
  );
});
