/** Describes the headers of requests and answers, and derives from a route which of them its operation has. */
import type { Json, JsonObject } from "../../domain/Json.js"
import { idempotencyKeyLength } from "../../domain/Limits.js"
import type { Contract } from "../operation/Contract.js"

// --- Requests ---

const text = (name: string, description: string, schema: JsonObject = {}): JsonObject => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string", ...schema }
})

/** Parameters of the document, by the name that operations refer to. */
export const requestHeaders = {
  IdempotencyKey: text(
    "Idempotency-Key",
    "The request takes effect once for each key; a repetition within 24 hours gets the first answer.",
    { maxLength: idempotencyKeyLength }
  ),
  PassedIdempotencyKey: text("Idempotency-Key", "Forwarded to the provider; with it a POST or PATCH may be retried."),
  IfMatch: text(
    "If-Match",
    'The ETag of the record that was read, as in "3". If the record has changed since, the answer is 409 VERSION_MISMATCH.'
  ),
  TestMode: text("x-svc-test-mode", "`true`; a Test key must send it. With a Live key it is ignored."),
  IdentityHmac: text(
    "x-identity-hmac",
    "`t=<unix seconds>,v1=<hex>`: the signature of the request, for keys that verify their callers."
  ),
  EndOrgId: text("x-end-org-id", "The customer, by id or as `ref:` with the external reference."),
  EndOrgRef: text("x-end-org-ref", "The customer, by external reference. It must agree with the other headers."),
  TenantId: text("x-svc-space-tenantid", "The customer, as `x-end-org-id` names it."),
  OrgId: text("x-org-id", "The customer, where no other header names one."),
  UserId: text(
    "x-user-id",
    "The person for whom the request is made; recorded, and used to choose a person's connection."
  ),
  InstallationId: text(
    "x-installation-id",
    "An installation of the customer. It supplies connections and configuration that no other header does."
  ),
  Connections: text(
    "x-svc-connections",
    "The only connections that may be used: `conn_id`, `slug=conn_id` or `slug:alias=conn_id`, at most 50, with commas."
  ),
  InstallationConfig: text(
    "x-svc-installation-config",
    "The installation's configuration: base64url of a JSON object of at most 8 KiB, or the object itself."
  ),
  Environment: text("x-svc-env", "The slug of the environment. Without it: the organisation's default environment."),
  Stage: text(
    "stage",
    "The version that is called: `DRAFT`, or what an environment runs, by its slug. Without it: `live`."
  ),
  CallbackUrl: text("x-svc-callback-url", "The URL that is called when the run ends, like `callback.url` in the body."),
  Connector: text(
    "x-svc-connector",
    "The connector whose default connection of the customer is used if x-svc-connections names none."
  ),
  Timeout: text("x-svc-timeout-ms", "How long the provider may take, from 1 to 60000 milliseconds.", {
    pattern: "^\\d{1,6}$"
  })
} as const satisfies { readonly [name: string]: JsonObject }

type RequestHeader = keyof typeof requestHeaders

const customerHeaders: ReadonlyArray<RequestHeader> = ["EndOrgId", "EndOrgRef", "TenantId", "OrgId"]
const actingHeaders: ReadonlyArray<RequestHeader> = [
  ...customerHeaders,
  "UserId",
  "InstallationId",
  "Connections",
  "InstallationConfig"
]

/** Operations that compare `If-Match` with the record's version, besides those that replace a record. */
const comparesVersion: ReadonlySet<string> = new Set([
  "customers.delete",
  "workflows.delete",
  "secrets.store",
  "secrets.delete",
  "connectors.delete",
  "connectors.patch",
  "connectors.publish",
  "authProviders.delete",
  "installations.uninstall",
  "triggers.delete",
  "triggers.enable",
  "triggers.disable",
  "triggers.rotateKey"
])

/** Operations on a part of a connector: they answer with the connector's version, and changes compare it. */
const ofConnectorPart: ReadonlySet<string> = new Set([
  "actions.list",
  "actions.get",
  "actions.create",
  "actions.update",
  "actions.delete",
  "actions.newVersion",
  "actions.versions",
  "authMethods.list",
  "authMethods.create",
  "authMethods.update",
  "authMethods.delete",
  "authMethods.setDefault",
  "webhookConfigs.list",
  "webhookConfigs.get",
  "webhookConfigs.upsert",
  "webhookConfigs.delete",
  "webhookConfigs.events"
])

/** The credential has no version of its own. */
const replacesWithoutVersion: ReadonlySet<string> = new Set(["credentials.rotate"])

