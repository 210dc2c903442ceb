/** What lets somebody in is a secret of 256 random bits, made in one place; what a tenant chooses is limited by its guesses. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { makeIdentifiers } from "../src/runtime/process/Crypto.js"

/** Other random texts, by file, with what they are. */
const others: { readonly [file: string]: ReadonlyArray<string> } = {
  // The key of a mail, by which its server knows a repetition.
  "actors/management/access/SignInMails.ts": ["32"],
  "actors/pipeline/LinkMails.ts": ["32"],
  // 192 bits, in the form of the contract.
  "actors/management/trigger/AccessKeys.ts": ["keyLength"],
  "actors/pipeline/SubscriptionSweep.ts": ["numberLength"],
  // 256 bits: `tokenLength` is 43. PKCE's verifier has the form of RFC 7636.
  "actors/connection/credential/AuthorizationRedirect.ts": ["tokenLength", "64"],
  "actors/connection/ConnectSessions.ts": ["tokenLength"],
  // Ids, not secrets.
  "actors/connection/SharedPermits.ts": ["16"],
  "actors/connection/credential/CredentialTest.ts": ["32"],
  "actors/management/connector/DraftCalls.ts": ["32"],
  // Nonces of pages.
  "http/connect/OutcomePages.ts": ["22"],
  "http/connect/SignInFrame.ts": ["22"],
  "http/connect/MailPages.ts": ["22"],
  "http/connect/ApprovalPages.ts": ["22"]
}

describe("a random text", () => {
  it("is a secret, or one of those that are listed here", () => {
    const found = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map(
        (name) =>
          [
            name.replaceAll("\\", "/"),
            [
              ...readFileSync(`src/${name}`, "utf8").matchAll(
                /\bidentifiers\.token\(([^)]*)\)|\bIdentifiers\)\.token\(([^)]*)\)/g
              )
            ].map(([, one, other]) => one ?? other)
          ] as const
      )
      .filter(([, lengths]) => lengths.length > 0)
    assert.deepStrictEqual<object>(Object.fromEntries(found), others)
  })

  it("that is a secret has 256 random bits", () => {
    const { secret } = makeIdentifiers()
    const made = Array.from({ length: 100 }, secret)
    assert.strictEqual(new Set(made).size, made.length)
    for (const one of made) assert.match(one, /^[A-Za-z0-9_-]{43}$/)
  })
})
