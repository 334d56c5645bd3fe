/** The dashboard's stylesheet and script. Their names hold a digest of their content, so a browser may keep them. */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { toBase64Url } from "../../core/base64.ts";
import type { Route } from "../route.ts";
import { dashboardPath } from "./mount.ts";
import { script } from "./script.ts";
import { style } from "./style.ts";

export const styleName = named("style", style, "css");
export const scriptName = named("script", script, "js");

function named(name: string, text: string, ending: string): string {
  return `${name}-${toBase64Url(sha256(utf8ToBytes(text))).slice(0, 12)}.${ending}`;
}

export const assetRoutes: readonly Route[] = [
  asset(styleName, style, "text/css"),
  asset(scriptName, script, "text/javascript"),
];

function asset(name: string, text: string, type: string): Route {
  return {
    method: "GET",
    path: `${dashboardPath}/assets/${name}`,
    answer: async () =>
      new Response(text, {
        headers: {
          "cache-control": "public, max-age=31536000, immutable",
          "content-type": `${type}; charset=utf-8`,
          "cross-origin-resource-policy": "same-origin",
          "x-content-type-options": "nosniff",
        },
      }),
  };
}
