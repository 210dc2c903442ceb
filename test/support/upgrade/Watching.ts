/** Watches runs over the RPC client, as a service beside svc does, and keeps which of them it was told have ended. */
import { Schema } from "effect"
import { ExecutionStatus, isTerminal } from "../../../src/domain/run/Execution.js"
import { connect, type RpcClient } from "../../../src/http/rpc/client/Package.js"
import { eventually } from "../eventually.js"

export interface WatchingClient {
  readonly client: RpcClient
  /** Waits until it was told that all of these have ended; returns those that it was not told of in time. */
  readonly untold: (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<string>>
  readonly close: () => Promise<void>
}

const isEnd = (status: string): boolean => Schema.is(ExecutionStatus)(status) && isTerminal(status)

/** Connects, and watches until it is closed. */
export const startWatching = async (url: string, key: string): Promise<WatchingClient> => {
  const client = await connect({ url, key })
  const told = new Set<string>()
  /** Of changes that were not named: whoever watches reads anew what concerns it. */
  let isUnnamed = false
  let begun: (() => void) | undefined
  const beginning = new Promise<void>((resolve) => (begun = resolve))
  const follow = async () => {
    for await (const item of client.executions.watch()) {
      begun?.()
      if (item._tag === "Changed" && isEnd(item.status)) told.add(item.id)
      if (item._tag === "Gap" || item._tag === "Many") isUnnamed = true
    }
  }
  const following = follow()
  await Promise.race([beginning, following])
  const untoldOf = (ids: ReadonlyArray<string>) => ids.filter((id) => !told.has(id))
  const readAnew = async (ids: ReadonlyArray<string>) => {
    for (const id of ids) if (isEnd((await client.executions.get({ id })).status)) told.add(id)
  }
  return {
    client,
    untold: async (ids) => {
      await eventually(
        async () => untoldOf(ids),
        (left) => left.length === 0 || isUnnamed
      ).catch(() => undefined)
      if (isUnnamed) await readAnew(untoldOf(ids))
      return untoldOf(ids)
    },
    close: async () => {
      await client.close()
      await following
    }
  }
}
