/**
 * The port `Connectors`: an organisation's own on Postgres, else the built-in ones. Published definitions never change,
 * so they are cached decoded.
 */
import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import { Connectors } from "../../../actors/ports/connection/Connectors.js"
import { Vault, vaultClosed } from "../../../actors/ports/Vault.js"
import {
  AuthProvider,
  clientSecretPlace,
  ConnectorVersion,
  readStoredDefinition
} from "../../../domain/connector/ConnectorRecord.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { builtInAtVersion, callableActionVersions } from "../../../domain/connector/Versions.js"
import { builtInFor, builtInOf, builtInSlugs } from "../../../domain/connectors/index.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import { makeReadCache, noOrganisation } from "../ReadCache.js"
import { rowDecoder } from "../record/Table.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable, firstRow, recordsOf } from "../database/DatabaseUnavailable.js"

/** Definitions never go stale; these bounds only free the memory of unused ones. */
const definitionMaxAgeMillis = 600_000
const maxCachedDefinitions = 200
/** Own slugs of an organisation that are suggested. */
const maxSlugs = 500

const decodePublished = rowDecoder("connector_versions", {
  id: Schema.String,
  ...ConnectorVersion.pick("number", "semver").fields
})
type PublishedVersion = ReturnType<typeof decodePublished>

const decodeAction = rowDecoder("connector_versions", { number: Schema.Number, version: Schema.Number })
const decodeSlug = rowDecoder("connectors", { slug: Schema.String })
const decodeClient = rowDecoder("auth_providers", AuthProvider.stored.pick("id", "clientId", "clientSecret", "scopes"))

const builtIn = (slug: string) => Option.fromNullable(builtInOf(slug))

const decodeVersion = rowDecoder("connector_versions", ConnectorVersion.pick("definition", "form"))

export const layer = Layer.effect(
  Connectors,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault
    /** Published versions by organisation and slug. */
    const publishedVersions = yield* makeReadCache<ReadonlyArray<PublishedVersion>>()
    /** Definitions by connector and number. */
    const definitions = yield* makeReadCache<ConnectorDefinition>({
      maxAgeMillis: definitionMaxAgeMillis,
      maxEntries: maxCachedDefinitions,
      organisationOf: noOrganisation
    })
    /** The versions of an action in published versions, by organisation, connector and name. */
    const actions = yield* makeReadCache<ReadonlyArray<{ number: number; version: number }>>()
    /** Slugs of own connectors by organisation. */
    const slugs = yield* makeReadCache<ReadonlyArray<string>>()

    /** Newest first; empty if the organisation has no published connector with that slug. */
    const loadPublished = (organisation: OrganisationId, slug: string) =>
      recordsOf(
        sql`SELECT c.id, v.number, v.semver FROM connectors c JOIN connector_versions v ON v.connector_id = c.id
    WHERE c.org = ${organisation} AND c.slug = ${slug} AND c.deleted_at IS NULL AND v.published_at IS NOT NULL
    ORDER BY v.number DESC`,
        decodePublished
      )

    const publishedOf = (organisation: OrganisationId, slug: string) =>
      Effect.map(
        publishedVersions.get(`${organisation}|${slug}`, () => loadPublished(organisation, slug)),
        (rows) => rows ?? []
      )

    const definitionOf = (id: string, number: number) =>
      definitions.find(`${id}|${number}`, () =>
        Effect.flatMap(
          firstRow(
            sql`SELECT definition, form FROM connector_versions WHERE connector_id = ${id} AND number = ${number}`,
            decodeVersion
          ),
          (row) => (row === undefined ? Effect.succeed(undefined) : readStoredDefinition(row))
        )
      )

    const slugsOf = (organisation: OrganisationId) =>
      Effect.map(
        slugs.get(`${organisation}|`, () =>
          recordsOf(
            sql`SELECT slug FROM connectors WHERE org = ${organisation} AND deleted_at IS NULL
        ORDER BY slug LIMIT ${maxSlugs}`,
            (row) => decodeSlug(row).slug
          )
        ),
        (own = []) => [...own, ...builtInSlugs]
      )

    /** A published version, from the cache; without `version` the latest. */
    const find = (organisation: OrganisationId, slug: string, version?: string) =>
      Effect.flatMap(publishedOf(organisation, slug), (published) => {
        if (published.length === 0) return Effect.succeed(builtIn(slug))
        const match = version === undefined ? published[0] : published.find(({ semver }) => semver === version)
        return match === undefined ? Effect.succeedNone : definitionOf(match.id, match.number)
      })

    /** The latest published version, read from the database. */
    const findLatest = Effect.fnUntraced(function* (organisation: OrganisationId, slug: string) {
      const [newest] = yield* loadPublished(organisation, slug)
      return newest === undefined ? builtIn(slug) : yield* definitionOf(newest.id, newest.number)
    })

    /** The definition that has the action in this version. */
    const withAction: Connectors["Type"]["withAction"] = Effect.fnUntraced(function* (organisation, slug, action) {
      const [newest] = yield* publishedOf(organisation, slug)
      if (newest === undefined) {
        const shipped = builtInFor(slug)
        return Option.fromNullable(shipped === undefined ? undefined : builtInAtVersion(shipped, action))
      }
      const rows = yield* actions.get(`${organisation}|${newest.id}|${action.name}`, () =>
        recordsOf(
          sql`SELECT number, (actions ->> ${action.name})::int AS version
      FROM connector_versions WHERE connector_id = ${newest.id} AND published_at IS NOT NULL
        AND actions ->> ${action.name} IS NOT NULL ORDER BY number DESC`,
          decodeAction
        )
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
        const [row] = (yield* sql`
      SELECT id, client_id AS "clientId", client_secret AS "clientSecret", scopes FROM auth_providers
      WHERE org = ${organisation} AND connector = ${slug} AND method_id = ${methodId} AND ${which}`).map(decodeClient)
        if (row === undefined) return Option.none()
        const clientSecret =
          row.clientSecret === null
            ? null
            : yield* vault.open(clientSecretPlace(organisation, row.id), row.clientSecret)
        const { clientId, id, scopes } = row
        return Option.some({ id, clientId, clientSecret, scopes } satisfies {
          id: string
          clientId: string
          clientSecret: Redacted.Redacted | null
          scopes: ReadonlyArray<string>
        })
      },
      Effect.catchTags({
        SqlError: databaseUnavailable,
        VaultRefused: vaultClosed
      })
    )

    return Connectors.of({ find, slugs: slugsOf, findLatest, withAction, clientOf })
  })
)
