/** Answers a request that came by a function URL or an API of API Gateway. */
import { Hono } from "hono";
import {
  type APIGatewayProxyResult,
  type LambdaContext as HonoContext,
  handle,
  type LambdaEvent,
} from "hono/aws-lambda";
import type { Client } from "../../client/over-postgres/client.ts";
import { besideApiKeys } from "../../http/access.ts";
import { answering } from "../../http/prefix.ts";
import { problem, shownError, statusOf } from "../../http/problem.ts";
import { createSite } from "../../http/site.ts";
import { mountWebhooks } from "../../http/webhooks/mount.ts";
import type { InvocationOptions } from "../invocation/begin-invocation.ts";
import type { Loaded } from "./environment.ts";
import { laterQueue } from "./later-queue.ts";
import type { LambdaContext } from "./options.ts";
import type { ServedFunctions } from "./served-functions.ts";

export type HttpHandler = (event: LambdaEvent, context: LambdaContext) => Promise<APIGatewayProxyResult>;

export function onHttp(served: ServedFunctions): HttpHandler {
  const app = new Hono<{ Bindings: { lambdaContext: LambdaContext } }>();
  app.all("*", ({ req, env }) => answerWell(served, req.raw, env.lambdaContext));
  const handler = handle(app);
  // What Hono wants of the context is what Lambda gives. It only hands it on.
  return async (event, context) => (await handler(event, context as HonoContext)) as APIGatewayProxyResult;
}

async function answerWell(served: ServedFunctions, request: Request, context: LambdaContext): Promise<Response> {
  const { environment, report } = served;
  environment.wake();
  try {
    const again = request.clone();
    const response = await answer(served, request, context);
    const { status } = response;
    // What was refused may be signed by a new secret. A refusal has changed nothing, so it can be asked again.
    const isRefused = status === 401 || status === 404;
    const hasChanged = (isRefused || status >= 500) && (await environment.reload());
    return isRefused && hasChanged ? await answer(served, again, context) : response;
  } catch (error) {
    const shown = shownError(error);
    if (statusOf(shown) >= 500) report(error, answering(request));
    return problem(shown);
  } finally {
    environment.rest();
  }
}

async function answer(served: ServedFunctions, request: Request, context: LambdaContext): Promise<Response> {
  const { options, namespace, environmentName, prefix, environment, deployment, report, tell } = served;
  const { workflows, webhooks, dashboard, openapi, replayCheck, cors, authenticate } = options;
  return await inRequest(served, context, async (client, { secrets, publicUrl, variables }) => {
    const terms = { secrets, namespace, environment: environmentName };
    const site = createSite({
      ...terms,
      contracts: workflows.map(({ contract }) => contract),
      remembered: environment.remembered,
      rooms: environment.rooms,
      prefix,
      cors,
      client,
      webhooks: mountWebhooks(webhooks, { env: variables, tell, queue: laterQueue(served) }),
      dashboard: dashboard?.mount,
      publicUrl,
      openapi,
      replayCheck: replayCheck?.({ ...options, deployment }),
      authenticate: authenticate && besideApiKeys(authenticate, terms),
      onError: (error) => report(error, answering(request)),
    });
    return await site.fetch(request);
  });
}

/** Does `work` for a request. Nothing runs on after the answer, so what was dispatched goes out before it. */
export async function inRequest<Answer>(
  { environment, begin }: ServedFunctions,
  context: LambdaContext,
  work: (client: Client, loaded: Loaded) => Promise<Answer>,
  given: Pick<InvocationOptions, "wake"> = {},
): Promise<Answer> {
  const loaded = await environment.load();
  const { client, end } = begin(loaded, context, given);
  try {
    return await work(client, loaded);
  } finally {
    await end();
  }
}
