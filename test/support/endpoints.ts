/**
 * The request of every endpoint about the records of one side of the world. It follows from the endpoint's row: the path names
 * the side's records, the body is the documents' example about the side, and a DELETE consumes a record of its own. What
 * that does not say stands in `endpointTable.ts`.
 */
import { SchemaAST } from "effect"
import type { ScopeType } from "../../src/domain/access/ResourceScope.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"
import { surfaceA, surfaceAStart, surfaceB, surfaceC, surfaceCStart } from "../../src/http/operations/Surfaces.js"
import type { Route } from "../../src/http/pipeline/Routes.js"
import { endpointTable, newRecords, partIds, replacedDraft, testedStep } from "./endpointTable.js"
import type { Scope, Side, World } from "./endpointWorld.js"
import type { Answer } from "./InProcess.js"

export const routes: ReadonlyArray<Route> = [...surfaceAStart, ...surfaceA, ...surfaceCStart, ...surfaceC, ...surfaceB]

export const nameOf = ({ method, path }: Pick<Route, "method" | "path">): string => `${method} ${path}`

/** The side that a request is about, and the API key that sends it. */
export interface EndpointRequest {
  readonly world: World
  readonly side: Side
  /** The scope of the key. */
  readonly scope: Scope
  /** The type of resource to which the key is restricted, if the test is about that. */
  readonly type?: ScopeType | undefined
}

export interface Endpoint {
  readonly body?: (asked: EndpointRequest) => unknown
  readonly query?: (asked: EndpointRequest) => string
  readonly headers?: (asked: EndpointRequest) => Answer["headers"]
  /** Creates records that the request consumes. */
  readonly uses?: (asked: EndpointRequest) => Promise<Partial<Side>>
  /** Creates the records with which its run reads a secret, where those of the side do not. */
  readonly reads?: (asked: EndpointRequest) => Promise<Partial<Side>>
  /** It tells of the caller, so that no two callers get the same. */
  readonly isOfCaller?: true
  /** Only keys of chosen customers may call it. */
  readonly isForChosen?: true
  /** Statuses of 400 and above that also show that the request reached the record. */
  readonly alsoAnswers?: ReadonlyArray<number>
}

// --- What follows from the row ---

/** The members of a schema's values; those of `undefined`: none. */
export const membersOf = (schema: { readonly ast: SchemaAST.AST } | undefined): ReadonlyArray<string> =>
  schema === undefined
    ? []
    : SchemaAST.getPropertySignatures(SchemaAST.typeAST(schema.ast)).map(({ name }) => String(name))

/** Members of bodies that name a record of the side, must differ from those of other records, or affect other requests. */
const ownMembers = ({ side, world }: EndpointRequest): { readonly [member: string]: () => Json } => ({
  customerId: () => side.customer,
  workflowId: () => side.workflow,
  environment: () => side.environment,
  name: world.unique,
  slug: world.unique,
  externalRef: world.unique,
  email: () => `${world.unique()}@example.com`,
  // Else publishing, which other requests do, would deploy to it.
  autoDeploy: () => false
})

const withOwn = (value: Json, own: ReturnType<typeof ownMembers>): Json => {
  if (Array.isArray(value)) return value.map((child) => withOwn(child, own))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, own[name]?.() ?? withOwn(child, own)])
  ) satisfies JsonObject
}

/** The documents' example about the side. A record that it makes is of the side's customer. */
const exampleBody = ({ example, input: { body }, method }: Route, asked: EndpointRequest): unknown => {
  if (example === undefined) return undefined
  const own = withOwn(example, ownMembers(asked))
  const isOwned = method === "POST" && membersOf(body).includes("customerId")
  return isOwned && isObject(own) ? { ...own, customerId: asked.side.customer } : own
}

const lastParameter = ({ path }: Route): string => /\/:(\w+)$/.exec(path)?.[1] ?? ""

