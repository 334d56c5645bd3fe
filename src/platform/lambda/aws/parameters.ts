/** Systems Manager: reads parameters. */
import { GetParametersCommand, SSMClient } from "@aws-sdk/client-ssm";
import { type CallOptions, clientTerms, startingChains } from "./client-terms.ts";

const client = startingChains(new SSMClient(clientTerms));

/** Reads up to ten parameters, decrypted. One that does not exist is left out. */
export async function parameters(names: readonly string[], options: CallOptions): Promise<ReadonlyMap<string, string>> {
  const command = new GetParametersCommand({ Names: [...names], WithDecryption: true });
  const { Parameters = [] } = await client.send(command, options);
  return new Map(Parameters.flatMap(({ Name, Value }) => (Name && Value ? [[Name, Value] as const] : [])));
}
