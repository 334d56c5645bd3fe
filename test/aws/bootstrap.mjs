/**
 * What Lambda runs in an environment, in a few lines: it asks the Runtime API for the next event, calls the handler, and
 * gives back what it answers. Like Lambda's own, it ends the process when a rejection is handled by nobody. Lambda's own
 * client is tried in runtime-client.test.ts.
 */
const api = `http://${process.env["AWS_LAMBDA_RUNTIME_API"]}/2018-06-01/runtime`;
const { _HANDLER: name = "", LAMBDA_TASK_ROOT: root = "" } = process.env;
const [file, exported] = name.split(".");

process.on("unhandledRejection", (error) => {
  console.error("unhandled rejection:", error);
  process.exit(129);
});

const begun = performance.now();
let handler;
try {
  const module = await import(`${root}/${file}.mjs`);
  handler = module[exported];
  if (typeof handler !== "function") throw new Error(`${name} is no function`);
} catch (error) {
  await post("init/error", shown(error));
  process.exit(1);
}
const initMs = performance.now() - begun;

for (;;) {
  const next = await fetch(`${api}/invocation/next`, { headers: { "x-init-ms": String(initMs) } });
  const requestId = next.headers.get("lambda-runtime-aws-request-id") ?? "";
  const deadline = Number(next.headers.get("lambda-runtime-deadline-ms"));
  process.env["_X_AMZN_TRACE_ID"] = next.headers.get("lambda-runtime-trace-id") ?? "";
  const context = {
    awsRequestId: requestId,
    functionName: process.env["AWS_LAMBDA_FUNCTION_NAME"],
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
  const event = await next.json();
  try {
    await post(`invocation/${requestId}/response`, (await handler(event, context)) ?? null);
  } catch (error) {
    await post(`invocation/${requestId}/error`, shown(error));
  }
}

async function post(path, body) {
  await fetch(`${api}/${path}`, { method: "POST", body: JSON.stringify(body) });
}

function shown(error) {
  return { errorType: error?.name, errorMessage: error?.message, trace: String(error?.stack).split("\n") };
}
