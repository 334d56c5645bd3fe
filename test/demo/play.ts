/** Plays the demo (see demo.ts), in a process and a temporary folder that are gone afterwards. */
import { tmpdir } from "node:os";
import { flagsIn, isOn, oneOf } from "./flags.ts";
import type { Host, HostOptions } from "./host.ts";
import { onLeave } from "./leaving-nothing.ts";
import { playOrder } from "./order-story.ts";
import { playSaga } from "./saga-story.ts";
import { paint, Screen } from "./screen.ts";
import { Stage } from "./stage.ts";
import { openWorld } from "./world.ts";

const hosts: Readonly<Record<"node" | "cloudflare" | "aws", (options: HostOptions) => Promise<Host>>> = {
  node: async (options) => new (await import("./on-node.ts")).OnNode(options),
  cloudflare: async (options) => new (await import("./on-cloudflare.ts")).OnCloudflare(options),
  aws: async (options) => new (await import("./on-aws.ts")).OnAws(options),
};

const { on } = flagsIn({ on: "node" }, ["saga"]);
const openHost = hosts[oneOf(["node", "cloudflare", "aws"], on, "--on")];

const screen = new Screen();
const world = await openWorld();
let host: Host | undefined;
let leaving: Promise<never> | undefined;

onLeave(() => void leave(130));

try {
  host = await openHost({ screen, folder: tmpdir(), effectsUrl: world.url });
  await (isOn("saga") ? playSaga : playOrder)(new Stage({ screen, world, host }));
  await leave(0);
} catch (error) {
  if (leaving === undefined) complain(error);
  await leave(1);
}

function complain(error: unknown): void {
  const said = host?.output.slice(-2_000) || "nothing";
  console.error(`\n${paint("red", "This is not as told:")} ${String(error)}\n\nThe server said: …${said}`);
}

/** Ends the host, once, whoever asks, and then this process. */
function leave(code: number): Promise<never> {
  leaving ??= (async () => {
    await host?.end();
    process.exit(code);
  })();
  return leaving;
}
