/** Serves the console, the pages that people use in a browser, from the files that the build leaves beside the program. */
import { Effect } from "effect"
import type { RawReply, RequestHead } from "../../http/Wire.js"
import { notBuiltReply, readBuilt, replyOf } from "./BuiltFiles.js"

const base = "/console/"
/** Scripts and styles. All other paths below the console are pages, which one file shows. */
const asset = /\.(?:js|css)$/

const notBuilt = notBuiltReply("console")
const wantsPage = ({ headers }: Pick<RequestHead, "headers">): boolean =>
  (headers["accept"] ?? "").includes("text/html")
const moved = (location: string): RawReply => ({
  status: 302,
  headers: { location, "cache-control": "no-store" },
  body: ""
})

export const make = Effect.gen(function* () {
  const files = yield* Effect.cached(Effect.promise(() => readBuilt("console")))

  /** The reply for a path of the console, `undefined` if there is no such file; no effect for the paths of others. */
  const consoleAt = (path: string, request: RequestHead): Effect.Effect<RawReply | undefined> | undefined => {
    // The address of the service itself is a page for browsers only: to programs it is none of the API.
    if (path === "/console" || (path === "/" && wantsPage(request))) return Effect.succeed(moved(base))
    if (!path.startsWith(base)) return undefined
    return Effect.map(files, (all) => {
      if (all === undefined) return notBuilt
      const found = all.get(asset.test(path) ? path : base)
      return found === undefined ? undefined : replyOf(request, found)
    })
  }
  return { consoleAt }
})
