/** The tools of the admin gateway: their names, inputs, permissions and hints are a contract, which this file locks. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { adminTools } from "../../../src/http/mcp/admin/AdminTools.js"
import { offeredTool, type OperationTool } from "../../../src/http/mcp/OperationTool.js"
import { type Running, start } from "../../support/InProcess.js"
import { message, post } from "../../support/mcp/Gateway.js"
import lock from "./adminTools.lock.json" with { type: "json" }

/** A tool as the contract states it: `?` ends the type of an argument that a call may leave out. */
interface LockedTool {
  readonly name: string
  readonly needs: ReadonlyArray<string>
  readonly hints: string
  readonly input: { readonly [name: string]: string }
}

const typeOf = ({ enum: choices, items, type }: { readonly [member: string]: unknown }): string =>
  Array.isArray(choices)
    ? choices.join("|")
    : type === "array"
      ? `${typeOf(Object(items))}[]`
      : Array.isArray(type)
        ? type.join("|")
        : String(type)

const permitOf = ({ uses }: OperationTool): ReadonlyArray<string> => {
  const [use] = uses.slice(-1)
  const permit = use?.operation.permit ?? "anyCaller"
  return typeof permit === "string" ? [permit] : "all" in permit ? permit.all : assert.fail("no permission of its own")
}

const lockedForm = (tool: OperationTool): LockedTool => {
  const { destructiveHint, openWorldHint, readOnlyHint } = offeredTool(tool).annotations
  const hints = { reads: readOnlyHint, destroys: destructiveHint, "reaches others": openWorldHint }
  return {
    name: tool.name,
    needs: permitOf(tool),
    hints: Object.entries(hints)
      .flatMap(([hint, holds]) => (holds ? [hint] : []))
      .join(", "),
    input: Object.fromEntries(
      Object.entries(tool.arguments).map(([name, { isRequired, schema }]) => [
        name,
        `${typeOf(schema)}${isRequired ? "" : "?"}`
      ])
    )
  }
}

describe("the tools of the admin gateway", () => {
  let svc: Running
  beforeAll(async () => {
    svc = await start()
  })
  afterAll(() => svc.stop())

  it("are those of the contract", () => {
    assert.deepStrictEqual(adminTools.map(lockedForm), lock)
  })

  it("say of each argument where it goes, and what it is", () => {
    for (const { arguments: inputs, name, uses } of adminTools) {
      const placed = new Set(uses.flatMap(({ places }) => Object.keys(places)))
      assert.sameMembers([...placed], Object.keys(inputs), name)
      const parameters = uses.flatMap(({ operation, places }) =>
        [...operation.path.matchAll(/:(\w+)/g)].map(([, parameter]) => [
          parameter,
          Object.values(places).some(
            (place) => typeof place === "object" && "path" in place && place.path === parameter
          )
        ])
      )
      for (const [parameter, isPlaced] of parameters) assert.isTrue(isPlaced, `${name} ${String(parameter)}`)
      for (const { schema } of Object.values(inputs)) assert.match(String(schema["description"]), /\w.*\.$/, name)
    }
  })

  it("are listed as they are, in one page that an agent can read", async () => {
    const { body, text } = await post(svc, message(1, "tools/list"))
    assert.deepStrictEqual(body.result.tools, adminTools.map(offeredTool))
    assert.isBelow(text.length, 64 * 1024)
  })
})
