/** Checks a caller against what its operation declares: permission, records that customers share, the key's resource scope. */
import {
  missingPermission,
  narrowedCallerRefusal,
  outOfScope,
  type Principal,
  sharingRefusal
} from "../../actors/management/Caller.js"
import { type Failure, Forbidden, InvalidRequest } from "../../domain/Failure.js"
import type { ScopeType } from "../../domain/access/ResourceScope.js"
import type { Contract } from "../operation/Contract.js"

/** A call before its input is decoded: all that the guards look at. */
export interface GuardedCall {
  readonly caller: Principal
  readonly operation: Pick<Contract, "permit" | "sharing" | "scoped" | "sessions">
  /** The parameters of its path. */
  readonly params: { readonly [name: string]: string }
}

const permissionRefusal = (caller: Principal, permit: Contract["permit"]): Forbidden | undefined => {
  if (permit === "anyCaller") return undefined
  if (typeof permit === "string") return missingPermission(caller, permit)
  if ("all" in permit) {
    const lacking = permit.all.find((one) => !caller.permissions.has(one))
    return lacking === undefined ? undefined : missingPermission(caller, lacking)
  }
  if ("ofOthers" in permit) return caller.person === null ? missingPermission(caller, permit.ofOthers) : undefined
  const [first] = permit
  return first === undefined || permit.some((one) => caller.permissions.has(one))
    ? undefined
    : missingPermission(caller, first)
}

/** The path parameter that has the id of a resource of the type. */
const idParameter: { readonly [T in ScopeType]?: string } = {
  workflow: "wid",
  connection: "conn",
  secret: "sid",
  widget: "wdg"
}

const scopeTypes: ReadonlyArray<ScopeType> = ["connector", "connection", "workflow", "widget", "secret", "environment"]

const scopeRefusal = ({ caller, operation, params }: GuardedCall): Forbidden | undefined => {
  for (const type of scopeTypes) {
    if (caller.scope[type] === undefined) continue
    const rule = operation.scoped[type]
    const refused =
      rule === "path"
        ? outOfScope(caller, type, params[idParameter[type] ?? ""] ?? "")
        : rule === "create"
          ? narrowedCallerRefusal(caller, type, "it makes none")
          : rule === "closed"
            ? narrowedCallerRefusal(caller, type, "what concerns all of them is closed to it")
            : undefined
    if (refused !== undefined) return refused
  }
  return undefined
}

/** Permissions alone open nothing to an embed session: the operation must say that sessions may call it, and what they need. */
const callRefusal = ({ caller, operation: { permit, sessions } }: GuardedCall): Forbidden | undefined => {
  if (caller.embedded === null) return permissionRefusal(caller, permit)
  return sessions === undefined
    ? new Forbidden({
        code: "FORBIDDEN",
        message: "embed sessions may not call this: send an API key from your backend"
      })
    : permissionRefusal(caller, sessions.permit)
}

/** The first reason for which the caller may not use the operation. */
export const refusalOf = (call: GuardedCall): Failure | undefined =>
  callRefusal(call) ?? sharingRefusal(call.caller, call.operation.sharing) ?? scopeRefusal(call)

/** Headers in which callers with a key say for whom, with what and where they act. A session has its own. */
const headersOfKeys = [
  "x-svc-env",
  "x-user-id",
  "x-installation-id",
  "x-svc-connections",
  "x-svc-installation-config",
  "x-svc-callback-url"
]

/** The refusal of a session that sends a header with which keys say for whom they act. */
export const headerRefusal = (
  caller: Principal,
  headers: { readonly [name: string]: string }
): InvalidRequest | undefined => {
  if (caller.embedded === null) return undefined
  const sent = headersOfKeys.find((name) => (headers[name] ?? "") !== "")
  return sent === undefined
    ? undefined
    : new InvalidRequest({
        code: "INVALID_HEADER",
        message: `${sent} is not for embed sessions, which act for one person only: leave it out`
      })
}
