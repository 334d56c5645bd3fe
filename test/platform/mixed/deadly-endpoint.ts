/** Neon's endpoint in front of Postgres, which says at which of its calls a host dies. Each request is a call. */
import { answered, type NeonEndpoint, openNeonEndpoint } from "../../postgres/neon-endpoint.ts";
import type { Mortal } from "./one-host.ts";

export async function openDeadlyEndpoint({ databaseUrl, fateOf, die }: Mortal): Promise<NeonEndpoint> {
  return await openNeonEndpoint(databaseUrl, async (exchange) => {
    const fate = fateOf();
    if (fate === "passes") return await answered(exchange);
    if (fate === "dies after") await exchange.carryOut();
    die();
    exchange.cut();
  });
}
