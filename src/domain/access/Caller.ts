/** The caller of an operation, of any kind, and what it may do. Specification: Authentication. */
import type { AuditActor } from "../audit/Audit.js"
import { actorTypeOf, type CallerKind } from "./CallerKind.js"
import type {
  ApiKeyId,
  CustomerId,
  EmbedSessionId,
  IdentityId,
  OrganisationId,
  SessionId,
  UserId,
  WidgetId
} from "../Ids.js"
import type { KeyBounds } from "./KeyBounds.js"
import type { PermissionSet } from "./Permission.js"
import type { ScopeIds } from "./ResourceScope.js"

/** A person who has signed in. */
export interface SignedIn {
  /** In the organisation of the call. */
  readonly userId: UserId
  readonly identityId: IdentityId
  readonly sessionId: SessionId
  readonly email: string
  /** Those in which it may act. */
  readonly organisations: ReadonlyArray<{ readonly id: OrganisationId; readonly name: string }>
}

/** A person of a customer in a page of the organisation's product. */
export interface EmbeddedPerson {
  readonly sessionId: EmbedSessionId
  /** Of the token that was sent, as it is stored. */
  readonly tokenHash: string
  /** The key that opened the session. */
  readonly keyId: ApiKeyId
  readonly customerId: CustomerId
  /** The person in the organisation's product; `null`: the customer as a whole. */
  readonly userId: string | null
  readonly widgetId: WidgetId | null
  readonly widgetVersion: number | null
}

export interface Caller {
  readonly kind: CallerKind
  /** Names it in records that it creates, in limits and in the audit trail. */
  readonly id: string
  readonly name: string
  readonly permissions: PermissionSet
  /** The customers that it reaches in this request. */
  readonly customers: "all" | ReadonlySet<CustomerId>
  /** What all customers share is closed to it: it is for the data of some. */
  readonly isForCustomers: boolean
  /** The resources that it is narrowed to. */
  readonly scope: ScopeIds
  /** What a key that it creates has at most. */
  readonly bounds: KeyBounds
  /** Its own calls a minute; `null`: only the plan limits them. */
  readonly callsPerMinute: number | null
  /**
   * Whether its calls count towards the calls a minute that the plan allows: `sessions`: to a multiple, which all embed
   * sessions share.
   */
  readonly planCalls: "counted" | "sessions" | "none"
  /** Who it is beyond this organisation, if it is a person who has signed in. */
  readonly person: SignedIn | null
  /** Whom an embed session acts for, if it is one. */
  readonly embedded: EmbeddedPerson | null
  /** Who its runs name as their starter: a key, or a person who has signed in. */
  readonly starter: { readonly keyId: ApiKeyId | null; readonly keyName: string | null; readonly personId?: UserId }
}

/** The actor for the audit trail. Members are in canonical order, so that sealing is cheap. */
export const actorOf = ({
  embedded = null,
  id,
  ip,
  kind,
  name,
  userAgent
}: Pick<Caller, "id" | "kind" | "name"> &
  Partial<Pick<Caller, "embedded">> &
  Pick<AuditActor, "ip" | "userAgent">): AuditActor => ({
  id: embedded === null ? id : (embedded.userId ?? embedded.customerId),
  ip,
  name,
  onBehalfOf: embedded === null ? null : embedded.keyId,
  type: actorTypeOf(kind),
  userAgent
})

/** The actor of the service's own work. */
export const serviceActor: AuditActor = actorOf({
  kind: "service",
  id: "system",
  name: "svc",
  ip: null,
  userAgent: null
})
