/**
 * The three requests that the compiled part of Lambda's client sends, in plain JavaScript. To compile it takes a C++
 * compiler, CMake and a minute: `npm rebuild` in this folder does it, and then the compiled part is used.
 */
const { existsSync } = require("node:fs");
const { Agent, request } = require("node:http");
const Module = require("node:module");
const { join } = require("node:path");

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation`;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
/** The answers are sent before the next event is asked for. */
let sent = Promise.resolve();

const transport = {
  next: () => sent.then(() => send("GET", "next")).then(({ headers, text }) => ({ bodyJson: text, headers })),
  done: (id, body) => post(`${id}/response`, body),
  error: (id, body) => post(`${id}/error`, body),
};

const isCompiled = existsSync(join(__dirname, "node_modules/aws-lambda-ric/rapid-client.node"));
const load = Module._load;
if (!isCompiled)
  Module._load = (name, ...rest) => (name === "./rapid-client.node" ? transport : load.call(Module, name, ...rest));

function post(path, body) {
  sent = sent.then(() => send("POST", path, body));
}

function send(method, path, body) {
  return new Promise((resolve, reject) => {
    const sending = request(`${api}/${path}`, { method, agent, headers: { "content-type": "application/json" } });
    sending.on("error", reject);
    sending.on("response", (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve({ headers: response.headers, text: Buffer.concat(parts).toString() }));
    });
    sending.end(body);
  });
}
