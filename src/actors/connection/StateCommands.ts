/** The commands that change a connection's state or labels: enable, disable, edit, disconnect. */
import { Effect, Either, type Scope } from "effect"
import { Conflict } from "../../domain/Failure.js"
import { credentialRefused, notFound, type OpenConnection, type ConnectionOwner } from "./ConnectionOwner.js"
import { configuredUrl } from "../../domain/connector/request/BaseUrl.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import { notActive } from "./CallAuthorizer.js"
import type { CommandRefusal, PayloadOf } from "./Protocol.js"
import { TokenEndpoint } from "../ports/connection/TokenEndpoint.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { StoredCredentialTest } from "./credential/StoredCredentialTest.js"
import { TokenRequests } from "./credential/TokenRequests.js"

const requireVersion =
  (version: number | null) =>
  ({ connection }: OpenConnection): CommandRefusal | undefined =>
    version === null || version === connection.version
      ? undefined
      : new Conflict({
          code: "VERSION_MISMATCH",
          message: "the record has changed since you read it: read it again"
        })

export const makeStateCommands = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const endpoint = yield* TokenEndpoint
  const { connectorOf, testStored } = yield* StoredCredentialTest
  const { clientOf } = yield* TokenRequests

  /** Enables the connection; one with a credential only if that passes its test. */
  const enableConnection = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: PayloadOf<"Enable">,
    scope: Scope.Scope
  ) {
    const { connection, plain } = yield* owners.read(self, request.organisationId)
    if (connection.status === "inactive" && plain !== null) {
      const { open, result } = yield* testStored(self, request.organisationId, scope)
      // The refresh before the test found that the provider has revoked the grant.
      if (open.connection.status === "expired") return yield* notActive(open.connection)
      if (result._tag === "NotPassed") return yield* credentialRefused(result.message)
    }
    const audit = { action: "connection.enable", by: request.by }
    yield* owners.change(self, request.organisationId, { _tag: "Enable" }, { audit })
  })

  const disableConnection = (self: ConnectionOwner, { by, organisationId }: PayloadOf<"Disable">) =>
    owners.change(self, organisationId, { _tag: "Disable" }, { audit: { action: "connection.disable", by } })

  const editConnection = (self: ConnectionOwner, request: PayloadOf<"Edit">) =>
    owners.change(
      self,
      request.organisationId,
      { _tag: "Edit", label: request.label ?? undefined, tags: request.tags ?? undefined },
      {
        audit: { action: "connection.update", by: request.by },
        makesDefault: request.isDefault,
        precondition: requireVersion(request.version)
      }
    )

  /** Revokes the token at the provider. The credential is deleted here already, so a failure changes nothing. */
  const revoke = Effect.fnUntraced(function* ({ connection, plain }: OpenConnection, method: AuthMethod) {
    if (method.type !== "oauth2" || method.revocationUrl === undefined || plain?._tag !== "Tokens") return
    const url = configuredUrl(method.revocationUrl, connection.config)
    if (Either.isLeft(url)) return
    const { accessToken, fields, provider, refreshToken } = plain
    yield* endpoint.revoke({
      organisationId: connection.organisationId,
      url: url.right,
      body: method.revocationBody,
      client: yield* clientOf(connection, method, fields, provider),
      token: refreshToken ?? accessToken,
      hint: refreshToken === null ? "access_token" : "refresh_token"
    })
  })

  /** Disconnects for good and deletes the credential; revokes the token at the provider in the background, unless told not to. */
  const disconnectConnection = Effect.fnUntraced(function* (self: ConnectionOwner, request: PayloadOf<"Disconnect">) {
    const before = yield* owners.read(self, request.organisationId)
    if (before.connection.status === "disconnected") return yield* notFound()
    const found = yield* Effect.option(connectorOf(before))
    // A refresh may replace the token before the change commits: `precondition` sees the token to revoke.
    let last = before
    yield* owners.change(
      self,
      request.organisationId,
      { _tag: "Disconnect" },
      {
        audit: { action: "connection.delete", by: request.by },
        precondition: (open) => {
          last = open
          return requireVersion(request.version)(open)
        }
      }
    )
    if (found._tag === "Some" && request.revokes !== false)
      yield* revoke(last, found.value.method).pipe(
        Effect.catchAll((failure) =>
          Effect.annotateLogs(Effect.logInfo("connection.token_not_revoked"), {
            connectionId: self.id,
            reason: failure._tag
          })
        ),
        Effect.forkDaemon
      )
  })

  return { enableConnection, disableConnection, editConnection, disconnectConnection }
})
