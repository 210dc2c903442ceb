/** The port `WebhookSecrets`. */
import { Effect, Layer, Option, Redacted } from "effect"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { secretPlace, secretValue } from "../../domain/access/Secret.js"
import { Connectors } from "../ports/connection/Connectors.js"
import { Vault, vaultClosed } from "../ports/Vault.js"
import {
  type SecretOwner,
  WebhookSecretReads,
  type SecretValues,
  WebhookSecrets
} from "../ports/delivery/WebhookSecrets.js"

const none: SecretValues = Effect.succeed([])

export const layer = Layer.effect(
  WebhookSecrets,
  Effect.gen(function* () {
    const reads = yield* WebhookSecretReads
    const vault = yield* Vault
    const connectors = yield* Connectors

    const named = Effect.fnUntraced(function* (owner: SecretOwner, name: string) {
      const found = yield* reads.named(owner, name)
      const { organisationId } = owner
      return yield* Effect.forEach(found, ({ id, number, sealed, type }) =>
        vault.open(secretPlace(organisationId, id, number), sealed).pipe(
          Effect.mapError(vaultClosed),
          Effect.map((value) => {
            const text = secretValue(type, Redacted.value(value))
            return typeof text === "string" ? [Redacted.make(text)] : []
          })
        )
      ).pipe(Effect.map((values) => values.flat()))
    })

    const ofClient = (organisation: OrganisationId, { auth, slug }: Pick<ConnectorDefinition, "slug" | "auth">) => {
      const methods = auth.filter(({ type }) => type === "oauth2")
      const method = methods.find((one) => one.default === true) ?? methods[0]
      return method === undefined
        ? none
        : Effect.map(connectors.clientOf(organisation, slug, method.id, null), (client) =>
            Option.match(client, {
              onNone: () => [],
              onSome: ({ clientSecret }) => (clientSecret === null ? [] : [clientSecret])
            })
          )
    }

    return WebhookSecrets.of({
      ofTrigger: ({ webhook, ...owner }) => {
        const name = webhook?.verify?.secretName
        return name === undefined ? none : named(owner, name)
      },
      ofConnector: (organisationId, definition, { clientSecret, secretName }) => {
        if (secretName !== undefined) return named({ organisationId, spaceId: null, customerId: null }, secretName)
        return clientSecret === true ? ofClient(organisationId, definition) : none
      }
    })
  })
)
