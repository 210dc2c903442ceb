/**
 * The options of `fetch` that decide which answer a workflow gets: each is obeyed as the fetch standard says, or refused.
 * Those that are for pages of browsers (`mode`, `credentials`, `referrer`, `keepalive`, `priority`) have no effect here.
 */
import type { Json } from "../../../domain/Json.js"
import { memberOf } from "./HostCall.js"

export interface FetchOptions {
  /** `error`: an answer that redirects is a failure. */
  readonly redirect: "follow" | "manual" | "error"
  /** What `cache` asks of caches on the way; a header of the workflow's own of the same name replaces it. */
  readonly cacheHeaders: ReadonlyArray<readonly [name: string, value: string]>
}

/** The options of a request, or what is wrong with them. */
export const readFetchOptions = (request: Json | undefined): FetchOptions | string => {
  const redirect = memberOf(request, "redirect") ?? "follow"
  if (redirect !== "follow" && redirect !== "manual" && redirect !== "error")
    return 'redirect is "follow", "manual" or "error"'
  const cache = memberOf(request, "cache") ?? "default"
  if (cache === "only-if-cached") return 'there is no cache, so that nothing can be "only-if-cached"'
  const cacheHeaders = typeof cache === "string" ? headersOfCache.get(cache) : undefined
  if (cacheHeaders === undefined) return `cache is one of ${[...headersOfCache.keys()].join(", ")}`
  if (memberOf(request, "integrity") !== undefined)
    return "integrity is not checked: compare crypto.subtle.digest of the body instead"
  return { redirect, cacheHeaders }
}

const pastCaches = [
  ["pragma", "no-cache"],
  ["cache-control", "no-cache"]
] as const

/** Nothing is cached here, so that a mode is only what it asks of caches on the way (fetch standard, section 4.5). */
const headersOfCache: ReadonlyMap<string, FetchOptions["cacheHeaders"]> = new Map(
  Object.entries({
    default: [],
    "force-cache": [],
    "no-store": pastCaches,
    reload: pastCaches,
    "no-cache": [["cache-control", "max-age=0"]]
  })
)
