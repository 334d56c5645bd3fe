/** Carries out the turns for which the function `turns` was invoked. */
import { shownMessage } from "../invocation/turn-message.ts";
import { readTurnsEvent } from "./messages.ts";
import type { LambdaContext } from "./options.ts";
import type { ServedFunctions } from "./served-functions.ts";

/**
 * Never rejects. Lambda need not invoke it again: a turn that could not be claimed is due at an instant for which an alarm
 * stands.
 */
export async function onTurns(served: ServedFunctions, event: unknown, context: LambdaContext): Promise<void> {
  const { environment, begin, report } = served;
  const { turns, armed = [], others } = readTurnsEvent(event);
  for (const other of others)
    report(new Error(`an event of the function turns names no turn: ${shownMessage(other)}`), "carrying out turns");
  if (turns.length === 0) return;
  environment.wake();
  try {
    for (const key of armed) environment.armed.add(key);
    const { engine, end } = begin(await environment.load(), context, { turns: turns.length, isDelivery: true });
    await engine.carryOut(turns);
    await end();
  } catch (error) {
    report(error, "carrying out turns");
  } finally {
    environment.rest();
  }
}
