/** A node that tells others of its commits, and hears of theirs. */
import { Effect } from "effect"
import { Client } from "pg"
import { nodesChannel, tellNodes } from "../../src/runtime/cluster/ChangeNotices.js"
import { type CommitNotices, openCommitNotices } from "../../src/runtime/cluster/CommitNotices.js"
import { eventually } from "./eventually.js"

export const openNode = (url: string, seat: string) =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const opened = new Client({ connectionString: url })
        await opened.connect()
        await opened.query(`LISTEN ${nodesChannel}`)
        return opened
      }),
      (opened) => Effect.promise(() => opened.end())
    )
    const heard = new Set<string>()
    const onCommits = (ids: ReadonlySet<string>) => ids.forEach((id) => heard.add(id))
    const notices = yield* Effect.promise(() => openCommitNotices(client, nodesChannel, { seat, onCommits }))
    return { ...notices, heard, comes: Effect.promise(() => client.query(`SELECT ${tellNodes}`)) }
  })

/** Has the node commit until the other one hears of it. */
export const untilHeard = ({ tellCommits }: CommitNotices, heard: ReadonlySet<string>, id: string) =>
  Effect.promise(() =>
    eventually(
      async () => {
        tellCommits(new Set([id]))
        return heard.has(id)
      },
      (isHeard) => isHeard
    )
  )
