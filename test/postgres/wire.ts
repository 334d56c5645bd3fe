/** Stands between clients and Postgres: it can be cut through, and can fall silent without a farewell. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Wire {
  /** The address of the database by this way. */
  readonly url: string;
  /** How many messages of clients were not passed on. */
  readonly held: number;
  /** Ends all connections. */
  cut(): void;
  /** Passes on nothing that clients say from now on. */
  hush(): void;
  /** Passes everything on again: what comes over all connections, and what was held; or over new connections only. */
  speak(to?: "everybody" | "newcomers"): void;
  /** Keeps back what Postgres says over each new connection: its message that it is ready, and all that follows. */
  keepAnswers(): void;
  /** Passes on what was kept back, all in one piece. */
  passAnswers(): void;
  close(): void;
}

interface Passage {
  readonly near: Socket;
  readonly far: Socket;
  readonly held: Buffer[];
  isOpen: boolean;
}

/** The message by which Postgres says that it is ready for a statement, outside a transaction. */
const readyForQuery = Buffer.from("Z\0\0\0\u0005I");

export async function openWire(databaseUrl: string): Promise<Wire> {
  const { port, hostname } = new URL(databaseUrl);
  const ends = new Set<Socket>();
  const passages: Passage[] = [];
  let isOpenToNewcomers = true;
  let keepsAnswers = false;
  let held = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    const passage: Passage = { near, far, held: [], isOpen: isOpenToNewcomers };
    passages.push(passage);
    for (const end of [near, far]) ends.add(end.on("error", () => {}));
    far.on("data", (bytes) => {
      if (keepsAnswers && bytes.subarray(-readyForQuery.length).equals(readyForQuery)) near.cork();
    });
    far.pipe(near);
    near.on("end", () => far.end());
    near.on("data", (bytes) => {
      if (passage.isOpen) return void far.write(bytes);
      held += 1;
      passage.held.push(bytes);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("A TCP server has an address with a port.");
  const url = new URL(databaseUrl);
  url.port = String(address.port);
  const cut = () => {
    for (const end of ends) end.destroy();
    ends.clear();
  };
  return {
    url: url.href,
    get held() {
      return held;
    },
    cut,
    hush() {
      isOpenToNewcomers = false;
      for (const passage of passages) passage.isOpen = false;
    },
    speak(to = "everybody") {
      isOpenToNewcomers = true;
      if (to === "newcomers") return;
      for (const passage of passages) {
        passage.isOpen = true;
        for (const bytes of passage.held.splice(0)) passage.far.write(bytes);
      }
    },
    keepAnswers() {
      keepsAnswers = true;
    },
    passAnswers() {
      keepsAnswers = false;
      for (const { near } of passages) near.uncork();
    },
    close() {
      server.close();
      cut();
    },
  };
}
