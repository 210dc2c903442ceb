/**
 * Use cases of an organisation's OAuth clients at providers, for its own and for built-in connectors. A key's scope applies
 * to a client through its connector. Contract: auth provider record.
 */
import { Effect, Option } from "effect"
import { AuthProvider, type StoredClient, UpsertAuthProvider } from "../../../domain/connector/ConnectorRecord.js"
import { type Failure, invalid, NotFound } from "../../../domain/Failure.js"
import type { Tx } from "../../ports/Records.js"
import { make as makeAuthProviderRecords, maxAuthProviders } from "./AuthProviderRecords.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { makeSecretValues } from "../access/SecretRecords.js"
import { ConnectorRecords, definitionOf } from "../connector/ConnectorRecords.js"
import { pickChanges } from "../ReadOnly.js"

export type AuthProviderView = ReturnType<typeof AuthProvider.show>

/** The client for the audit trail, which shows that the secret changed but not the secret. */
const trailOf = (provider: AuthProvider | null) =>
  provider === null
    ? null
    : {
        name: provider.name,
        methodId: provider.methodId,
        clientId: provider.clientId,
        clientSecret: provider.clientSecret === null ? null : `version ${provider.version}`,
        scopes: provider.scopes,
        isDefault: provider.isDefault
      }

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const providers = yield* makeAuthProviderRecords
  const connectors = yield* ConnectorRecords
  const secrets = yield* makeSecretValues

  /** The connector's slug, and those of its methods that need a client. */
  const findMethods = Effect.fnUntraced(function* (tx: Tx, caller: Principal, connector: string) {
    const found = yield* connectors.find(tx, caller, connector)
    const { auth, slug } = yield* definitionOf(tx, found, undefined)
    const methods = auth.filter(({ type }) => type === "oauth2")
    const preset = methods.find((method) => method.default === true) ?? methods[0]
    return { slug, methods: methods.map(({ id }) => id), defaultMethod: preset?.id }
  })

  /** The client of a request, with its method, and with its secret where that is named. */
  const clientOf = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    { methods, defaultMethod }: { readonly methods: ReadonlyArray<string>; readonly defaultMethod: string | undefined },
    { clientSecretName, methodId = defaultMethod, ...input }: UpsertAuthProvider
  ): Effect.fn.Return<StoredClient, Failure> {
    if (methodId === undefined || !methods.includes(methodId))
      return yield* invalid("methodId", "NOT_FOUND", "names no OAuth2 method of the connector")
    if (clientSecretName === undefined) return { ...input, methodId }
    if (input.clientSecret !== undefined)
      return yield* invalid("clientSecretName", "NOT_ALLOWED", "excludes clientSecret: send one of them")
    const clientSecret = yield* secrets.openNamed(tx, caller, clientSecretName, "clientSecretName")
    return { ...input, methodId, clientSecret }
  })

  const viewOf = ({ organisationId }: Principal, provider: AuthProvider): AuthProviderView =>
    AuthProvider.show(provider, {
      hasClientSecret: provider.clientSecret !== null,
      redirectUri: connectors.redirectUri(organisationId, provider.connector)
    })

  const list = (context: CallContext, connector: string) =>
    read(context, function* (tx) {
      const { slug } = yield* findMethods(tx, context.caller, connector)
      const rows = yield* tx.authProviders.list({ where: { connector: slug }, limit: maxAuthProviders })
      const data = rows.map((row) => viewOf(context.caller, row))
      return { data, page: { size: maxAuthProviders, nextCursor: null, hasMore: false } }
    })

  /** Creates or changes the client of this method and name. */
  const upsert = (context: CallContext, connector: string, input: UpsertAuthProvider) =>
    change(context, function* (tx) {
      const { caller } = context
      const { slug, ...methods } = yield* findMethods(tx, caller, connector)
      const client = yield* clientOf(tx, caller, methods, input)
      const found = yield* providers.lock(tx, slug, client)
      yield* checkVersion(context, input.version, found?.version ?? 0)
      const changes = yield* pickChanges(UpsertAuthProvider, client, found === null ? {} : viewOf(caller, found))
      const { methodId } = client
      const { after, before } = yield* providers.write(tx, caller, slug, { ...changes, methodId }, found)
      return {
        value: viewOf(caller, after),
        resource: { id: after.id, name: after.name },
        before: trailOf(before),
        after: trailOf(after)
      }
    })

  const remove = (context: CallContext, connector: string, id: string) =>
    change(context, function* (tx) {
      const { slug } = yield* findMethods(tx, context.caller, connector)
      // Unchecked text from the request: an id of another form matches no row.
      const where = { id: id as AuthProvider["id"], connector: slug }
      const found = yield* tx.authProviders.lock(where)
      if (Option.isNone(found)) return yield* new NotFound({ what: "auth provider" })
      const before = found.value
      yield* checkVersion(context, undefined, before.version)
      yield* tx.authProviders.remove(where)
      const resource = { id: before.id, name: before.name }
      return { value: undefined, resource, before: trailOf(before), after: null }
    })

  return { list, upsert, remove }
})

/** `connector`: an id or a slug. */
export class AuthProviders extends Effect.Service<AuthProviders>()("svc/AuthProviders", { effect: make }) {}
