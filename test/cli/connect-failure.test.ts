import { describe, expect, test } from "vitest";
import { connectFailure } from "../../src/cli/database/connect-failure.ts";

/** Those that need a server of their own to happen; the others are tried in migrate.test.ts. */
describe("why a connection failed is said in words:", () => {
  const url = new URL("postgres://app:p%40ss@db.example.com/shop");
  const failure = (message: string, code?: string): Error =>
    Object.assign(new Error(message), code === undefined ? {} : { code });

  test.each([
    [failure("timeout expired"), "db.example.com:5432 did not answer within 10 s."],
    [failure("connect ETIMEDOUT 10.0.0.1:5432", "ETIMEDOUT"), "db.example.com:5432 did not answer within 10 s."],
    [
      new AggregateError([failure("connect ECONNREFUSED ::1:5432", "ECONNREFUSED"), failure("", "ECONNREFUSED")]),
      "Nothing listens at db.example.com:5432.",
    ],
    [failure("getaddrinfo EAI_AGAIN", "EAI_AGAIN"), "The name db.example.com cannot be looked up now."],
    [
      failure("self-signed certificate in certificate chain", "SELF_SIGNED_CERT_IN_CHAIN"),
      "The certificate of db.example.com is not trusted: self-signed certificate in certificate chain.",
    ],
    [
      failure("Hostname/IP does not match certificate's altnames", "ERR_TLS_CERT_ALTNAME_INVALID"),
      "The certificate of db.example.com is not trusted: Hostname/IP does not match certificate's altnames.",
    ],
    [failure("sorry, too many clients already", "53300"), "db.example.com:5432 has no connection left."],
    [
      failure("the database system is starting up", "57P03"),
      "The server at db.example.com:5432 is starting or stopping.",
    ],
    [
      failure("Tenant or user not found", "08P01"),
      "The pooler at db.example.com:5432 refused: Tenant or user not found.",
    ],
    ["no error at all", "The connection to db.example.com:5432 failed: no error at all."],
  ])("%s", (cause, message) => {
    expect(connectFailure(cause, url)).toMatchObject({ message, hint: expect.stringMatching(/\w/) });
  });

  test("a server that wants TLS, and one that wants another role", () => {
    const refusal = 'no pg_hba.conf entry for host "192.0.2.1", user "app", database "shop"';
    expect(connectFailure(failure(`${refusal}, no encryption`, "28000"), url).hint).toContain("?sslmode=verify-full");
    expect(connectFailure(failure(refusal, "28000"), url).hint).toContain("pg_hba.conf");
  });

  test("without the password, however it is written", () => {
    const { message } = connectFailure(failure("cannot use p@ss or p%40ss here"), url);
    expect(message).toBe("The connection to db.example.com:5432 failed: cannot use … or … here.");
  });
});
