/** Checks a caller against what its route declares: permission, records that customers share, the key's resource scope. */
import {
  missingPermission,
  narrowedCallerRefusal,
  outOfScope,
  type Principal,
  sharingRefusal
} from "../../actors/management/Caller.js"
import { Forbidden, type Failure, InvalidRequest, NotFound } from "../../domain/Failure.js"
import type { ScopeType } from "../../domain/ResourceScope.js"
import { pathOf } from "../Wire.js"
import type { Exchange } from "./Exchange.js"
import type { Route } from "./Routes.js"

const permissionRefusal = (caller: Principal, permit: Route["permit"]): Forbidden | undefined => {
  if (permit === undefined) return new Forbidden({ code: "FORBIDDEN", message: "this endpoint declares no permission" })
  if (permit === "anyKey") return undefined
  if (typeof permit === "string") return missingPermission(caller, permit)
  const [first] = permit
  return first === undefined || permit.some((one) => caller.permissions.has(one))
    ? undefined
    : missingPermission(caller, first)
}

/** The path parameter that has the id of a resource of the type. */
const idParameter: { readonly [T in ScopeType]?: string } = { workflow: "wid", connection: "conn", secret: "sid" }

const scopeTypes: ReadonlyArray<ScopeType> = ["connector", "connection", "workflow", "widget", "secret", "environment"]

const scopeRefusal = ({ caller, params, route }: Exchange): Forbidden | undefined => {
  for (const type of scopeTypes) {
    if (caller.scope[type] === undefined) continue
    const rule = route.scoped?.[type]
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

/** Postgres cannot store U+0000, so no record can match it. */
const nulRefusal = (target: string): NotFound | InvalidRequest | undefined => {
  if (!target.includes("%00")) return undefined
  return pathOf(target).includes("%00")
    ? new NotFound({ what: "path" })
    : new InvalidRequest({ code: "INVALID_REQUEST", message: "the query contains the character U+0000: leave it out" })
}

/** The first reason for which the caller may not use the endpoint. */
export const refusalOf = (exchange: Exchange): Failure | undefined =>
  nulRefusal(exchange.request.target) ??
  permissionRefusal(exchange.caller, exchange.route.permit) ??
  sharingRefusal(exchange.caller, exchange.route.sharing) ??
  scopeRefusal(exchange)
