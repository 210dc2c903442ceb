/**
 * What an operation declares: name, words, route, contract and what guards it. Fronts, documents and tests read it; the
 * use case is beside it in `Operation.ts`. Specification: Surfaces A, B and C.
 */
import type { Schema } from "effect"
import type { Sharing } from "../../actors/management/Caller.js"
import type { Json } from "../../domain/Json.js"
import type { Permission } from "../../domain/access/Permission.js"
import type { ScopeType } from "../../domain/access/ResourceScope.js"

/** The HTTP methods of operations. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** The permission that a caller needs who is no person signed in, who changes what is only their own. */
export interface OwnToPeople {
  readonly ofOthers: Permission
}

/** The permission that the caller needs. A list: any one of them. `anyCaller`: any caller. */
export type Permit = Permission | ReadonlyArray<Permission> | AllPermissions | OwnToPeople | "anyCaller"

/** The permissions that the caller needs, all of them. */
export interface AllPermissions {
  readonly all: ReadonlyArray<Permission>
}

/** How a call is audited: under an action, as a read (counted per minute), or not at all and why. */
export type AuditPolicy =
  | { readonly _tag: "Audited"; readonly action: string; readonly resource: string }
  | { readonly _tag: "Read"; readonly resource: string }
  | { readonly _tag: "NotAudited"; readonly reason: string }

/** Audits under `action`, whose first part is the resource type: `workflow.execute`. */
export const auditAction = (action: string): AuditPolicy => ({
  _tag: "Audited",
  action,
  resource: action.split(".")[0] ?? action
})
/** Audits as a read of the resource type; reads of one minute are one entry with a count. */
export const auditRead = (resource: string): AuditPolicy => ({ _tag: "Read", resource })

/**
 * How a key's resource scope applies to an operation, per resource type.
 * `path`: the path has the id of one. `record`: the record is one or belongs to one. `list`: lists those in scope.
 * `count`: counts those in scope.
 * `create`: creates one, which a narrowed key may not. `closed`: concerns all of the type, so narrowed keys are refused.
 * `reach`: names none, but what it starts reaches only those in scope. Types not listed are unaffected.
 */
export type ScopeRule = "path" | "record" | "list" | "count" | "create" | "closed" | "reach"

/** The scope rule of each resource type that an operation touches. */
export type ScopeRules = { readonly [T in ScopeType]?: ScopeRule }

/** How the pipeline handles an operation's requests. */
export interface RequestForm {
  /** `record`: the pipeline parses a JSON body and refuses what cannot be stored. `handler`: the handler reads the body. */
  readonly body: "record" | "handler"
  /**
   * What an Idempotency-Key does. `reply`: the first reply commits with the change and answers repetitions. `lease`: the
   * same for an operation that may call an external system and so keeps no transaction open; if the process dies during
   * the request, it can be repeated after the lease expires. `run`: the handler claims the key with the run's first row.
   * `none`: the key is forwarded.
   */
  readonly idempotency: "reply" | "lease" | "run" | "none"
  /** `reach`: headers that name a customer narrow the request to that customer. `act`: the handler acts for that customer. */
  readonly tenancy: "reach" | "act"
  /** `own`: `If-Match` is no number of a version, and the handler reads it. */
  readonly versions?: "own"
  /** `kept`: the use case reads integers beyond 2^53 itself; else a body with one that is not of a document is refused. */
  readonly integers?: "kept"
  /** `own`: what it runs may answer with any status and body. */
  readonly answers?: "own"
}

/** What the documents say of an operation. */
export interface Words {
  /** A few words, without a full stop. */
  readonly summary: string
  readonly description: string
  /** A description of each successful answer, by status. */
  readonly answers: { readonly [status: number]: string }
  /** A description of each parameter of path and query that operations of other groups do not have, by name. */
  readonly parameters?: { readonly [name: string]: string }
  /** A body that the service accepts. Its ids are invented. */
  readonly example?: Json
}

/** Any schema of a contract: all of them decode and encode without services. */
// oxlint-disable-next-line typescript/no-explicit-any -- A table has contracts of every type.
export type AnySchema = Schema.Schema<any, any>

/** A successful answer. */
export interface Answer {
  readonly status: number
  readonly schema: AnySchema
  /** It is JSON, or has no body. */
  readonly isJson: boolean
  /** Media types that it may have instead of that of its schema. */
  readonly otherTypes?: ReadonlyArray<string>
  /** Its body is a `StreamedBody`. */
  readonly isStreamed?: boolean
}

/** How embed sessions use an operation. An operation without it refuses them, whatever their permissions. */
export interface SessionUse {
  /** What they need. */
  readonly permit: Permit
  readonly input: { readonly query: AnySchema | undefined; readonly body: AnySchema | undefined }
  readonly outputs: ReadonlyArray<Answer>
  /** Where the operation's own words are not true of sessions. */
  readonly words: Partial<Pick<Words, "answers" | "description">>
  /** It refreshes tokens, and so takes one that has just expired. */
  readonly refreshesTokens: boolean
}

/** What an operation declares. */
export interface Contract extends Words {
  /** `customers` of `customers.create`. */
  readonly group: string
  readonly name: string
  readonly method: Method
  /** With `:name` for each parameter. */
  readonly path: string
  readonly input: {
    readonly path: AnySchema | undefined
    readonly query: AnySchema | undefined
    readonly body: AnySchema | undefined
  }
  readonly outputs: ReadonlyArray<Answer>
  /** Whether body and answers are JSON, so that any front can offer it; the others stream, or read what was sent. */
  readonly isJson: boolean
  /** The failures, where they differ from those of its surface. */
  readonly failures: Schema.Schema.All | undefined
  readonly permit: Permit
  readonly audit: AuditPolicy
  /** Whether its records belong to customers or are shared, for callers that reach only some customers. */
  readonly sharing: Sharing
  readonly scoped: ScopeRules
  readonly form: RequestForm
  /** The reply holds a secret and is sent with `cache-control: no-store`. */
  readonly noStore: boolean
  /** Keys of a suspended organisation may call it: the suspension is read and lifted through it. */
  readonly openWhileSuspended: boolean
  /** `undefined`: embed sessions may not call it. */
  readonly sessions: SessionUse | undefined
}
