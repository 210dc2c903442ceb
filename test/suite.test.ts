/** What the tests themselves must not do, since they would fail without a fault of the product. */
import { assert, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `test/${name}`)

const filesWith = (pattern: RegExp): ReadonlyArray<string> =>
  files.filter((file) => pattern.test(readFileSync(file, "utf8")))

it("a test of a running service reads no event from the outbox, from which the service removes it at any moment", () => {
  const running = filesWith(/\bSELECT [^;`"']*\bpayload\b[^;`"']*\bFROM domain_events\b/)
  assert.deepStrictEqual(running, ["test/runtime/endpointDeliveries.test.ts"])
})
