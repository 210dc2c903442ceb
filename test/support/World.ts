/** A running service with its first organisation, for one test file. */
import { inject } from "vitest"
import { api, type Api } from "./api.js"
import { proofs } from "./proofs.js"
import { startProvider, type Provider } from "./provider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "./Service.js"

export interface World {
  readonly api: () => Api
  readonly systems: () => Provider
  readonly output: () => string
  /** The process of the service. */
  readonly pid: () => number
  readonly dataDir: string
  /** Kills the process by SIGKILL and starts another on the same data. */
  readonly crash: () => Promise<void>
  /** The same after an orderly stop. */
  readonly restart: () => Promise<void>
  readonly start: () => Promise<void>
  /** Has the service prove its invariants, and ends it. */
  readonly stop: () => Promise<void>
}

/** `allow`: whether workflows may call servers on this machine. */
export const worldOf = (options: {
  readonly allow: boolean
  readonly env?: Readonly<Record<string, string>>
  /** As of `startService`. */
  readonly group?: string | undefined
  readonly answer?: Parameters<typeof startProvider>[0]
}): World => {
  const place = makeDataDirectory(options.group === undefined ? undefined : inject("runDirectory"))
  let systems: Provider | undefined
  let current: Service | undefined
  let log = ""

  const begin = async () => {
    current = startService({
      dataDir: place.dataDir,
      group: options.group,
      env: { ...(options.allow ? { SVC_EGRESS_ALLOW: "127.0.0.1/32" } : {}), ...options.env }
    })
    await current.ready
  }
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    current?.kill(signal)
    await current?.ended
    log += current?.output() ?? ""
  }
  return {
    dataDir: place.dataDir,
    api: () => api(place.dataDir),
    systems: () => {
      if (systems === undefined) throw new Error("not started")
      return systems
    },
    pid: () => current?.pid ?? 0,
    output: () => log + (current?.output() ?? ""),
    start: async () => {
      systems = await startProvider(options.answer)
      await prepareData(place.dataDir)
      await begin()
    },
    crash: async () => {
      await end("SIGKILL")
      await begin()
    },
    restart: async () => {
      await end("SIGTERM")
      await begin()
    },
    stop: async () => {
      try {
        if (current !== undefined) await proofs(current)
      } finally {
        await end("SIGTERM")
        await systems?.close()
        place.remove()
      }
    }
  }
}
