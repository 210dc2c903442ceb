/** The longest time in which a shard of a cluster had no owner. */
import { shardCount, type TestCluster } from "./cluster.js"

/** Looks again and again which shards are held while the work goes on. In milliseconds. */
export const longestWithoutOwner = async (cluster: TestCluster, work: () => Promise<void>): Promise<number> => {
  const heldAt = new Map<number, number>()
  const begun = performance.now()
  let longest = 0
  const extend = (shard: number) => {
    longest = Math.max(longest, performance.now() - (heldAt.get(shard) ?? begun))
  }
  const watch = { isOver: false }
  const watching = (async () => {
    while (!watch.isOver) {
      for (const { shard } of await cluster.sql<{ shard: number }>(
        `SELECT objid::int AS shard FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = 1937137969
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
      )) {
        extend(shard)
        heldAt.set(shard, performance.now())
      }
      await new Promise((done) => setTimeout(done, 100))
    }
    for (let shard = 1; shard <= shardCount; shard++) extend(shard)
  })()
  await work().finally(() => {
    watch.isOver = true
  })
  await watching
  return longest
}
