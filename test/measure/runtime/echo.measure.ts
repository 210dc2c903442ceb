/** Looking for an echoed credential costs little time in an answer without it. */
import { it } from "@effect/vitest"
import { Redacted } from "effect"
import { echoFilter } from "../../../src/runtime/egress/Echo.js"
import { assertWithin } from "../../support/pace.js"

it("an answer without a credential costs little time", () => {
  const { answer } = echoFilter([Redacted.make(`eyJ${"aB3_-x".repeat(300)}`)])
  const rows = Array.from({ length: 200 }, (_, at) => ({ at, name: "row" }))
  const found = { status: 200, headers: [], body: Buffer.from(JSON.stringify({ rows })), url: "https://a.example/x" }
  const rounds = 2_000
  for (let i = 0; i < rounds; i++) answer(found)
  const started = performance.now()
  for (let i = 0; i < rounds; i++) answer(found)
  assertWithin((performance.now() - started) / rounds, 0.5)
})
