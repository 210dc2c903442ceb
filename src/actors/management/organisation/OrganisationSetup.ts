/** What every organisation begins with: a workspace, the roles, the environments, and a key that reaches all of it. */
import { Effect, Redacted } from "effect"
import { type ApiKey, keyPrefix } from "../../../domain/access/ApiKey.js"
import { newKey } from "../../../domain/access/ApiKeyChanges.js"
import type { KeyBounds } from "../../../domain/access/KeyBounds.js"
import { allPermissions } from "../../../domain/access/Permission.js"
import { builtinRoles } from "../../../domain/access/Person.js"
import type { Unavailable } from "../../../domain/Failure.js"
import { builtinEnvironment } from "../../../domain/organisation/Environment.js"
import { newWorkspace, type Organisation } from "../../../domain/organisation/Organisation.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Tx } from "../../ports/Records.js"

/** The bounds that a first key can have. */
type FirstKeyBounds = Pick<KeyBounds, "mode" | "permissions" | "allowedIps" | "rateLimit" | "expiresAt">

/** Full access, for ever, from anywhere. */
export const fullAccess: FirstKeyBounds = {
  mode: "live",
  permissions: new Set(allPermissions),
  allowedIps: [],
  rateLimit: null,
  expiresAt: null
}

export const makeOrganisationSetup = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const digests = yield* Digests

  /** The first key of an organisation, with its text, which is shown once. */
  const firstKey = ({ createdAt, id }: Organisation, createdBy: string, bounds: FirstKeyBounds) => {
    const text = `${keyPrefix(bounds.mode)}${identifiers.secret()}`
    const key = newKey(
      {
        name: "First key",
        mode: bounds.mode,
        preset: bounds.permissions.size === allPermissions.length ? "full_access" : "custom",
        allowedIps: bounds.allowedIps,
        rateLimitPerMinute: bounds.rateLimit
      },
      {
        id: identifiers.next("key"),
        organisationId: id,
        spaceId: identifiers.next("spc"),
        createdBy,
        at: Date.parse(createdAt),
        expiresAt: bounds.expiresAt === null ? null : Date.parse(bounds.expiresAt),
        permissions: bounds.permissions,
        customers: { customersMode: "all", customerIds: [] },
        resourceScope: [],
        secret: { hash: digests.keyHash(text), last4: text.slice(-4) },
        identitySecret: null
      }
    )
    return { key, text: Redacted.make(text) }
  }

  /** Stores the organisation and all that it begins with. The key's workspace is its first one. */
  const insert = Effect.fnUntraced(function* (
    tx: Tx,
    organisation: Organisation,
    key: ApiKey
  ): Effect.fn.Return<void, AlreadyExists | Unavailable> {
    const { createdAt: now, id: organisationId } = organisation
    yield* tx.organisations.insert(organisation)
    yield* tx.workspaces.insert(newWorkspace(organisationId, key.spaceId, { name: "Main", slug: "main" }, now))
    for (const { name, permissions } of builtinRoles)
      yield* tx.roles.insert({
        id: identifiers.next("role"),
        organisationId,
        name,
        builtin: true,
        parent: null,
        permissions,
        createdAt: now,
        updatedAt: now,
        version: 1
      })
    for (const slug of ["test", "live"] as const)
      yield* tx.environments.insert(builtinEnvironment(organisationId, identifiers.next("env"), slug, now))
    yield* tx.apiKeys.insert(key)
  })

  return { firstKey, insert }
})
