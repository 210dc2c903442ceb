/** Who is to hold each shard, as the library assigns them, which does not tell, and which of them are moving. */
import type { RunnerAddress } from "@effect/cluster"
import { HashRing } from "effect"
import type { NodeRow } from "../postgres/database/NodeRow.js"
import type { Membership } from "./Membership.js"
import { runnersAmong } from "./ShardLocks.js"

/** How long after a shard was assigned to another node it may still be with the one before, or with none. */
export const movingMillis = 1_500

export interface ShardOwners {
  /** `host:port`; `null` if there is no node that holds shards. Shards are numbered from 1 on. */
  readonly ownerOf: (shard: number) => string | null
  /** Whether the shard was assigned to another node a moment ago. */
  readonly isMoving: (shard: number) => boolean
}

/** `members`: the nodes of the cluster now; the same array until they are looked at again. `now`: in milliseconds. */
export const makeShardOwners = (
  { members, onChange }: Pick<Membership["Type"], "members" | "onChange">,
  shards: number,
  now: () => number = () => performance.now()
): ShardOwners => {
  let looked: ReadonlyArray<NodeRow> = []
  let key = ""
  let owners: ReadonlyArray<string> = []
  /** The owners before: those of a node that has no seat for a moment count. */
  let before: ReadonlyArray<string> = []
  const movedAt = new Float64Array(shards).fill(-Infinity)

  const look = (): void => {
    const all = members()
    if (all === looked) return
    looked = all
    const next = all.map(({ address, isLeaving }) => `${address} ${isLeaving}`).join()
    if (next === key) return
    key = next
    owners = ownersAmong(all, shards)
    if (owners.length === 0) return
    if (before.length > 0) {
      const at = now()
      for (const [n, owner] of owners.entries()) if (owner !== before[n]) movedAt[n] = at
    }
    before = owners
  }

  // At once: who asks later would take an earlier move for one of now.
  onChange(look)
  return {
    ownerOf: (shard) => {
      look()
      return owners[shard - 1] ?? null
    },
    isMoving: (shard) => {
      look()
      return now() - (movedAt[shard - 1] ?? -Infinity) < movingMillis
    }
  }
}

export const nameOf = ({ host, port }: RunnerAddress.RunnerAddress): string => `${host}:${port}`

/** The owner of each shard, in their order. */
const ownersAmong = (members: ReadonlyArray<NodeRow>, shards: number): ReadonlyArray<string> => {
  const addresses = runnersAmong(members).flatMap(([{ address }, isHealthy]) => (isHealthy ? [address] : []))
  const assigned = HashRing.getShards(HashRing.addMany(HashRing.make<RunnerAddress.RunnerAddress>(), addresses), shards)
  return assigned?.map(nameOf) ?? []
}
