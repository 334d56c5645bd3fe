/** Makes wishes come true, one after the other. */

import { makeClaim } from "./make-claims.ts";
import {
  makeAdvance,
  makeAlarm,
  makeList,
  makeMove,
  makeNote,
  makePrune,
  makeVoid,
  stagesOf,
} from "./make-clockwork.ts";
import { makeFinish } from "./make-finishes.ts";
import { makePage, makeRenewal, makeReturn } from "./make-leases.ts";
import { makeBatch, makeCrash, makeTurn } from "./make-turns.ts";
import { makeUpgrade } from "./make-upgrades.ts";
import { makeAnswer, makeFlood, makeOperation, makeSignal, makeStart } from "./make-visits.ts";
import type { Script } from "./script.ts";
import type { SingleWish, Wish } from "./wishes.ts";

/** Whether the due instants that stand in the tables must be known before. */
export function seesTables({ kind }: Wish): boolean {
  return kind === "alarm" || kind === "list" || kind === "move";
}

export function make(script: Script, wish: Wish): void {
  switch (wish.kind) {
    case "turn":
      makeTurn(script, wish, (inner) => make(script, inner));
      break;
    case "batch":
      makeBatch(script, wish, (inner) => make(script, inner));
      break;
    case "upgrade":
      makeUpgrade(script, wish, (inner) => make(script, inner));
      break;
    case "tick":
      for (const stage of stagesOf(wish)) make(script, stage);
      break;
    default:
      makeOne(script, wish);
  }
}

function makeOne(script: Script, wish: SingleWish): void {
  switch (wish.kind) {
    case "start":
      makeStart(script, wish);
      break;
    case "claim":
      makeClaim(script, wish);
      break;
    case "finish":
      makeFinish(script, wish);
      break;
    case "crash":
      makeCrash(script, wish);
      break;
    case "renew":
      makeRenewal(script, wish);
      break;
    case "page":
      makePage(script, wish);
      break;
    case "return":
      makeReturn(script, wish);
      break;
    case "signal":
      makeSignal(script, wish);
      break;
    case "flood":
      makeFlood(script, wish);
      break;
    case "answer":
      makeAnswer(script, wish);
      break;
    case "list":
      makeList(script, wish);
      break;
    case "move":
      makeMove(script, wish);
      break;
    case "note":
      makeNote(script, wish);
      break;
    case "void":
      makeVoid(script, wish.isElsewhere);
      break;
    case "prune":
      makePrune(script, wish.isElsewhere);
      break;
    case "alarm":
      makeAlarm(script);
      break;
    case "advance":
      makeAdvance(script, wish);
      break;
    case "operate":
      makeOperation(script, wish);
      break;
  }
}
