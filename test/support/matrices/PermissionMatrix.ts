/** The permissions of a caller on every endpoint: each endpoint is refused to whoever lacks its permission, and to nobody else. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { allPermissions, isPermission, type Preset, presetPermissions } from "../../../src/domain/access/Permission.js"
import type { Route } from "../../../src/http/pipeline/Routes.js"
import { pathWith, routes, sentAs } from "../endpoints.js"
import type { Running } from "../InProcess.js"
import type { TestCallers } from "./TestCaller.js"

const idOfNone = (prefix: string): string => `${prefix}_${"0".repeat(26)}`

/** Of parameters that have another name than the prefix of their ids, or name no record. */
const specialIds: { readonly [parameter: string]: string } = {
  cid: idOfNone("cus"),
  tid: idOfNone("cus"),
  wid: "wf_000000000000",
  workflowId: "wf_000000000000",
  eid: idOfNone("exec"),
  kid: idOfNone("key"),
  uid: idOfNone("usr"),
  rid: idOfNone("role"),
  aid: idOfNone("aup"),
  sid: idOfNone("sec"),
  oid: idOfNone("org"),
  spid: idOfNone("spc"),
  id: idOfNone("blob"),
  n: "1",
  name: "step",
  a: "1",
  b: "1",
  path: "v1/orders",
  category: "crm",
  entity: "contact",
  recordId: "1",
  model: "CDMOrder"
}

const parameters = new Set(routes.flatMap(({ path }) => [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)))

/** A well-formed id of no record, by path parameter. */
export const unknownIds: { readonly [parameter: string]: string } = Object.fromEntries(
  [...parameters].map((name) => [name, specialIds[name] ?? idOfNone(name)])
)

/** The permissions of an endpoint. `areAllNeeded`: else any one of them suffices. */
const needs = ({ permit }: Route): { readonly wanted: ReadonlyArray<string>; readonly areAllNeeded: boolean } => {
  if (permit === undefined || permit === "anyCaller") return { wanted: [], areAllNeeded: true }
  if (typeof permit === "string") return { wanted: [permit], areAllNeeded: true }
  if ("all" in permit) return { wanted: permit.all, areAllNeeded: true }
  return "ofOthers" in permit
    ? { wanted: [permit.ofOthers], areAllNeeded: true }
    : { wanted: permit, areAllNeeded: false }
}

/** The permission that the endpoint refuses a caller of these for; `undefined`: it admits it. */
const lackedOf = (route: Route, held: ReadonlySet<string>): string | undefined => {
  const { areAllNeeded, wanted } = needs(route)
  if (areAllNeeded) return wanted.find((one) => !held.has(one))
  return wanted.some((one) => held.has(one)) ? undefined : wanted[0]
}

/** An otherwise empty request to the endpoint about no record. */
const ask = (svc: Running, route: Route, credential: string) =>
  svc.ask(route.method, pathWith(route, unknownIds), {
    ...sentAs(svc, route.path, credential),
    ...(route.method === "GET" || route.method === "DELETE" ? {} : { body: {} })
  })

/** Every endpoint refuses callers of these presets if they lack its permission, and admits them if not. */
export const presetMatrix = (
  svc: () => Running,
  callers: TestCallers,
  presets: ReadonlyArray<Exclude<Preset, "custom">>
) =>
  describe.each(presets)(`a ${callers.noun} of the preset %s`, (preset) => {
    const held: ReadonlySet<string> = presetPermissions(preset)
    let credential: string
    beforeAll(async () => {
      credential = (await callers.make(svc(), { permissions: preset })).credential
    })

    it.each(routes)("$method $path", async (route) => {
      const { body, status } = await ask(svc(), route, credential)
      const lacked = lackedOf(route, held)
      if (lacked !== undefined) {
        assert.deepStrictEqual([status, body.code, body.details[0].code], [403, "FORBIDDEN", lacked])
      } else {
        assert.notStrictEqual(status, 403, JSON.stringify(body))
        assert.isBelow(status, 500)
      }
    })
  })

/** All permissions that some endpoint needs. */
export const neededPermissions: ReadonlyArray<string> = [...new Set(routes.flatMap((route) => needs(route).wanted))]

/** Of all endpoints, exactly those that need a permission refuse a caller that has all others. */
export const lackingMatrix = (svc: () => Running, callers: TestCallers, lacked: ReadonlyArray<string>) =>
  describe(`a ${callers.noun} with all permissions except one`, () => {
    it.each(lacked)("lacks exactly %s", async (lacking) => {
      const permissions = allPermissions.filter((one) => one !== lacking)
      const { credential } = await callers.make(svc(), { permissions })
      for (const route of routes) {
        const { body, status } = await ask(svc(), route, credential)
        const refused = status === 403 && isPermission(body.details[0]?.code ?? "") && body.details[0].code === lacking
        const alsoNeeded = route.group === "proxy" && lacking === "connections:read"
        assert.strictEqual(
          refused,
          alsoNeeded || lackedOf(route, new Set(permissions)) === lacking,
          `${route.method} ${route.path}: ${JSON.stringify(body)}`
        )
      }
    })
  })
