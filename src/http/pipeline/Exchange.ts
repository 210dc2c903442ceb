/** One request on its way through the pipeline: what was sent, who asks, and what is to be told of it in the end. */
import type { CallContext } from "../../actors/management/CallContext.js"
import type { Principal } from "../../actors/management/Caller.js"
import type { AuditEntry } from "../../domain/Audit.js"
import type { Json } from "../../domain/Json.js"
import { pathOf, type RequestHead } from "../Wire.js"
import type { Route } from "./Routes.js"

export class Exchange implements CallContext {
  /** Headers of the reply, besides those that every reply has. */
  readonly replyHeaders: { [name: string]: string } = {}
  customerId: CallContext["customerId"] = null
  isAudited = false
  /** What the audit entry names, where it is not the first id of the path. */
  subject: AuditEntry["resource"] | undefined
  /** What the audit entry tells besides the failure's code. */
  changes: AuditEntry["changes"] = []
  /** The JSON of the body, where the pipeline reads it. */
  body: Json | undefined
  /** The status of the answer, of an endpoint that has several; `undefined`: its first. */
  status: number | undefined

  constructor(
    readonly route: Route,
    /** The varying parts of the path. */
    readonly params: { readonly [name: string]: string },
    readonly request: RequestHead,
    /** Narrowed to one customer where the request names one. */
    public caller: Principal,
    readonly expectedVersion: number | undefined
  ) {}

  get audit(): CallContext["audit"] {
    const { audit } = this.route
    return audit?._tag === "Audited" ? { action: audit.action, resource: audit.resource } : null
  }

  get sharing(): CallContext["sharing"] {
    return this.route.sharing
  }

  /** Adds the headers that follow from the answer: the record's version, and where a new record is. */
  describe(answer: unknown, status: number): void {
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
