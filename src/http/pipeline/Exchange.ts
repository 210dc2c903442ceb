/** One request in the pipeline: its route, head and caller, and what its handler adds to the reply and the audit entry. */
import type { CallContext } from "../../actors/management/CallContext.js"
import type { Principal } from "../../actors/management/Caller.js"
import type { AuditEntry } from "../../domain/audit/Audit.js"
import type { Json } from "../../domain/Json.js"
import type { Effect } from "effect"
import type { Failure } from "../../domain/Failure.js"
import { pathOf, type RawRequest, type RequestHead } from "../Wire.js"
import type { Route } from "./Routes.js"

/** The mutable state of one request; implements the context that use cases are given. */
export class Exchange implements CallContext {
  /** Headers of the reply besides those of every reply. */
  readonly replyHeaders: { [name: string]: string } = {}
  customerId: CallContext["customerId"] = null
  namedCustomer: CallContext["namedCustomer"] = null
  isAudited = false
  /** The resource of the audit entry, if it is not the one whose id is first in the path. */
  subject: AuditEntry["resource"] | undefined
  /** Changes in the audit entry, besides the failure's code. */
  changes: AuditEntry["changes"] = []
  /** The parsed body, if the route's form is `record`. */
  body: Json | undefined
  /** The request with its body as it was sent, if the route's form keeps integers. */
  sent: RawRequest | undefined
  /** The status of the reply, for an endpoint with several; `undefined`: the first. */
  status: number | undefined

  constructor(
    readonly route: Route,
    /** The parameters of the path, still percent-encoded. */
    readonly params: { readonly [name: string]: string },
    readonly request: RequestHead,
    /** Reaches one customer only if the request names one. */
    public caller: Principal,
    readonly expectedVersion: number | undefined,
    /** The caller as the credential of the request has it now, without its signature. */
    readonly recognise: Effect.Effect<Principal, Failure>
  ) {}

  get audit(): CallContext["audit"] {
    const { audit } = this.route
    return audit?._tag === "Audited" ? { action: audit.action, resource: audit.resource } : null
  }

  get sharing(): CallContext["sharing"] {
    return this.route.sharing
  }

  /** Adds `etag` for a record with a version and `location` for a created one. */
  addRecordHeaders(answer: unknown, status: number): void {
    const data = member(answer, "data")
    const id = member(data, "id") ?? member(data, "userId")
    if (typeof id !== "string") return
    const version = member(data, "version")
    if (typeof version === "number") this.replyHeaders["etag"] ??= `"${version}"`
    if (status === 201)
      this.replyHeaders["location"] ??= `${pathOf(this.request.target).replace(/\/invite$/, "")}/${id}`
  }
}

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
