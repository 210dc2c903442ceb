/** The admin gateway permits what the REST surfaces permit: the same matrices, asked through its tools where there is one. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { surfaceC } from "../../../src/http/operations/Surfaces.js"
import { adminTools } from "../../../src/http/mcp/admin/AdminTools.js"
import type { OperationTool, OperationUse } from "../../../src/http/mcp/OperationTool.js"
import type { Contract } from "../../../src/http/operation/Contract.js"
import { makeMatcher } from "../../../src/http/pipeline/Routes.js"
import { pathOf } from "../../../src/http/Wire.js"
import { isObject, type Json, type JsonObject } from "../../../src/domain/Json.js"
import { startWorld, type World } from "../../support/endpointWorld.js"
import type { Answer, Ask, Running } from "../../support/InProcess.js"
import { customerMatrix } from "../../support/matrices/CustomerMatrix.js"
import { lackingMatrix, presetMatrix } from "../../support/matrices/PermissionMatrix.js"
import { scopeMatrix } from "../../support/matrices/ScopeMatrix.js"
import { keyCallers } from "../../support/matrices/TestCaller.js"
import { post, toolCall } from "../../support/mcp/Gateway.js"

const findRoute = makeMatcher(surfaceC)

interface OfferedUse {
  readonly tool: OperationTool
  readonly use: OperationUse
}

/** The most particular first. */
const usesOf = (operation: Contract): ReadonlyArray<OfferedUse> =>
  adminTools
    .flatMap((tool) => tool.uses.map((use) => ({ tool, use })))
    .filter(({ use }) => use.operation === operation)
    .toSorted((one, other) => Number(isWhole(one)) - Number(isWhole(other)))
const isWhole = ({ use }: OfferedUse): boolean => Object.values(use.places).includes("wholeBody")
const asked = new Set<string>()

/** Arguments that a tool needs and its operation does not. */
const presetArguments: { readonly [tool: string]: JsonObject } = {
  svc_action_test: { args: {} },
  svc_connector_publish_version: { version: "9.0.0" }
}

/** The tests ask their operations with more than the tools have; `adminWay.test.ts` asks these two. */
const askedElsewhere = ["svc_connection_create_link", "svc_connector_import"]

/** The value at a path in a body; `undefined`: there is none. */
const memberAt = (body: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>((value, name) => (isObject(value as Json) ? Reflect.get(Object(value), name) : undefined), body)

/** The arguments with which the tool asks what a request asks; `undefined`: one of them has members that the other lacks. */
const argumentsFor = (
  { tool, use: { places } }: OfferedUse,
  params: { readonly [name: string]: string },
  query: { readonly [name: string]: string },
  body: unknown
): JsonObject | undefined => {
  const input: { [name: string]: Json } = { ...presetArguments[tool.name] }
  const left = new Set([
    ...Object.keys(query).map((name) => `query ${name}`),
    ...(Object.values(places).includes("wholeBody") ? [] : Object.keys(Object(body)).map((name) => `body ${name}`))
  ])
  for (const [name, place] of Object.entries(places)) {
    const type = tool.arguments[name]?.schema["type"]
    if (place === "wholeBody") input[name] = (body ?? {}) as Json
    else if (place !== "version" && "path" in place) input[name] = decodeURIComponent(params[place.path] ?? "")
    else if (place !== "version" && "query" in place && query[place.query] !== undefined) {
      const value = query[place.query] ?? ""
      input[name] = type === "integer" ? Number(value) : type === "boolean" ? value === "true" : value
      left.delete(`query ${place.query}`)
    } else if (place !== "version" && "body" in place) {
      const value = memberAt(body, place.body)
      if (value !== undefined) input[name] = value as Json
      left.delete(`body ${place.body.split(".")[0]}`)
    }
  }
  const isWhole = Object.entries(tool.arguments).every(([name, { isRequired }]) => !isRequired || name in input)
  return left.size === 0 && isWhole ? input : undefined
}

/** How the gateway asks what the request asks; `undefined`: it is to be asked as it is. */
const callFor = (method: string, target: string, { body, from, headers = {}, key, later, raw }: Ask) => {
  const found = findRoute(method, pathOf(target))
  if (found._tag !== "Found" || key === undefined) return undefined
  if (later !== undefined || raw !== undefined || from !== undefined || Object.keys(headers).length > 0)
    return undefined
  const at = target.indexOf("?")
  const query = Object.fromEntries(new URLSearchParams(at < 0 ? "" : target.slice(at)))
  for (const offered of usesOf(found.route)) {
    const input = argumentsFor(offered, found.params, query, body)
    if (input !== undefined) return { key, name: offered.tool.name, input, use: offered.use }
  }
  return undefined
}

/** The answer to a call in the form of REST. */
const answerTo = ({ operation }: OperationUse, { body: { result }, headers }: Answer): Answer => {
  const value = result.structuredContent
  const status = result.isError === true ? value.statusCode : (operation.outputs[0]?.status ?? 200)
  const isRecord = result.isError !== true && !("data" in value)
  const body = isRecord ? { data: value } : value
  return { status, headers, body, text: JSON.stringify(body) }
}

/** The service, whose operations are called through the tools where it has them. */
const throughTools = (svc: Running): Running => ({
  ...svc,
  ask: async (method, target, more = {}) => {
    const call = callFor(method, target, more)
    if (call === undefined) return svc.ask(method, target, more)
    const answer = await post(svc, toolCall(1, call.name, call.input), { key: call.key })
    // A refused key is refused as it is elsewhere, in another form.
    if (answer.status !== 200) return { ...answer, body: answer.body.error.data }
    asked.add(call.name)
    return answerTo(call.use, answer)
  }
})

let started: Promise<World> | undefined
const world = (): Promise<World> =>
  (started ??= startWorld().then((made) => ({ ...made, svc: throughTools(made.svc) })))
let svc: Running
beforeAll(async () => {
  svc = (await world()).svc
})
afterAll(async () => {
  await (await started)?.stop()
})

presetMatrix(() => svc, keyCallers, ["viewer", "operator"])
lackingMatrix(() => svc, keyCallers, ["connections:read", "connectors:write", "connections:update"])
scopeMatrix(world, keyCallers.noun, { once: true })
customerMatrix(world)

describe("the matrices", () => {
  it("ask every tool", () => {
    assert.sameMembers(
      [...asked, ...askedElsewhere],
      adminTools.map(({ name }) => name)
    )
  })
})
