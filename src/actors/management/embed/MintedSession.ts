/**
 * The embed session that a request asks for: for whom it is, and what it may use, from the request, its widget and its key.
 * Contract: embed.
 */
import { Effect, Option, Schema } from "effect"
import type { Caller } from "../../../domain/access/Caller.js"
import { EmbedSession, embedLimits } from "../../../domain/access/EmbedSession.js"
import {
  missingPermissions,
  type PermissionMatrix,
  presetPermissions,
  toMatrix,
  toSet
} from "../../../domain/access/Permission.js"
import { type Failure, Forbidden, invalid, refusalOf, refuseWith } from "../../../domain/Failure.js"
import type { WidgetId } from "../../../domain/Ids.js"
import { type Customer, customerRefusal } from "../../../domain/organisation/Customer.js"
import { noFeatures, type WidgetVersion, widgetParts } from "../../../domain/organisation/Widget.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal } from "../Caller.js"
import { namedInBody } from "../organisation/CustomerRecords.js"
import { partMistakes } from "../organisation/WidgetRecords.js"

const text = (most: number) => Schema.String.pipe(Schema.minLength(1), Schema.maxLength(most))

/** The body that mints a token. */
export const MintToken = Schema.Struct({
  endOrgId: Schema.optional(
    text(140).annotations({ description: "the customer, as cus_… or ref:…; a header may name it instead" })
  ),
  endOrgRef: Schema.optional(text(130).annotations({ description: "the customer's externalRef, instead of endOrgId" })),
  ...EmbedSession.Create.fields,
  expiresIn: Schema.optional(
    Schema.Int.pipe(Schema.between(embedLimits.token.least, embedLimits.token.most)).annotations({
      description: `seconds for which each token is valid; ${embedLimits.token.usual} unless stated`
    })
  )
}).annotations({ identifier: "MintToken" })
export type MintToken = typeof MintToken.Type

/** The active customer that the body names, or else the headers. */
const customerOf = Effect.fnUntraced(function* (
  tx: Tx,
  { caller, namedCustomer }: CallContext,
  { endOrgId, endOrgRef }: MintToken
): Effect.fn.Return<Customer, Failure> {
  const byId = endOrgId ?? (endOrgRef === undefined ? namedCustomer : null)
  const named = [
    ...(byId === null ? [] : [yield* namedInBody(tx, caller, "endOrgId", byId)]),
    ...(endOrgRef === undefined ? [] : [yield* namedInBody(tx, caller, "endOrgRef", `ref:${endOrgRef}`)])
  ]
  const [customer, other] = named
  if (customer === undefined)
    return yield* invalid("endOrgId", "REQUIRED", "is required: name the customer for whom the session is")
  if (other !== undefined && other.id !== customer.id)
    return yield* invalid("endOrgRef", "INVALID_VALUE", "names another customer than endOrgId")
  yield* refuseWith(customerRefusal(customer))
  return customer
})

/** The version of the widget that new sessions have. */
const widgetOf = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  id: string
): Effect.fn.Return<WidgetVersion, Failure> {
  yield* refuseWith(outOfScope(caller, "widget", id))
  // Unchecked text from the request: an id of another form matches no row.
  const widget = Option.getOrUndefined(yield* tx.widgets.find({ id: id as WidgetId }))
  if (widget === undefined) return yield* invalid("widgetId", "NOT_FOUND", "names no widget")
  const number = widget.publishedVersion
  const version = number === null ? Option.none() : yield* tx.widgetVersions.find({ widgetId: widget.id, number })
  return Option.isSome(version)
    ? version.value
    : yield* invalid("widgetId", "NOT_PUBLISHED", "names a widget that was not published: publish it first")
})

/** All connectors of a widget: those whose accounts it offers, and those of its integrations. */
const connectorsOf = (widget: WidgetVersion): ReadonlyArray<string> => [
  ...new Set(widgetParts(widget).flatMap(({ id, type }) => (type === "connector" ? [id] : [])))
]

