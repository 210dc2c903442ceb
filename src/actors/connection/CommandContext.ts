/** What the commands of a connection's owner share. */
import type { Effect } from "effect"
import type { Initiator } from "../ports/connection/Connections.js"
import type { ConnectionStore } from "../ports/connection/ConnectionStore.js"
import type { TokenEndpoint } from "../ports/connection/TokenEndpoint.js"
import type { CredentialBuilder } from "./credential/CredentialBuilder.js"
import type { ConnectionOwners } from "./ConnectionOwners.js"
import type { make as makeCreation } from "./ConnectionCreation.js"
import type { StoredCredentialTest } from "./credential/StoredCredentialTest.js"
import type { TokenRefresh } from "./credential/TokenRefresh.js"
import type { ConnectSessions } from "./ConnectSessions.js"

/** What every command carries: for which organisation, and who asked. */
export interface CommandPayload {
  readonly organisationId: string
  readonly by: Initiator
}

/** What the commands need. */
export interface CommandContext {
  readonly owners: ConnectionOwners["Type"]
  readonly store: ConnectionStore["Type"]
  readonly endpoint: TokenEndpoint["Type"]
  readonly creation: Effect.Effect.Success<typeof makeCreation>
  readonly buildFromInput: CredentialBuilder["Type"]["buildFromInput"]
  readonly endUnrenewable: StoredCredentialTest["Type"]["endUnrenewable"]
  readonly connectorOf: StoredCredentialTest["Type"]["connectorOf"]
  readonly testStored: StoredCredentialTest["Type"]["testStored"]
  readonly renewAndRead: StoredCredentialTest["Type"]["renewAndRead"]
  readonly clientOf: TokenRefresh["Type"]["clientOf"]
  readonly sessions: ConnectSessions["Type"]
}
