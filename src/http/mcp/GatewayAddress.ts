/**
 * Where the tool gateways are, and which requests they take: a client may know a URL only, with its key in it, and no page of
 * another site may call them. Contract: tool gateways.
 */
import { Context, Either } from "effect"
import { type Failure, Forbidden, Unauthorized } from "../../domain/Failure.js"
import { parseUrl } from "../../domain/Url.js"
import { pathOf, type RequestHead } from "../Wire.js"

/** The admin gateway, which manages connectors and connections. */
export const adminGatewayPath = "/mcp/admin"

/** Whether a path is one of the tool gateways, or could be meant to be. */
export const isGatewayPath = (path: string): boolean => /^\/mcp(?:\/|$)/.test(path)

/** The names by which this node is reached, besides that of its public URL and `localhost`. */
export class NodeHosts extends Context.Tag("svc/NodeHosts")<
  NodeHosts,
  {
    /** Whether `name` is an address of this node, as a URL has it: IPv6 in brackets. */
    readonly isOwn: (name: string) => boolean
  }
>() {}

const isLoopback = (name: string): boolean =>
  name === "localhost" || name === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(name)

/**
 * The refusal of a request that a page of another site sends, or that was sent to another name than the service's: the name of
 * such a page may lead to this address (DNS rebinding). `publicUrl`: the service's.
 */
export const siteRefusal = (
  { headers: { host, origin } }: RequestHead,
  publicUrl: string,
  hosts: NodeHosts["Type"]
): Forbidden | undefined => {
  const own = parseUrl(publicUrl)
  if (origin !== undefined && origin !== own?.origin)
    return new Forbidden({
      code: "FORBIDDEN",
      message: "pages of other sites cannot call the tool gateways, which need a key that they must not have"
    })
  if (host === undefined) return undefined
  const name = parseUrl(`http://${host}`)?.hostname ?? ""
  return name === own?.hostname || isLoopback(name) || hosts.isOwn(name)
    ? undefined
    : new Forbidden({
        code: "FORBIDDEN",
        message: `${host.slice(0, 200)} is not this service: call ${publicUrl}, or let the operator set SVC_PUBLIC_URL`
      })
}

const queryOf = ({ target }: RequestHead): URLSearchParams => new URLSearchParams(target.slice(pathOf(target).length))

/** Whether the URL of a request has a key in it. */
export const hasUrlKey = (request: RequestHead): boolean => queryOf(request).has("api_key")

/**
 * The request with the key of its URL, if it has one, in a header instead, so that nothing that shows a target can show it. A
 * signature covers the target without it. Left: there are two keys.
 */
export const withoutUrlKey = <R extends RequestHead>(request: R): Either.Either<R, Failure> => {
  const query = queryOf(request)
  if (!query.has("api_key")) return Either.right(request)
  const keys = query.getAll("api_key").filter((one) => one !== "")
  query.delete("api_key")
  const path = pathOf(request.target)
  const rest = query.toString()
  const target = rest === "" ? path : `${path}?${rest}`
  const [key] = keys
  if (key === undefined) return Either.right({ ...request, target })
  const { "x-svc-api-key": sent = "" } = request.headers
  if (keys.length > 1 || (sent !== "" && sent !== key))
    return Either.left(
      new Unauthorized({ code: "UNAUTHORIZED", message: "the two keys of this request differ: send one" })
    )
  return Either.right({ ...request, target, headers: { ...request.headers, "x-svc-api-key": key } })
}
