/** What sends a run something: its input, a signal, the answer of a callback. */
import type { Schema } from "../../../core/contract/schema.ts";
import { isSensitive } from "../../../core/contract/sensitive.ts";
import type { Route } from "../../route.ts";
import { callbackOf } from "../../run-callbacks.ts";
import type { DashboardTerms } from "../mount.ts";
import { payloadIn } from "../payload.ts";
import type { DashboardVisit } from "../screens.ts";
import { type ActRoute, contractOf } from "./act.ts";
import type { Texts } from "./texts.ts";

/** Starts, and signals. */
export function startActs(route: ActRoute, terms: DashboardTerms): readonly Route[] {
  const { contracts } = terms;
  return [
    route("workflows/:name/start", "start", async ({ client, param }, texts) => {
      const version = texts.number("version");
      const contract =
        version === undefined ? contracts.newest(param("name")) : contracts.exactly(param("name"), version);
      const filled = await payloadIn(texts.all, contract.input, isSensitive(contract, "input"));
      if ("errors" in filled) return filled;
      const options = {
        id: texts.of("id"),
        delay: texts.duration("delay"),
        tags: texts.tags("tags"),
        runId: texts.of("call"),
      };
      const { runId } = await client.start(contract, filled.value, options);
      return { to: `runs/${runId}` };
    }),
    route("runs/:id/signal", "signal", async ({ client, param }, texts) => {
      const contract = await contractOf(client, param("id"), terms);
      const name = texts.needed("name");
      const filled = await payloadIn(texts.all, own(contract.signals, name), isSensitive(contract, `signals.${name}`));
      if ("errors" in filled) return filled;
      const { outcome } = await client.signal(param("id"), name, filled.value, {
        contract,
        signalId: texts.of("call"),
      });
      return { said: outcome === "sent" ? "The signal was sent." : "That signal had come before." };
    }),
  ];
}

export function callbackActs(route: ActRoute, { contracts }: DashboardTerms): readonly Route[] {
  return [
    route("runs/:id/resolve", "callbacks", async ({ client, param }, texts) => {
      const { ref, workflow, version, name } = await namedCallback({ client, param }, texts);
      const contract = contracts.closest(workflow, version);
      const filled = await payloadIn(
        texts.all,
        own(contract.callbacks, name),
        isSensitive(contract, `callbacks.${name}`),
      );
      if ("errors" in filled) return filled;
      await client.callbacks.resolve(ref, filled.value, contract);
      return { said: "The answer was sent." };
    }),
    route("runs/:id/reject", "callbacks", async ({ client, param }, texts) => {
      const { ref } = await namedCallback({ client, param }, texts);
      await client.callbacks.reject(ref, { message: texts.of("reason") ?? "rejected without a reason" });
      return { said: "The rejection was sent." };
    }),
  ];
}

async function namedCallback({ client, param }: Pick<DashboardVisit, "client" | "param">, texts: Texts) {
  const name = texts.needed("name");
  return await callbackOf({ client, param: (part) => (part === "name" ? name : param(part)) });
}

function own(schemas: Readonly<Record<string, Schema>>, name: string): Schema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined;
}
