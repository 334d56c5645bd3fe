/**
 * What the codec costs beside JSON alone: `node test/core/codec/codec.bench.ts`, in ns per call, best of six.
 *
 *     Node 24, 2 shared cores               encode   JSON.stringify      decode   JSON.parse
 *     {ok:true,n:1}                            141               78         170          140
 *     an order of 9 values                     865              305         910          718
 *     Date, Map, Set, bigint, undefined      1,831                –       2,091            –
 *     5,000 objects, 300 kB              2,578,000          693,000   1,929,000    1,498,000
 */

import { decode, encode } from "../../../src/core/codec/codec.ts";

const small = { ok: true, n: 1 };
const order = {
  charge: "ch_123456",
  amount: 4_200,
  items: [
    { sku: "a-1", count: 2 },
    { sku: "b-2", count: 1 },
  ],
  address: { street: "Some street 12", city: "Bern", zip: "3000" },
};
const rich = { at: new Date(0), scores: new Map([["a", 1n]]), tags: new Set(["b"]), none: undefined };
const list = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `item ${id}`, tags: ["x", "y"], note: 'a "note"' }));

const calls = 200_000;
/** So that no call can be left out. */
let sink: unknown;

function nanoseconds(times: number, call: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 6; round++) {
    const start = performance.now();
    for (let time = 0; time < times; time++) sink = call();
    best = Math.min(best, ((performance.now() - start) * 1e6) / times);
  }
  return Math.round(best);
}

for (const [name, value, times] of [
  ["{ok:true,n:1}", small, calls],
  ["an order of 9 values", order, calls / 2],
  ["Date, Map, Set, bigint, undefined", rich, calls / 4],
  ["5,000 objects, 300 kB", list, 20],
] as const) {
  const text = encode(value);
  const json = text.slice(1);
  console.table({
    [name]: {
      encode: nanoseconds(times, () => encode(value)),
      "JSON.stringify": value === rich ? "-" : nanoseconds(times, () => JSON.stringify(value)),
      decode: nanoseconds(times, () => decode(text)),
      "JSON.parse": value === rich ? "-" : nanoseconds(times, () => JSON.parse(json)),
    },
  });
}
if (sink === undefined) throw new Error("nothing was measured");
