/** Carries out the turns for which the function `turns` was invoked, or a delivery that was answered before. */
import { laterOf } from "../../http/webhooks/mount.ts";
import { shownMessage } from "../invocation/turn-message.ts";
import { type DeliveryEvent, isDeliveryEvent, readTurnsEvent } from "./messages.ts";
import type { LambdaContext } from "./options.ts";
import type { ServedFunctions } from "./served-functions.ts";

/**
 * Never rejects for turns. Lambda need not invoke it again: a turn that could not be claimed is due at an instant for which an alarm
 * stands.
 */
export async function onTurns(served: ServedFunctions, event: unknown, context: LambdaContext): Promise<void> {
  if (isDeliveryEvent(event)) return await onDelivery(served, event, context);
  const { environment, begin, report } = served;
  const { turns, armed = [], others } = readTurnsEvent(event);
  for (const other of others)
    report(new Error(`an event of the function turns names no turn: ${shownMessage(other)}`), "carrying out turns");
  if (turns.length === 0) return;
  environment.wake();
  try {
    for (const key of armed) environment.armed.add(key);
    const { engine, end } = begin(await environment.load(), context, { turns: turns.length, isDelivery: true });
    const couldClaim = await engine.carryOut(turns);
    await end();
    if (!couldClaim) await environment.reload();
  } catch (error) {
    report(error, "carrying out turns");
    await environment.reload();
  } finally {
    environment.rest();
  }
}

/** Rejects if it was not carried out: then the function `forward` has it come again. */
async function onDelivery(served: ServedFunctions, { sealed }: DeliveryEvent, context: LambdaContext): Promise<void> {
  const { options, namespace, environment, begin, tell } = served;
  environment.wake();
  try {
    const loaded = await environment.load();
    const carryOut = laterOf(options.webhooks, loaded.variables);
    if (carryOut === undefined)
      throw new Error("this deployment has no webhook, and a delivery to one came by its queue");
    const { client, end } = begin(loaded, context, {});
    try {
      await carryOut(sealed, { secrets: loaded.secrets, namespace, client, tell });
    } finally {
      await end();
    }
  } catch (error) {
    await environment.reload();
    throw error;
  } finally {
    environment.rest();
  }
}
