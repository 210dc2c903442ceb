/** The form of a connect page is read as its fields say; what is no number is left to the check of the configuration. */
import { assert, describe, it } from "@effect/vitest"
import type { ConnectField as Field } from "../../src/domain/connection/ConnectForm.js"
import { readEntries } from "../../src/http/connect/Form.js"

const field = (type: Field["type"]): Field => ({
  name: "config.port",
  title: "",
  description: null,
  secret: false,
  required: false,
  options: null,
  type,
  initial: null,
  min: null,
  max: null,
  form: { pattern: null, format: null }
})

describe("a number in the form of a connect page", () => {
  it.each<readonly [sent: string, type: Field["type"], read: object]>([
    ["587", "integer", { port: 587 }],
    ["+1.5+", "number", { port: 1.5 }],
    ["", "integer", {}],
    ["++", "integer", { port: "" }],
    ["0x10", "integer", { port: "0x10" }],
    ["Infinity", "number", { port: "Infinity" }],
    ["+587+", "string", { port: "587" }]
  ])("%j as %s is %j", (sent, type, read) => {
    const { config } = readEntries([field(type)], new TextEncoder().encode(`config.port=${sent}`))
    assert.deepStrictEqual(config, read)
  })
})
