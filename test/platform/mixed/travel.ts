/**
 * Is loaded before a process of a host, so that a test turns its clock: the file that `CLOCK_FILE` names says by how many
 * milliseconds it is ahead. It is read whenever somebody asks for the time, as an environment of Lambda's is frozen while the
 * clock is turned.
 */
import { openSync, readSync } from "node:fs";
import { turnedTimeout } from "./turned-time.ts";

const file = openSync(process.env["CLOCK_FILE"] ?? "", "r");
const ahead = new Float64Array(1);

function aheadMs(): number {
  readSync(file, ahead, 0, ahead.byteLength, 0);
  return ahead[0] ?? 0;
}

const now = Date.now;
Date.now = () => now() + aheadMs();
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + aheadMs();

const { setTimeout } = globalThis;
const turned = <Args extends readonly unknown[]>(act: (...args: Args) => void, ms?: number, ...args: Args) =>
  turnedTimeout(performance.now, () => act(...args), ms);
globalThis.setTimeout = Object.assign(turned, setTimeout);
