/** The exact commands to type after `layover init`, in a few lines. */
import type { Host, HostName } from "./hosts.ts";
import { commandFor } from "./package.ts";

interface Section {
  readonly title: string;
  /** A command, and what it does if that is worth saying. */
  readonly lines: readonly (readonly [command: string, remark?: string])[];
}

/** The project for which the commands are. */
interface Project {
  readonly host: Host;
  /** The name of what is deployed. */
  readonly name: string;
  /** The commands that come before all others. */
  readonly install: Section["lines"];
  /** The command of a script of package.json. */
  readonly run: (script: string) => string;
}

/**
 * `folder` is empty if the user is in it already. `name` is the name of what is deployed. `packageText` is the text of
 * package.json.
 */
export function nextSteps(hostName: HostName, host: Host, folder: string, name: string, packageText: string): string {
  const install: Section["lines"] = [...(folder === "" ? [] : [[`cd ${folder}`] as const]), ["npm install"]];
  const run = (script: string) => commandFor(script, host, packageText);
  return sectionsOf[hostName]({ host, name, install, run }).map(textOf).join("");
}

const sectionsOf: Record<HostName, (project: Project) => readonly Section[]> = {
  node: (project) => [tried(project), onPostgres(project)],
  deno: onPostgresWithAlarm,
  bun: onPostgresWithAlarm,
  vercel: (project) => [...alarmed(project), deployedOnVercel],
  cloudflare: onCloudflare,
  aws: (project) => [tried(project), deployedOnAws(project), keyOfDeployed],
  alarm: ofTheAlarm,
};

function tried({ install, run }: Project): Section {
  return { title: "Try it", lines: [...install, [run("dev"), "on an embedded Postgres; it prints lines to try"]] };
}

function alarmed(project: Project): readonly Section[] {
  return [
    tried(project),
    {
      title: "Give it an alarm: a Worker on Cloudflare's Free plan, which serves several deployments",
      lines: [["npx layover init --on alarm alarm", "in a folder of its own; do what it says"]],
    },
  ];
}

function onPostgres({ host, run }: Project, remark?: string): Section {
  const start = remark === undefined ? ([run("start")] as const) : ([run("start"), remark] as const);
  return {
    title: `On your own Postgres, with its DATABASE_URL in ${host.envFile}`,
    lines: [[run("migrate")], keyFor(host), start],
  };
}

function onPostgresWithAlarm(project: Project): readonly Section[] {
  return [...alarmed(project), onPostgres(project, "the alarm must reach it: PUBLIC_URL is its address")];
}

function onCloudflare({ host, name, install, run }: Project): readonly Section[] {
  return [
    { title: "Begin", lines: install },
    {
      title: `Try it, with the DATABASE_URL of ${isNeon(host) ? "a branch of your Neon database" : "a Postgres for trying"} in ${host.envFile}`,
      lines: [[run("migrate")], keyFor(host), [run("dev")]],
    },
    {
      title: `Deploy it, on your ${isNeon(host) ? "Neon database" : "Postgres"} itself`,
      lines: [
        ["DATABASE_URL=… npx layover migrate"],
        [`npx wrangler queues create ${name}`],
        [`npx wrangler queues create ${name}-dead`],
        ["npx wrangler secret put DATABASE_URL"],
        ["npx wrangler secret put LAYOVER_SECRET", `another one than in ${host.envFile}`],
        [run("deploy"), "prints its address: put that into wrangler.toml, as PUBLIC_URL, and deploy again"],
      ],
    },
    keyOfDeployed,
  ];
}

function deployedOnAws({ name, run }: Project): Section {
  return {
    title: "Deploy it, on your Neon database",
    lines: [
      ["DATABASE_URL=… npx layover migrate"],
      [`aws ssm put-parameter --type SecureString --name /${name}/database-url --value …`],
      [`aws ssm put-parameter --type SecureString --name /${name}/secret --value …`, "openssl rand -base64 32"],
      ["npx cdk bootstrap", "once for an account and a region"],
      [run("deploy"), "prints its address"],
    ],
  };
}

const deployedOnVercel: Section = {
  title: "Deploy it, on your Neon database",
  lines: [
    ["DATABASE_URL=… npx layover migrate"],
    ["npx vercel env add DATABASE_URL", "so, too: LAYOVER_SECRET, LAYOVER_ALARM, PUBLIC_URL"],
    ["npx vercel --prod", "prints its address: that is PUBLIC_URL, and what the alarm rings at"],
    ["LAYOVER_URL=https://… npx layover doctor"],
  ],
};

function ofTheAlarm({ install, run }: Project): readonly Section[] {
  return [
    {
      title: "Deploy it, with the address of your deployment in wrangler.toml, under APPS",
      lines: [
        ...install,
        [run("deploy"), "prints its address"],
        ["LAYOVER_SECRET=… npx layover keys alarm", "shows the key, by the secret of your deployment"],
        ["npx wrangler secret put ORDERS_KEY"],
      ],
    },
    {
      title: "Give your deployment its address",
      lines: [["LAYOVER_ALARM=https://…/apps/orders", "a variable of the deployment"]],
    },
  ];
}

const createKey = "npx layover keys create me --scopes start,read,signal,callbacks";

function keyFor(host: Host): Section["lines"][number] {
  return [createKey, `put it into ${host.envFile}, as LAYOVER_KEY`];
}

const keyOfDeployed: Section = {
  title: "A key that counts there, which takes the secret of what is deployed",
  lines: [
    [`LAYOVER_SECRET=… DATABASE_URL=… ${createKey}`],
    ["LAYOVER_URL=https://… LAYOVER_KEY=lok_… npx layover runs"],
  ],
};

function isNeon({ dependencies }: Host): boolean {
  return dependencies.includes("@neondatabase/serverless");
}

function textOf({ title, lines }: Section): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const shown = lines.map(([command, remark]) =>
    remark === undefined ? command : `${command.padEnd(width)}  # ${remark}`,
  );
  return `\n${title}:\n${shown.map((line) => `  ${line}\n`).join("")}`;
}
