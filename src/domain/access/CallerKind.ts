/** The kinds of callers, and how the audit trail and messages name a caller of each. Specification: Authentication. */
import type { ActorType } from "../audit/Audit.js"

/**
 * The kinds of callers. `service`: the service's own work, to which no credential leads. Only authentication, which makes
 * callers, and the audit trail, which names them, tell the kinds apart.
 */
export type CallerKind = "key" | "person" | "embed" | "agent" | "oauth" | "service"

interface KindNames {
  /** The type of an audit entry's actor. */
  readonly actor: ActorType
  /** The type of the resource in audit entries about the use of its credential. */
  readonly resource: string
  readonly article: "a" | "an"
  readonly noun: string
  /** Its credential in messages. */
  readonly credential: string
}

const kinds: { readonly [kind in CallerKind]: KindNames } = {
  key: { actor: "service_account", resource: "api_key", article: "a", noun: "key", credential: "key" },
  person: { actor: "user", resource: "user", article: "a", noun: "user", credential: "session" },
  embed: { actor: "user", resource: "embed_session", article: "a", noun: "session", credential: "session" },
  agent: { actor: "agent", resource: "agent", article: "an", noun: "agent", credential: "token" },
  oauth: {
    actor: "service_account",
    resource: "oauth_client",
    article: "an",
    noun: "application",
    credential: "token"
  },
  service: { actor: "system", resource: "service", article: "a", noun: "service", credential: "token" }
}

export const actorTypeOf = (kind: CallerKind): ActorType => kinds[kind].actor

/** The type of resource that an audit entry names for the credential of such a caller. */
export const credentialResourceOf = (kind: CallerKind): string => kinds[kind].resource

/** The noun for a caller in messages: this key, this user. */
export const nounOf = ({ kind }: { readonly kind: CallerKind }): string => kinds[kind].noun

/** The noun with its article: a key, an agent. */
export const nounWithArticle = (caller: { readonly kind: CallerKind }): string =>
  `${kinds[caller.kind].article} ${nounOf(caller)}`

/** The noun for its credential in messages: this key, this session. */
export const credentialNounOf = ({ kind }: { readonly kind: CallerKind }): string => kinds[kind].credential