/** What the request names, if all of it is among what the widget has; else what the widget has. */
const within = <A extends string>(
  member: string,
  asked: ReadonlyArray<A> | null | undefined,
  offered: ReadonlyArray<A> | undefined
): Effect.Effect<ReadonlyArray<A> | undefined, Failure> => {
  if (asked === undefined || asked === null) return Effect.succeed(offered)
  const at = offered === undefined ? -1 : asked.findIndex((one) => !offered.includes(one))
  return at < 0
    ? Effect.succeed(asked)
    : invalid(`${member}[${at}]`, "NOT_OFFERED", "is not one of the widget's: a session is for what its widget has")
}

/** Fails if a connector is out of the key's scope, or cannot be used. */
const checkConnectors = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  connectors: ReadonlyArray<string>
): Effect.fn.Return<void, Failure> {
  for (const one of connectors) yield* refuseWith(outOfScope(caller, "connector", one))
  yield* refuseWith(refusalOf(yield* partMistakes(tx, caller, { connectors, features: noFeatures })))
})

const endUser = presetPermissions("end_user")

/** The permissions that the request asks for: some of an end user's, or all of them. */
const permissionsOf = (asked: PermissionMatrix | undefined): Effect.Effect<PermissionMatrix, Failure> => {
  if (asked === undefined) return Effect.succeed(toMatrix(endUser))
  const [excess] = missingPermissions(toSet(asked), endUser)
  return excess === undefined
    ? Effect.succeed(asked)
    : invalid("permissions", "INVALID_VALUE", `has ${excess}, which end users do not have`)
}

/** The key that the caller is; no other caller opens sessions. */
const keyOf = ({ bounds, starter }: Caller) =>
  starter.keyId === null || bounds.customers === "all"
    ? new Forbidden({
        code: "CUSTOMER_SUBSET_REQUIRED",
        message: "embed tokens are minted with an API key that reaches chosen customers, not all of them"
      })
    : Effect.succeed(starter.keyId)

/** What a session offers, and where and how its page looks: as the request says, within its widget, or else as that says. */
const offerOf = Effect.fnUntraced(function* (tx: Tx, caller: Principal, input: MintToken) {
  const id = input.widgetId ?? null
  const widget = id === null ? undefined : yield* widgetOf(tx, caller, id)
  const offered = widget === undefined ? undefined : connectorsOf(widget)
  const connectors = yield* within("connectors", input.connectors, offered)
  yield* checkConnectors(tx, caller, input.connectors ?? [])
  const allowedOrigins = yield* within("allowedOrigins", input.allowedOrigins, widget?.allowedOrigins)
  const { locale = widget?.locale ?? "en", theme = widget?.theme ?? {} } = input
  return {
    shown: { connectors: connectors ?? null, allowedOrigins: allowedOrigins ?? [], theme, locale },
    widgetId: widget?.widgetId ?? null,
    widgetVersion: widget?.number ?? null
  }
})

/** The person in the company's product, by the address if there is nothing else. */
const userOf = ({ userEmail = null, userId = null }: MintToken): string | null =>
  userId ?? (userEmail === null ? null : `email:${userEmail}`)

/** What the session is made of that a request asks for. */
export const requestedSession = Effect.fnUntraced(function* (tx: Tx, context: CallContext, input: MintToken) {
  const { caller } = context
  const customer = yield* customerOf(tx, context, input)
  context.customerId = customer.id
  const { shown, widgetId, widgetVersion } = yield* offerOf(tx, caller, input)
  const permissions = yield* permissionsOf(input.permissions)
  const keyId = yield* keyOf(caller)
  return {
    body: { ...input, ...shown, permissions, widgetId, userId: userOf(input) },
    written: {
      organisationId: caller.organisationId,
      spaceId: caller.spaceId,
      keyId,
      customerId: customer.id,
      widgetVersion
    },
    tokenSeconds: input.expiresIn ?? embedLimits.token.usual
  }
})
