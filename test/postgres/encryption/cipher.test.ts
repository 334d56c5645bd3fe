/** The ciphers of Node and of WebCrypto: they read each other, and use no nonce twice. */
import { describe, expect, test } from "vitest";
import { decrypt, encrypt, type Key, keyFrom } from "../../../src/postgres/encryption/cipher.ts";

const bytes = crypto.getRandomValues(new Uint8Array(32));
const ofNode = () => keyFrom(bytes, "AES-GCM");
const ofWeb = async (): Promise<Key> => ({
  web: await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]),
});

describe.each([
  { by: "Node", own: ofNode, other: ofWeb },
  { by: "WebCrypto", own: ofWeb, other: ofNode },
])("a text that $by encrypts", ({ own, other }) => {
  test("is read by both", async () => {
    const sealed = await encrypt(await own(), "a place", "a rose, eine Blüte, 薔薇");
    expect(await decrypt(await own(), "a place", sealed)).toBe("a rose, eine Blüte, 薔薇");
    expect(await decrypt(await other(), "a place", sealed)).toBe("a rose, eine Blüte, 薔薇");
  });

  test("has a nonce of its own each time, though many are drawn at once", async () => {
    const key = await own();
    const sealed = await Promise.all(Array.from({ length: 300 }, () => encrypt(key, "a place", "a rose")));
    expect(new Set(sealed.map((text) => text.slice(0, 16))).size).toBe(300);
  });
});
