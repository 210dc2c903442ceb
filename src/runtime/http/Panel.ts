/**
 * Serves the files of the panel, which companies show in a frame, from what the build leaves beside the program; the frame's
 * page itself is `src/http/embed/FramePage.ts`.
 */
import { Effect } from "effect"
import type { PanelEntry } from "../../http/embed/FramePage.js"
import type { RawReply, RequestHead } from "../../http/Wire.js"
import { notBuiltReply, notBuiltText, readBuilt, replyOf } from "./BuiltFiles.js"

const base = "/embed/"
const notBuilt = notBuiltReply("panel")

const missing: PanelEntry = { missing: notBuiltText("panel") }

/** The panel's own script and style among the paths of its files; dies if one of them is not there. */
export const panelEntry = (paths: Iterable<string>): PanelEntry => {
  const all = [...paths]
  const entryOf = (type: "js" | "css"): string => {
    const found = all.find((path) => path.startsWith(`${base}Main-`) && path.endsWith(`.${type}`))
    if (found === undefined) throw new Error(`the build has left no ${base}Main-*.${type}`)
    return found
  }
  return { script: entryOf("js"), style: entryOf("css") }
}

export const make = Effect.gen(function* () {
  const files = yield* Effect.cached(Effect.promise(() => readBuilt("panel")))
  const entry = yield* Effect.cached(Effect.map(files, (all) => (all === undefined ? missing : panelEntry(all.keys()))))

  /** The reply for a path of the panel, `undefined` if there is no such file; no effect for the paths of others. */
  const panelAt = (path: string, request: RequestHead): Effect.Effect<RawReply | undefined> | undefined => {
    if (!path.startsWith(base)) return undefined
    return Effect.map(files, (all) => {
      if (all === undefined) return notBuilt
      const found = all.get(path)
      return found === undefined ? undefined : replyOf(request, found)
    })
  }
  return { entry, panelAt }
})
