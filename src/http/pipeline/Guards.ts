/** Why a caller may not use an endpoint, by what the endpoint's table says: permission, shared records, the key's scope. */
import {
  missingPermission,
  narrowedKeyRefusal,
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

/** The part of a path that is the id of a resource of the type. */
const idParameter: { readonly [T in ScopeType]?: string } = { workflow: "wid", connection: "conn", secret: "sid" }

const types: ReadonlyArray<ScopeType> = ["connector", "connection", "workflow", "widget", "secret", "environment"]

const scopeRefusal = ({ caller, params, route }: Exchange): Forbidden | undefined => {
  for (const type of types) {
    if (caller.scope[type] === undefined) continue
    const rule = route.scoped?.[type]
    const refused =
      rule === "path"
        ? outOfScope(caller, type, params[idParameter[type] ?? ""] ?? "")
        : rule === "create"
          ? narrowedKeyRefusal(caller, type, "it makes none")
          : rule === "closed"
            ? narrowedKeyRefusal(caller, type, "what concerns all of them is closed to it")
            : undefined
    if (refused !== undefined) return refused
  }
  return undefined
}

/** U+0000 cannot be stored, so no id has it and no filter finds it. */
const nulRefusal = (target: string): NotFound | InvalidRequest | undefined => {
  if (!target.includes("%00")) return undefined
  return pathOf(target).includes("%00")
    ? new NotFound({ what: "path" })
    : new InvalidRequest({ code: "INVALID_REQUEST", message: "the query contains the character U+0000" })
}

export const refusalOf = (exchange: Exchange): Failure | undefined =>
  nulRefusal(exchange.request.target) ??
  permissionRefusal(exchange.caller, exchange.route.permit) ??
  sharingRefusal(exchange.caller, exchange.route.sharing) ??
  scopeRefusal(exchange)
