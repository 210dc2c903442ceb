/**
 * The port `Connectors`: an organisation's own on Postgres, else the built-in ones. Published definitions never change,
 * so they are cached decoded.
 */
import { Effect, Layer, Option, type Redacted } from "effect"
import { Connectors } from "../../actors/ports/Connectors.js"
import { Vault } from "../../actors/ports/Vault.js"
import {
  clientSecretPlace,
  type ConnectorVersion,
  readStoredDefinition
} from "../../domain/connector/ConnectorRecord.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import { builtInAtVersion, callableActionVersions } from "../../domain/connector/Versions.js"
import { builtInFor, builtInOf } from "../../domain/connectors/index.js"
import { Unavailable } from "../../domain/Failure.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { makeReadCache, noOrganisation, organisationOfKey } from "./ReadCache.js"
import { WriterSql } from "./Pools.js"

/** A list of published versions is cached for this long. */
const publishedMaxAgeMillis = 800
const maxCachedSlugs = 10_000
/** Definitions never go stale; these bounds only free the memory of unused ones. */
const definitionMaxAgeMillis = 600_000
const maxCachedDefinitions = 200

interface PublishedVersion {
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
    const publishedVersions = yield* makeReadCache<ReadonlyArray<PublishedVersion>, Unavailable>({
      maxAgeMillis: publishedMaxAgeMillis,
      maxEntries: maxCachedSlugs,
      organisationOf: organisationOfKey
    })
    const definitions = yield* makeReadCache<ConnectorDefinition, Unavailable>({
      maxAgeMillis: definitionMaxAgeMillis,
      maxEntries: maxCachedDefinitions,
      organisationOf: noOrganisation
    })
    const actions = yield* makeReadCache<ReadonlyArray<{ number: number; version: number }>, Unavailable>({
      maxAgeMillis: publishedMaxAgeMillis,
      maxEntries: maxCachedSlugs,
      organisationOf: organisationOfKey
    })

    /** Newest first; empty if the organisation has no published connector with that slug. */
    const loadPublished = (organisation: OrganisationId, slug: string) =>
      sql<PublishedVersion>`SELECT c.id, v.number, v.semver FROM connectors c JOIN connector_versions v ON v.connector_id = c.id
        WHERE c.org = ${organisation} AND c.slug = ${slug} AND c.deleted_at IS NULL AND v.published_at IS NOT NULL
        ORDER BY v.number DESC`.pipe(Effect.mapError(unavailable))
    const publishedOf = (organisation: OrganisationId, slug: string) =>
      Effect.map(
        publishedVersions.get(`${organisation}|${slug}`, loadPublished(organisation, slug)),
        (rows) => rows ?? []
      )

    const definitionOf = (id: string, number: number) =>
      Effect.map(
        definitions.get(
          `${id}|${number}`,
          sql<Pick<ConnectorVersion, "definition" | "form">>`SELECT definition, form FROM connector_versions
            WHERE connector_id = ${id} AND number = ${number}`.pipe(
            Effect.mapError(unavailable),
            Effect.flatMap(([row]) => (row === undefined ? Effect.succeed(undefined) : readStoredDefinition(row)))
          )
        ),
        Option.fromNullable
      )

    const find = Effect.fnUntraced(function* (organisation: OrganisationId, slug: string, version?: string) {
      const published = yield* publishedOf(organisation, slug)
      if (published.length === 0) return builtIn(slug)
      const match = version === undefined ? published[0] : published.find(({ semver }) => semver === version)
      return match === undefined ? Option.none() : yield* definitionOf(match.id, match.number)
    })

    const current = Effect.fnUntraced(function* (organisation: OrganisationId, slug: string) {
      const [newest] = yield* loadPublished(organisation, slug)
      return newest === undefined ? builtIn(slug) : yield* definitionOf(newest.id, newest.number)
    })

    const withAction: Connectors["Type"]["withAction"] = Effect.fnUntraced(function* (organisation, slug, action) {
      const [newest] = yield* publishedOf(organisation, slug)
      if (newest === undefined) {
        const shipped = builtInFor(slug)
        return Option.fromNullable(shipped === undefined ? undefined : builtInAtVersion(shipped, action))
      }
      const rows = yield* actions.get(
        `${organisation}|${newest.id}|${action.name}`,
        sql<{ number: number; version: number }>`SELECT number, (actions ->> ${action.name})::int AS version
          FROM connector_versions WHERE connector_id = ${newest.id} AND published_at IS NOT NULL
            AND actions ->> ${action.name} IS NOT NULL ORDER BY number DESC`.pipe(Effect.mapError(unavailable))
      )
      const versionRows = rows ?? []
      const bound = action.bound ? [action.version] : []
      const callableVersions = callableActionVersions(
        versionRows.map(({ version }) => version),
        bound
      )
      const found = callableVersions.includes(action.version)
        ? versionRows.find(({ version }) => version === action.version)
        : undefined
      return found === undefined ? Option.none() : yield* definitionOf(newest.id, found.number)
    })

    // Not cached: it is rarely needed, and no plain secret stays in memory.
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
