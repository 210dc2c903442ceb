/** Checks a caller against what its operation declares: permission, records that customers share, the key's resource scope. */
import {
  missingPermission,
  narrowedCallerRefusal,
  outOfScope,
  type Principal,
  sharingRefusal
} from "../../actors/management/Caller.js"
import type { Failure, Forbidden } from "../../domain/Failure.js"
import type { ScopeType } from "../../domain/access/ResourceScope.js"
import type { Contract } from "../operation/Contract.js"

/** A call before its input is decoded: all that the guards look at. */
export interface GuardedCall {
  readonly caller: Principal
  readonly operation: Pick<Contract, "permit" | "sharing" | "scoped">
  /** The parameters of its path. */
  readonly params: { readonly [name: string]: string }
}

const permissionRefusal = (caller: Principal, permit: Contract["permit"]): Forbidden | undefined => {
  if (permit === "anyCaller") return undefined
  if (typeof permit === "string") return missingPermission(caller, permit)
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

/** The first reason for which the caller may not use the operation. */
export const refusalOf = (call: GuardedCall): Failure | undefined =>
  permissionRefusal(call.caller, call.operation.permit) ??
  sharingRefusal(call.caller, call.operation.sharing) ??
  scopeRefusal(call)
