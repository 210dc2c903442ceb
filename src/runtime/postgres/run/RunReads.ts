/** The port `RunReads`: resolves the secrets and configuration values that a run reads. */
import { Effect, Layer, Option, Redacted } from "effect"
import { PlatformConfiguration } from "../../../actors/ports/organisation/PlatformConfiguration.js"
import { type Reader, RunReads, type SecretReference } from "../../../actors/ports/run/RunReads.js"
import { Vault } from "../../../actors/ports/Vault.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { StoredJson } from "../../../domain/Json.js"
import { Secret, secretPlace, SecretVersion } from "../../../domain/access/Secret.js"
import { WriterSql } from "../database/Pools.js"
import { journalUnavailable } from "../database/DatabaseUnavailable.js"
import { rowDecoder } from "../record/Table.js"

const decode = rowDecoder("secrets", {
  ...Secret.stored.pick("id", "type").fields,
  ...SecretVersion.pick("number", "sealed").fields
})
const decodeValue = rowDecoder("settings", { value: StoredJson })

export const layer = Layer.effect(
  RunReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault
    const platform = yield* PlatformConfiguration

    const openSecret = (organisation: OrganisationId, row: object | undefined) => {
      if (row === undefined) return Effect.succeedNone
      const { id, number, sealed, type } = decode(row)
      return Effect.map(vault.open(secretPlace(organisation, id, number), sealed), (value) =>
        Option.some({ secretId: id, number, type, value: Redacted.make(Redacted.value(value)) })
      )
    }

    const secret = Effect.fn("RunReads.secret")(function* (reader: Reader, name: string) {
      const [row] = yield* sql`
      SELECT s.id, s.current AS number, s.type, v.sealed FROM secrets s
      JOIN secret_versions v ON v.secret_id = s.id AND v.number = s.current
      WHERE s.org = ${reader.organisationId} AND s.space = ${reader.spaceId} AND s.name = ${name} AND s.deleted_at IS NULL
        AND (s.customer_id IS NULL OR s.customer_id = ${reader.customerId})
        AND (s.environment IS NULL OR s.environment = ${reader.environment})
      ORDER BY s.customer_id IS NULL, s.environment IS NULL LIMIT 1`
      return yield* openSecret(reader.organisationId, row)
    }, Effect.mapError(journalUnavailable))

    const secretAt = Effect.fn("RunReads.secretAt")(function* (
      organisation: OrganisationId,
      reference: SecretReference
    ) {
      const [row] = yield* sql`
      SELECT s.id, v.number, s.type, v.sealed FROM secrets s JOIN secret_versions v ON v.secret_id = s.id
      WHERE s.org = ${organisation} AND s.id = ${reference.secretId} AND v.number = ${reference.number}`
      return yield* openSecret(organisation, row)
    }, Effect.mapError(journalUnavailable))

    // Highest level first: flow, integration, tenant, organisation, platform; within a level the environment's own
    // value.
    const setting = Effect.fn("RunReads.setting")(function* (reader: Reader, key: string) {
      const [row] = yield* sql`
      SELECT value FROM settings WHERE org = ${reader.organisationId} AND key = ${key}
        AND (environment = '' OR environment = ${reader.environment})
        AND ((level = 'flow' AND scope_id = ${reader.workflowId}) OR (level = 'tenant' AND scope_id = ${reader.customerId ?? "-"})
          OR (level = 'integration' AND scope_id = (SELECT integration FROM installations
            WHERE org = ${reader.organisationId} AND id = ${reader.installationId}))
          OR level = 'saas')
      ORDER BY array_position(ARRAY['flow', 'integration', 'tenant', 'saas'], level), environment = '' LIMIT 1`
      if (row !== undefined) return Option.some(decodeValue(row).value)
      return Object.hasOwn(platform, key) ? Option.some(platform[key] ?? null) : Option.none()
    }, Effect.mapError(journalUnavailable))

    return RunReads.of({ secret, secretAt, setting })
  })
)
