/** Tells which OAuth clients a change of a definition's parts stores: the others may have been replaced meanwhile. */
import type { InlineClient } from "../ConnectorRecord.js"
import type { ConnectorDefinition } from "../Definition.js"

/** The clients that are new, or have a secret, which definitions never keep. `current`: the definition before the change. */
export const changedClients = (
  { auth }: ConnectorDefinition,
  clients: ReadonlyArray<InlineClient>
): ReadonlyArray<InlineClient> => {
  const currentIds = new Map(
    auth.map((method) => [method.id, method.type === "oauth2" ? method.clientId : undefined] as const)
  )
  return clients.filter(
    ({ clientId, clientSecret, methodId }) => clientSecret !== undefined || currentIds.get(methodId) !== clientId
  )
}
