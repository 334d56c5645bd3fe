/** What AWS says of the functions of a deployment and of its account. It uses the credentials of whoever asks. */
import { GetAccountSettingsCommand, GetFunctionConfigurationCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { clientTerms } from "../../platform/lambda/aws/client-terms.ts";

const client = new LambdaClient(clientTerms);

export interface FunctionFacts {
  /** Undefined: there is no such function. */
  readonly found?: {
    /** Whether it takes invocations, with the code that was deployed last. */
    readonly isReady: boolean;
    readonly variables: Readonly<Record<string, string | undefined>>;
  };
}

export async function functionOf(name: string): Promise<FunctionFacts> {
  try {
    const told = await client.send(new GetFunctionConfigurationCommand({ FunctionName: name }));
    const isReady = told.State === "Active" && told.LastUpdateStatus === "Successful";
    return { found: { isReady, variables: told.Environment?.Variables ?? {} } };
  } catch (error) {
    if (error instanceof Error && error.name === "ResourceNotFoundException") return {};
    throw error;
  }
}

/** How many invocations the account may carry out at a time, without those that are reserved. Undefined: AWS does not tell. */
export async function freeConcurrency(): Promise<number | undefined> {
  const { AccountLimit } = await client.send(new GetAccountSettingsCommand({}));
  return AccountLimit?.UnreservedConcurrentExecutions;
}
