/**
 * Environments of Lambda: processes that speak the Runtime API. One is frozen (SIGSTOP) between two invocations, killed when
 * an invocation takes too long, and reused as Lambda does it: the one that was used last comes first.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { WallClock } from "../../src/core/ports.ts";

export interface FunctionSettings {
  readonly name: string;
  /** The logical name of its role, which is its access key here. */
  readonly role: string;
  /** `index.http`. */
  readonly handler: string;
  readonly timeoutMs: number;
  readonly variables: Readonly<Record<string, string>>;
  /** The folder of its bundle. */
  readonly code: string;
  /** The arguments of Node that begin an environment. Default: bootstrap.mjs. */
  readonly runtime?: readonly string[] | undefined;
  /** The clock by which it says how long an invocation may take. */
  readonly clock: Pick<WallClock, "now">;
}

export interface Ended {
  /** What the handler answered. Undefined: it failed. */
  readonly answer?: unknown;
  /** Why it failed: its error, a timeout, or a process that ended. */
  readonly error?: string;
  /** How long it took, with the start of its process where that is cold. */
  readonly ms: number;
  readonly isCold: boolean;
  /** How long the code of its process took to load, in milliseconds. */
  readonly initMs: number;
}

const bootstrap = fileURLToPath(new URL("./bootstrap.mjs", import.meta.url));

export class Environment {
  readonly settings: FunctionSettings;
  readonly #server: Server;
  readonly #onOutput: (line: string) => void;
  #child: ChildProcess | undefined;
  #waiting: ServerResponse | undefined;
  #current: { readonly id: string; readonly end: (ended: Pick<Ended, "answer" | "error">) => void } | undefined;
  #next: { readonly id: string; readonly event: string; readonly deadline: number } | undefined;
  #count = 0;
  #isKilled = false;
  #isRetired = false;
  /** How long the code took to load, in milliseconds. */
  initMs = Number.NaN;

  constructor(settings: FunctionSettings, onOutput: (line: string) => void) {
    this.settings = settings;
    this.#onOutput = onOutput;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.keepAliveTimeout = 0; // a process that was frozen for an hour goes on by the connection that it has
  }

  /** A killed process takes nothing more, though it takes a moment until it has ended. */
  get isAlive(): boolean {
    if (this.#isKilled || this.#isRetired) return false;
    return this.#child === undefined || (this.#child.exitCode === null && this.#child.signalCode === null);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isAtWork(): boolean {
    return this.#current !== undefined;
  }

  /** Carries out one invocation. */
  async invoke(event: unknown): Promise<Ended> {
    const isCold = this.#child === undefined;
    if (isCold) await this.#begin();
    const began = performance.now();
    this.#count += 1;
    const id = `${this.settings.name}-${this.#child?.pid}-${this.#count}`;
    const { promise, resolve } = Promise.withResolvers<Pick<Ended, "answer" | "error">>();
    this.#current = { id, end: resolve };
    this.#next = { id, event: JSON.stringify(event), deadline: this.settings.clock.now() + this.settings.timeoutMs };
    const timer = setTimeout(() => {
      resolve({ error: `timed out after ${this.settings.timeoutMs / 1_000} s` });
      this.kill();
    }, this.settings.timeoutMs);
    this.#child?.kill("SIGCONT");
    this.#hand();
    const ended = await promise;
    clearTimeout(timer);
    this.#current = undefined;
    if (this.#isRetired) this.kill();
    else this.#child?.kill("SIGSTOP");
    return { ...ended, ms: performance.now() - began, isCold, initMs: this.initMs };
  }

  /** Takes nothing more. What it has at work goes on to its end. */
  retire(): void {
    this.#isRetired = true;
    if (!this.isAtWork) this.kill();
  }

  kill(): void {
    this.#isKilled = true;
    this.#child?.kill("SIGKILL");
  }

  async close(): Promise<void> {
    this.kill();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #begin(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    const { name, role, handler, variables, code, runtime = [bootstrap] } = this.settings;
    const child = spawn(process.execPath, runtime, {
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
        AWS_REGION: "eu-central-1",
        AWS_ACCESS_KEY_ID: role,
        AWS_SECRET_ACCESS_KEY: "of no account",
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "1024",
        AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${name}`,
        AWS_LAMBDA_LOG_STREAM_NAME: "stream",
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
        LAMBDA_TASK_ROOT: code,
        _HANDLER: handler,
        ...variables,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => {
        for (const line of String(data).split("\n").filter(Boolean)) this.#onOutput(`${name}: ${line}`);
      });
    child.on("exit", (code, signal) => this.#current?.end({ error: `the process ended: ${signal ?? code}` }));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "" } = request;
    if (url.endsWith("/invocation/next")) {
      this.initMs = Number(request.headers["x-init-ms"] ?? this.initMs);
      this.#waiting = response;
      this.#hand();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    response.writeHead(202).end("{}");
    if (url.endsWith("/response")) this.#current?.end({ answer: JSON.parse(body) as unknown });
    else this.#current?.end({ error: body });
  }

  #hand(): void {
    if (this.#waiting === undefined || this.#next === undefined) return;
    const { id, event, deadline } = this.#next;
    this.#waiting.writeHead(200, {
      "content-type": "application/json",
      "lambda-runtime-aws-request-id": id,
      "lambda-runtime-deadline-ms": String(deadline),
      "lambda-runtime-invoked-function-arn": `arn:aws:lambda:eu-central-1:123456789012:function:${this.settings.name}`,
      "lambda-runtime-trace-id": "Root=1-00000000-000000000000000000000000;Parent=0000000000000000;Sampled=1;Lineage=1",
    });
    this.#waiting.end(event);
    this.#waiting = undefined;
    this.#next = undefined;
  }
}