/** How an endpoint is asked. Surface B is asked as the endpoint of C that it offers. */
export const endpointOf = (route: Route): Endpoint => {
  const name = nameOf(route)
  const special = endpointTable[name] ?? endpointTable[name.replace("/tenants/:tid/", "/")]
  const consumed = route.method === "DELETE" ? newRecords[lastParameter(route)] : undefined
  return { ...(consumed === undefined ? {} : { uses: consumed }), ...special }
}

// --- Requests ---

/** The values of path parameters, by name. */
export const partsOf = (
  side: Side,
  { first }: Pick<World["svc"], "first">
): { readonly [parameter: string]: string } => ({
  cid: side.customer,
  tid: side.customer,
  wid: side.workflow,
  workflowId: side.workflow,
  eid: side.execution,
  id: side.blob,
  kid: side.apiKey,
  uid: side.person,
  rid: side.role,
  sid: side.secret,
  ctr: side.connector,
  aid: side.client,
  act: partIds.action,
  mtd: partIds.authMethod,
  whk: partIds.webhook,
  conn: side.connection,
  env: side.ownEnvironment,
  rel: side.release,
  inst: side.installation,
  wdg: side.widget,
  ems: side.embedSession,
  cs: side.connectSession,
  trg: side.trigger,
  evt: side.event,
  dlq: side.deadLetter,
  rpl: side.replay,
  cred: side.credential,
  whe: side.webhookEndpoint,
  att: side.attempt,
  ntf: side.notification,
  apv: side.approval,
  // No key has one.
  ses: "ses_01jd0000000000000000000000",
  oid: first.organisationId,
  spid: first.spaceId,
  n: replacedDraft,
  name: testedStep,
  a: "1",
  b: "1",
  path: "me",
  // An action and a webhook of that connector.
  // A contact of the connector of `oauthProvider.ts`, the side's override of its map, and its report.
  category: "crm",
  entity: "contact",
  recordId: "ada@example.com",
  model: "crm.contact",
  fmp: side.fieldMap,
  rpt: side.report
})

/** The path of a route with these ids. */
export const pathWith = (route: Route, ids: { readonly [parameter: string]: string }): string =>
  route.path.replace(/:(\w+)/g, (_, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`no record is known for :${name} of ${nameOf(route)}`)
    return id
  })

export interface Prepared {
  readonly target: string
  readonly body: unknown
  readonly headers: Answer["headers"]
}

/** The request of an endpoint about the side. */
export const prepareRequest = (route: Route, asked: EndpointRequest): Prepared => {
  const { body, headers, query } = endpointOf(route)
  const path = pathWith(route, partsOf(asked.side, asked.world.svc))
  const asks = query?.(asked)
  return {
    target: asks === undefined ? path : `${path}?${asks}`,
    body: body === undefined ? exampleBody(route, asked) : body(asked),
    headers: headers?.(asked) ?? {}
  }
}

/** Surface B has its own header for credentials, and one for the workspace. */
export const sentAs = (svc: Pick<World["svc"], "first">, path: string, credential: string) =>
  path.startsWith("/api/v1/tenants/")
    ? { headers: { "x-svc-api-key": credential, "x-svc-space-id": svc.first.spaceId } }
    : { key: credential, headers: {} }

/** Sends the request with the key in the header of its surface. */
export const sendRequest = (
  { svc }: World,
  { method }: Pick<Route, "method">,
  { body, headers, target }: Prepared,
  key: string
): Promise<Answer> => {
  const { headers: ofKey, ...rest } = sentAs(svc, target, key)
  return svc.ask(method, target, {
    ...rest,
    headers: { ...ofKey, ...headers },
    ...(body === undefined ? {} : { body })
  })
}

/** The status and the code of a refusal. On surface B the code is that of the first detail. */
export const refusalOf = ({ body, status }: Answer): readonly [number, string | undefined] => {
  const finer = body?.details?.[0]?.code
  return [status, body?.isCustomAuthError === undefined ? body?.code : (finer ?? body.code)]
}
