/**
 * Use cases of a customer's stored credentials. Each belongs to one connection: storing a credential creates the connection
 * or replaces its credential, and a key's scope applies through the connection. Contract: surface B bodies.
 */
import { Clock, Effect } from "effect"
import type { Connection } from "../../../domain/connection/Connection.js"
import { RotateCredential, type StoreCredential } from "../../../domain/connection/Requests.js"
import { type Failure, refuseWith } from "../../../domain/Failure.js"
import type { ConnectionId, CredentialId, CustomerId } from "../../../domain/Ids.js"
import { AuditTrail } from "../../ports/AuditTrail.js"
import { Connections } from "../../ports/connection/Connections.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { type CallContext, runAuditedCommand } from "../CallContext.js"
import { missingPermission, narrowedCallerRefusal, outOfScope } from "../Caller.js"
import { actorOf } from "../../../domain/access/Caller.js"
import { Changes } from "../Changes.js"
import {
  connectionScopeRefusal,
  connectionListFilter,
  livingConnections,
  initiatorOf,
  plainCredential,
  redactedCredential
} from "./ConnectionRecords.js"
import {
  type CredentialView,
  findCredential,
  findReplaced,
  maxConnections,
  viewOfCredential
} from "./CredentialRecords.js"
import { type PageRequest, type PageOf, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { Tenants } from "../organisation/Tenants.js"

export interface CredentialListParams extends PageRequest {
  readonly connector?: string | undefined
}

const revealsAtOnce = 8

const make = Effect.gen(function* () {
  const connections = yield* Connections
  const tenants = yield* Tenants
  const identifiers = yield* Identifiers
  const trail = yield* AuditTrail
  const { read } = yield* Changes
  const pages = yield* Pages

  const readView = (context: CallContext, customerId: CustomerId, connectionId: ConnectionId) =>
    read(context, (tx) =>
      Effect.map(findCredential(tx, context.caller, customerId, { connectionId }), ({ connection, credential }) =>
        viewOfCredential(credential, connection)
      )
    )

  const page = (context: CallContext, customerId: CustomerId, params: CredentialListParams) =>
    read(context, function* (tx) {
      const reached = yield* tx.connections.list({
        where: { customerId, ...livingConnections, ...connectionListFilter(context.caller, params.connector) },
        limit: maxConnections
      })
      const byId = new Map(reached.map((connection) => [connection.id, connection]))
      const found = yield* pages.list(tx.credentials, params, { where: { connectionId: [...byId.keys()] } })
      return {
        ...found,
        data: found.data.flatMap((credential) => {
          const connection = byId.get(credential.connectionId)
          return connection === undefined ? [] : [viewOfCredential(credential, connection)]
        })
      }
    })

  const reveal = Effect.fnUntraced(function* (context: CallContext, view: CredentialView) {
    const { organisationId, requestId } = context.caller
    const secrets = yield* connections.reveal({
      organisationId,
      connectionId: view.connectionId,
      by: initiatorOf(context)
    })
    trail.append({
      id: identifiers.next("aud"),
      organisationId,
      at: new Date(yield* Clock.currentTimeMillis).toISOString(),
      actor: actorOf(context.caller),
      action: "connection.decrypt",
      resource: { type: "connection", id: view.connectionId, name: view.label },
      customerId: context.customerId,
      outcome: "success",
      requestId,
      changes: [],
      count: 1
    })
    return { ...view, credential: plainCredential(secrets) }
  })

  const connect = (context: CallContext, customerId: CustomerId, input: StoreCredential) => {
    const { authMethod, config = {}, connector, credential, label = null } = input
    return connections.connect({
      organisationId: context.caller.organisationId,
      customerId,
      connector,
      authMethod,
      label,
      credential: redactedCredential(credential),
      config,
      userId: null,
      authProvider: null,
      tags: {},
      metadata: {},
      redirectUrl: null,
      by: initiatorOf(context)
    })
  }

  const replace = (
    context: CallContext,
    { id }: Connection,
    { config, credential, skipTest = false }: RotateCredential & Pick<StoreCredential, "config">
  ) =>
    connections.storeCredential({
      organisationId: context.caller.organisationId,
      connectionId: id,
      credential: redactedCredential(credential),
      config: config ?? null,
      authMethod: null,
      skipTest,
      by: initiatorOf(context)
    })

  /** `reveal`: with the values in the clear, each audited first. The caller must check the permission to decrypt. */
  const list = Effect.fnUntraced(function* (
    context: CallContext,
    tenant: string,
    params: CredentialListParams,
    reveals: boolean
  ): Effect.fn.Return<PageOf<CredentialView>, Failure> {
    yield* refuseWith(reveals ? missingPermission(context.caller, "connections:decrypt") : undefined)
    const customerId = yield* tenants.find(context, tenant)
    const found = yield* page(context, customerId, params)
    if (!reveals) return found
    const data = yield* Effect.forEach(found.data, (view) => reveal(context, view), {
      concurrency: revealsAtOnce
    })
    return { ...found, data }
  })

  /** Replaces the credential of the connection with the same connector, method and label; creates it if there is none. */
  const store = Effect.fnUntraced(function* (context: CallContext, tenant: string, input: StoreCredential) {
    const customerId = yield* tenants.find(context, tenant)
    const { caller } = context
    const target = yield* read(context, (tx) => findReplaced(tx, customerId, input))
    yield* refuseWith(
      target === undefined
        ? (outOfScope(caller, "connector", input.connector) ??
            narrowedCallerRefusal(caller, "connection", "it makes none"))
        : connectionScopeRefusal(caller, target)
    )
    const storedId =
      target === undefined
        ? Effect.map(connect(context, customerId, input), ({ id }) => id)
        : Effect.as(replace(context, target, input), target.id)
    return yield* runAuditedCommand(
      context,
      Effect.flatMap(storedId, (id) => readView(context, customerId, id))
    )
  })

  /** Replaces the stored values once the provider has accepted the new ones. */
  const rotate = Effect.fnUntraced(function* (
    context: CallContext,
    tenant: string,
    id: string,
    input: RotateCredential
  ): Effect.fn.Return<CredentialView, Failure> {
    const customerId = yield* tenants.find(context, tenant)
    // Unchecked text from the request: an id of another form matches no row.
    const where = { id: id as CredentialId }
    const found = yield* read(context, (tx) => findCredential(tx, context.caller, customerId, where))
    const { connection } = found
    const changes = yield* pickChanges(RotateCredential, input, viewOfCredential(found.credential, connection))
    return yield* runAuditedCommand(
      context,
      Effect.zipRight(replace(context, connection, changes), readView(context, customerId, connection.id))
    )
  })

  return { list, store, rotate }
})

/** `tenant`: the customer's id or `ref:<externalRef>`. Fails with `NotFound` if the caller does not reach the customer. */
export class CustomerCredentials extends Effect.Service<CustomerCredentials>()("svc/CustomerCredentials", {
  effect: make
}) {}
