/** A node on which callers wait for changes is told what the other nodes commit. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schedule } from "effect"
import { Client } from "pg"
import { nodesChannel, tellNodes } from "../../src/runtime/cluster/ChangeNotices.js"
import { type CommitNotices, openCommitNotices } from "../../src/runtime/cluster/CommitNotices.js"
import { databaseUrl, freshDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { assertWithin } from "../support/pace.js"

const openNode = (url: string, seat: string) =>
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
const untilHeard = ({ tellCommits }: CommitNotices, heard: ReadonlySet<string>, id: string) =>
  Effect.promise(() =>
    eventually(
      async () => {
        tellCommits(new Set([id]))
        return heard.has(id)
      },
      (isHeard) => isHeard
    )
  )

describe("a node on which callers wait", () => {
  it.scopedLive("hears of the others' commits from when it asks, also of those of a node that comes", () =>
    Effect.gen(function* () {
      const { name, urls } = yield* freshDatabase
      const url = databaseUrl(urls.owner, name)
      const waits = yield* openNode(url, "waits")
      const works = yield* openNode(url, "works")
      works.tellCommits(new Set(["org_before"]))
      waits.awaitCommits()
      yield* untilHeard(works, waits.heard, "org_a")
      // More than fit a notice.
      const many = Array.from({ length: 500 }, (_, n) => `org_${String(n).padStart(26, "0")}`)
      works.tellCommits(new Set(many))
      waits.tellCommits(new Set(["org_own"]))
      yield* Effect.promise(() =>
        eventually(
          async () => many.filter((id) => !waits.heard.has(id)),
          (missing) => missing.length === 0
        )
      )
      // As while somebody waits: it asked a moment ago, and would not ask again so soon.
      const asking = yield* Effect.fork(
        Effect.repeat(
          Effect.sync(() => waits.awaitCommits()),
          Schedule.spaced("50 millis")
        )
      )
      const later = yield* openNode(url, "later")
      yield* later.comes
      const [took] = yield* Effect.timed(untilHeard(later, waits.heard, "org_b"))
      assertWithin(Duration.toMillis(took), 2_000)
      yield* Fiber.interrupt(asking)
      assert.isFalse(waits.heard.has("org_before"))
      assert.isFalse(waits.heard.has("org_own"))
    })
  )
})
