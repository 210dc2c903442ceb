/** Connectors on Postgres, and the built-in ones beside them. Published definitions never change, so they are kept decoded. */
import { Effect, Layer, Option, type Redacted } from "effect"
import { Connectors } from "../../actors/ports/Connectors.js"
import { Vault } from "../../actors/ports/Vault.js"
import { clientSecretPlace, type ConnectorVersion, storedDefinition } from "../../domain/connector/Connector.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { atVersion, callable } from "../../domain/connector/Versions.js"
import { builtInFor, builtInOf } from "../../domain/connectors/index.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { make as makeFresh, ofNoOrganisation, organisationFirst } from "./ReadCache.js"
import { WriterSql } from "./Pools.js"

/** What is published may be this old. */
const freshMillis = 800
const heldSlugs = 10_000
/** Definitions do not age; the bounds only keep memory free of those that nobody asks for. */
const keptMillis = 600_000
const heldDefinitions = 200

interface Published {
  readonly id: string
  readonly number: number
  readonly semver: string
}

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })
const builtIn = (slug: string) => Option.fromNullable(builtInOf(slug))

export const layer = Layer.effect(
  Connectors,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault
    const heads = yield* makeFresh<ReadonlyArray<Published>, Unavailable>({
      millis: freshMillis,
      most: heldSlugs,
      organisationOf: organisationFirst
    })
    const definitions = yield* makeFresh<ConnectorDefinition, Unavailable>({
      millis: keptMillis,
      most: heldDefinitions,
      organisationOf: ofNoOrganisation
    })
    const actions = yield* makeFresh<ReadonlyArray<{ number: number; version: number }>, Unavailable>({
      millis: freshMillis,
      most: heldSlugs,
      organisationOf: organisationFirst
    })

    /** Newest first; empty where the organisation has none of that name, or nothing published. */
    const read = (organisation: OrganisationId, slug: string) =>
      sql<Published>`SELECT c.id, v.number, v.semver FROM connectors c JOIN connector_versions v ON v.connector_id = c.id
        WHERE c.org = ${organisation} AND c.slug = ${slug} AND c.deleted_at IS NULL AND v.published_at IS NOT NULL
        ORDER BY v.number DESC`.pipe(Effect.mapError(unavailable))
    const publishedOf = (organisation: OrganisationId, slug: string) =>
      Effect.map(heads.get(`${organisation}|${slug}`, read(organisation, slug)), (rows) => rows ?? [])

    const definitionOf = (id: string, number: number) =>
      Effect.map(
        definitions.get(
          `${id}|${number}`,
          sql<Pick<ConnectorVersion, "definition" | "form">>`SELECT definition, form FROM connector_versions
            WHERE connector_id = ${id} AND number = ${number}`.pipe(
            Effect.mapError(unavailable),
            Effect.flatMap(([row]) => (row === undefined ? Effect.succeed(undefined) : storedDefinition(row)))
          )
        ),
        Option.fromNullable
      )

    const find = Effect.fnUntraced(function* (organisation: OrganisationId, slug: string, version?: string) {
      const published = yield* publishedOf(organisation, slug)
      if (published.length === 0) return builtIn(slug)
      const wanted = version === undefined ? published[0] : published.find(({ semver }) => semver === version)
      return wanted === undefined ? Option.none() : yield* definitionOf(wanted.id, wanted.number)
    })

    const current = Effect.fnUntraced(function* (organisation: OrganisationId, slug: string) {
      const [newest] = yield* read(organisation, slug)
      return newest === undefined ? builtIn(slug) : yield* definitionOf(newest.id, newest.number)
    })

    const withAction: Connectors["Type"]["withAction"] = Effect.fnUntraced(function* (organisation, slug, action) {
      const [newest] = yield* publishedOf(organisation, slug)
      if (newest === undefined) {
        const carried = builtInFor(slug)
        return Option.fromNullable(carried === undefined ? undefined : atVersion(carried, action))
      }
      const rows = yield* actions.get(
        `${organisation}|${newest.id}|${action.name}`,
        sql<{ number: number; version: number }>`SELECT number, (actions ->> ${action.name})::int AS version
          FROM connector_versions WHERE connector_id = ${newest.id} AND published_at IS NOT NULL
            AND actions ->> ${action.name} IS NOT NULL ORDER BY number DESC`.pipe(Effect.mapError(unavailable))
      )
      const all = rows ?? []
      const bound = action.bound ? [action.version] : []
      const stays = callable(
        all.map(({ version }) => version),
        bound
      )
      const found = stays.includes(action.version) ? all.find(({ version }) => version === action.version) : undefined
      return found === undefined ? Option.none() : yield* definitionOf(newest.id, found.number)
    })

    // Read each time: it is rarely asked for, and no plain secret is kept.
    const clientOf: Connectors["Type"]["clientOf"] = Effect.fnUntraced(
      function* (organisation, slug, methodId, provider) {
        const which = provider === null ? sql`is_default` : sql`id = ${provider}`
        const [row] = yield* sql<{ id: string; clientId: string; secret: Uint8Array | null; scopes: Array<string> }>`
          SELECT id, client_id AS "clientId", client_secret AS secret, scopes FROM auth_providers
          WHERE org = ${organisation} AND connector = ${slug} AND method_id = ${methodId} AND ${which}`
        if (row === undefined) return Option.none()
        const clientSecret =
          row.secret === null ? null : yield* vault.open(clientSecretPlace(organisation, row.id), row.secret)
        const { clientId, id, scopes } = row
        return Option.some({ id, clientId, clientSecret, scopes } satisfies {
          id: string
          clientId: string
          clientSecret: Redacted.Redacted | null
          scopes: ReadonlyArray<string>
        })
      },
      Effect.catchTags({
        SqlError: unavailable,
        VaultRefused: () => new Unavailable({ reason: "the vault cannot be opened", retryAfterSeconds: 5 })
      })
    )

    return Connectors.of({ find, findLatest: current, withAction, clientOf })
  })
)
