/** What the reply to a request of a page of another origin says of it. */
import type { RawReply } from "../../src/http/Wire.js"

/** The origin of a page. */
export const app = "https://app.example.com"

/** The headers of CORS that a reply has. */
export const corsOf = ({ headers }: Pick<RawReply, "headers">) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name === "vary" || name.startsWith("access-control-")))

/** Those of a reply that a page of the origin may read. */
export const readable = (origin = app, vary = "Origin") => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers":
    "etag, retry-after, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset",
  vary
})

/** Those of one that it may not. */
export const unreadable = { vary: "Origin" }