const idempotencyHeaders = ({ form, method }: Contract): ReadonlyArray<RequestHeader> => {
  if (form.idempotency === "none") return ["PassedIdempotencyKey"]
  return method === "POST" || (method === "PUT" && form.idempotency === "reply") ? ["IdempotencyKey"] : []
}

const versionHeaders = (operation: Contract): ReadonlyArray<RequestHeader> => {
  const id = `${operation.group}.${operation.name}`
  const compared = operation.form.tenancy === "reach" && operation.method === "PUT" && !replacesWithoutVersion.has(id)
  const isPartChange = operation.method !== "GET" && ofConnectorPart.has(id)
  return compared || isPartChange || comparesVersion.has(id) ? ["IfMatch"] : []
}

const tenancyHeaders = ({ form }: Contract): ReadonlyArray<RequestHeader> => {
  if (form.tenancy === "reach") return customerHeaders
  return form.idempotency === "run"
    ? [...actingHeaders, form.answers === "own" ? "Stage" : "Environment", "CallbackUrl"]
    : [...actingHeaders, "Connector", "Timeout"]
}

/** The headers that an operation reads, by what its route declares. */
export const requestHeadersOf = (operation: Contract): ReadonlyArray<RequestHeader> => [
  ...idempotencyHeaders(operation),
  ...versionHeaders(operation),
  ...tenancyHeaders(operation),
  "TestMode",
  "IdentityHmac"
]

// --- Answers ---

const header = (description: string, type = "string"): JsonObject => ({ description, schema: { type } })

/** Headers of the document, by name. */
export const answerHeaders = {
  "x-request-id": header("The id of this request, to be given when it is reported."),
  "x-ratelimit-limit": header(
    "Calls per minute that the lower of the key's and the organisation's limits allows.",
    "integer"
  ),
  "x-ratelimit-remaining": header("Calls that are left in this minute.", "integer"),
  "x-ratelimit-reset": header("The start of the next minute, in Unix seconds.", "integer"),
  "retry-after": header("Seconds after which to try again.", "integer"),
  "idempotent-replayed": header("`true` if this is the answer of an earlier request with the same Idempotency-Key."),
  "cache-control": header("`no-store`, since the answer holds a secret."),
  etag: header("The version of the record, of a part that of its connector, to be sent as If-Match."),
  location: header("The path of the record."),
  "x-svc-execution-id": header("The id of the run."),
  "x-svc-execution-status": header("The status of the run, such as `completed` or `failed`."),
  "x-svc-workflow-version": header("The version that runs, or `draft`."),
  "x-svc-connection-id": header("The connection that was used. Only a provider's own answer has it.")
} as const satisfies { readonly [name: string]: JsonObject }

/** The name of an answer's header. */
export type AnswerHeader = keyof typeof answerHeaders

/** Headers of every answer. */
const commonHeaders: ReadonlyArray<AnswerHeader> = [
  "x-request-id",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset"
]

const runHeaders: ReadonlyArray<AnswerHeader> = [
  "x-svc-execution-id",
  "x-svc-execution-status",
  "x-svc-workflow-version"
]

const headersByErrorStatus: { readonly [status: string]: ReadonlyArray<AnswerHeader> } = {
  408: runHeaders,
  409: ["retry-after"],
  429: ["retry-after"],
  503: ["retry-after"]
}

/** Headers of an error with this status. */
export const errorHeaders = (status: string): ReadonlyArray<AnswerHeader> => [
  ...commonHeaders,
  ...(headersByErrorStatus[status] ?? [])
]

/** Headers of a success. `hasVersion`: whether the answer is a record with a version. */
export const successHeaders = (
  operation: Contract,
  status: string,
  hasVersion: boolean
): ReadonlyArray<AnswerHeader> => {
  const isRun = operation.form.idempotency === "run"
  const isStart = isRun && operation.form.tenancy === "act"
  return [
    ...commonHeaders,
    ...(idempotencyHeaders(operation).includes("IdempotencyKey") ? (["idempotent-replayed"] as const) : []),
    ...(isStart ? runHeaders : []),
    ...(status === "201" || (isRun && status === "202") ? (["location"] as const) : []),
    ...(hasVersion || ofConnectorPart.has(`${operation.group}.${operation.name}`) ? (["etag"] as const) : []),
    ...(operation.noStore ? (["cache-control"] as const) : [])
  ]
}

/** Headers of a provider's own answer. */
export const providerHeaders: ReadonlyArray<AnswerHeader> = [...commonHeaders, "x-svc-connection-id"]

/** References to the headers, as the `headers` of an answer. */
export const headerReferences = (names: ReadonlyArray<AnswerHeader>): { readonly [name: string]: Json } =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
