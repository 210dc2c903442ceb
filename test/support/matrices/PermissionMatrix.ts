/** The permissions of a caller on every endpoint: each endpoint is refused to whoever lacks its permission, and to nobody else. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { allPermissions, isPermission, type Preset, presetPermissions } from "../../../src/domain/access/Permission.js"
import type { Route } from "../../../src/http/pipeline/Routes.js"
import { routes } from "../endpoints.js"
import type { Running } from "../InProcess.js"
import type { TestCallers } from "./TestCaller.js"

/** A well-formed id of no record. */
export const unknownIds: { readonly [parameter: string]: string } = {
  cid: "cus_00000000000000000000000000",
  wid: "wf_000000000000",
  workflowId: "wf_000000000000",
  eid: "exec_00000000000000000000000000",
  kid: "key_00000000000000000000000000",
  uid: "usr_00000000000000000000000000",
  rid: "role_00000000000000000000000000",
  conn: "conn_00000000000000000000000000",
  ctr: "ctr_00000000000000000000000000",
  aid: "aup_00000000000000000000000000",
  sid: "sec_00000000000000000000000000",
  tid: "cus_00000000000000000000000000",
  cred: "cred_00000000000000000000000000",
  inst: "inst_00000000000000000000000000",
  rpt: "rpt_00000000000000000000000000",
  fmp: "fmp_00000000000000000000000000",
  trg: "trg_00000000000000000000000000",
  evt: "evt_00000000000000000000000000",
  dlq: "dlq_00000000000000000000000000",
  rpl: "rpl_00000000000000000000000000",
  whe: "whe_00000000000000000000000000",
  att: "att_00000000000000000000000000",
  ntf: "ntf_00000000000000000000000000",
  apv: "apv_00000000000000000000000000",
  ses: "ses_00000000000000000000000000",
  env: "env_00000000000000000000000000",
  rel: "rel_00000000000000000000000000",
  oid: "org_00000000000000000000000000",
  spid: "spc_00000000000000000000000000",
  id: "blob_00000000000000000000000000",
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

/** The path of a route with these ids. */
export const pathWith = (route: Route, ids: { readonly [parameter: string]: string }) =>
  route.path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? assert.fail(`no id for :${name} of ${route.path}`))

/** Surface B has its own header for credentials, and one for the workspace. */
export const sentAs = (svc: Running, route: Route, credential: string) =>
  route.path.startsWith("/api/v1/tenants/")
    ? { headers: { "x-svc-api-key": credential, "x-svc-space-id": svc.first.spaceId } }
    : { key: credential }

const needs = ({ permit }: Route): ReadonlyArray<string> => {
  if (permit === undefined || permit === "anyCaller") return []
  if (typeof permit === "string") return [permit]
  return "ofOthers" in permit ? [permit.ofOthers] : permit
}

/** An otherwise empty request to the endpoint about no record. */
const ask = (svc: Running, route: Route, credential: string) =>
  svc.ask(route.method, pathWith(route, unknownIds), {
    ...sentAs(svc, route, credential),
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
      const wanted = needs(route)
      if (wanted.length > 0 && !wanted.some((one) => held.has(one))) {
        assert.deepStrictEqual([status, body.code, body.details[0].code], [403, "FORBIDDEN", wanted[0]])
      } else {
        assert.notStrictEqual(status, 403, JSON.stringify(body))
        assert.isBelow(status, 500)
      }
    })
  })

/** All permissions that some endpoint needs. */
export const neededPermissions: ReadonlyArray<string> = [...new Set(routes.flatMap((route) => needs(route)))]

/** Of all endpoints, exactly those that need a permission refuse a caller that has all others. */
export const lackingMatrix = (svc: () => Running, callers: TestCallers, lacked: ReadonlyArray<string>) =>
  describe(`a ${callers.noun} with all permissions except one`, () => {
    it.each(lacked)("lacks exactly %s", async (lacking) => {
      const permissions = allPermissions.filter((one) => one !== lacking)
      const { credential } = await callers.make(svc(), { permissions })
      for (const route of routes) {
        const { body, status } = await ask(svc(), route, credential)
        const wanted = needs(route)
        const refused = status === 403 && isPermission(body.details[0]?.code ?? "") && body.details[0].code === lacking
        const alsoNeeded = route.group === "proxy" && lacking === "connections:read"
        assert.strictEqual(
          refused,
          alsoNeeded || (wanted.length === 1 && wanted[0] === lacking),
          `${route.method} ${route.path}: ${JSON.stringify(body)}`
        )
      }
    })
  })
