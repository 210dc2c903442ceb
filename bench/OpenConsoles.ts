/**
 * What open consoles cost the service: W1 beside 50 that show the runs, against W1 alone, in turns; and the CPU time of 200
 * where nothing happens. A console is what its page asks for: one stream, and at a change the reads of the page, at the pace
 * of the page itself.
 */
import { ReadPace } from "../src/http/web/console/live/ReadPace.js"
import { publish, type Service, startService } from "./support/Service.js"
import { median, ratios } from "./support/Ratios.js"
import { Table } from "./support/Table.js"
import { type Measurement, measureAt, serviceTarget, warmUp } from "./support/Throughput.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 5)
const busy = 50
const idle = 200
const idleMillis = 20_000
/** As long as a page that shows many changes waits between reads, so that those of all pages are spread. */
const openingMillis = 10_000
const must = { ratio: 0.97, idlePercent: 5 }
/** Of one key. */
const streamsOfKey = 4

const keysOf = async ({ call }: Service, streams: number): Promise<ReadonlyArray<string>> => {
  const keys: Array<string> = []
  for (let n = 0; n < streams / streamsOfKey; n++) {
    const made = await call("POST", "/api/v1/api-keys", { name: `console ${n}`, mode: "live", preset: "full_access" })
    keys.push(String((made["data"] as { readonly key: string }).key))
  }
  return Array.from({ length: streams }, (_, n) => keys[Math.floor(n / streamsOfKey)] ?? "")
}

interface Consoles {
  readonly reads: () => number
  readonly close: () => Promise<void>
}

/** Opens a stream for each key; `isReading`: one after the other, as people do, and reads what the page of runs shows. */
const openConsoles = async ({ port }: Service, keys: ReadonlyArray<string>, isReading: boolean): Promise<Consoles> => {
  const end = new AbortController()
  let reads = 0
  const open = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` }
    const base = `http://127.0.0.1:${port}/api/v1`
    const since = encodeURIComponent(new Date().toISOString())
    const read = async (query: string) => {
      const answer = await fetch(`${base}/executions?page_size=50&${query}`, { headers, signal: end.signal })
      if (!answer.ok) throw new Error(`a console's read: ${answer.status} ${await answer.text()}`)
      reads += 1
      return ((await answer.json()) as { readonly page: { readonly hasMore: boolean } }).page.hasMore
    }
    /** Newer runs are counted up to a page of them. */
    let isCounted = false
    const countNewer = async () => {
      if (!isCounted) isCounted = await read(`created_after=${since}`)
    }
    const pace = new ReadPace()
    let waiting: ReturnType<typeof setTimeout> | undefined
    const readPage = () => {
      waiting = undefined
      pace.read(performance.now())
      void Promise.all([read(`created_before=${since}`), countNewer()]).catch((cause: unknown) => {
        if (!end.signal.aborted) throw cause
      })
    }
    const change = (isMany: boolean) => {
      const pause = pace.changed(isMany, performance.now())
      if (!isReading || waiting !== undefined) return
      if (pause === 0) readPage()
      else waiting = setTimeout(readPage, pause)
    }
    const topics = "executions,events,connections,triggers,notifications"
    const stream = await fetch(`${base}/watch?topics=${topics}`, { headers, signal: end.signal })
    if (!stream.ok || stream.body === null) throw new Error(`a console's stream: ${stream.status}`)
    const decoder = new TextDecoder()
    const { body } = stream
    const followed = (async () => {
      try {
        for await (const piece of body) {
          const text = decoder.decode(piece, { stream: true })
          if (text.includes("data: ")) change(text.includes('"many"'))
        }
      } catch (cause) {
        if (!end.signal.aborted) throw cause
      } finally {
        clearTimeout(waiting)
      }
    })()
    if (isReading) readPage()
    return { followed }
  }
  const streams = await Promise.all(
    keys.map(async (key, n) => {
      if (isReading) await new Promise((resolve) => setTimeout(resolve, (n * openingMillis) / keys.length))
      return open(key)
    })
  )
  return {
    reads: () => reads,
    close: async () => {
      end.abort()
      await Promise.all(streams.map(({ followed }) => followed))
    }
  }
}

const costOf = ({ cpu }: Measurement): number => cpu.own + cpu.runners + cpu.postgres

const besideW1 = async (service: Service, table: Table): Promise<void> => {
  const workflow = await publish(service, "trivial", "return { hello: ctx.input.name }")
  const target = serviceTarget(service, "svc", workflow)
  const keys = await keysOf(service, busy)
  await warmUp(target)
  const alone: Array<Measurement> = []
  const beside: Array<Measurement> = []
  let reads = 0
  const measureWith = async () => {
    const consoles = await openConsoles(service, keys, true)
    beside.push(await measureAt(new Table(), target, 16))
    reads += consoles.reads()
    await consoles.close()
  }
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) await measureWith()
    alone.push(await measureAt(new Table(), target, 16))
    if (round % 2 === 1) await measureWith()
  }
  const row = (name: string, of: (one: Measurement) => number, digits: number) =>
    table.add(
      name,
      median(beside.map(of)).toFixed(digits),
      median(alone.map(of)).toFixed(digits),
      ratios(beside, alone, of)
    )
  row(`W1 beside ${busy} consoles: runs/s`, ({ perSecond }) => perSecond, 0)
  row("p99 ms", ({ p99 }) => p99, 2)
  row("cpu ms/run", costOf, 3)
  const ratio = median(beside.map((one, round) => one.perSecond / (alone[round] ?? one).perSecond))
  table.note(
    `W1 beside ${busy} consoles is ${ratio.toFixed(3)} of W1 alone, must ${must.ratio}: ${ratio >= must.ratio ? "reached" : "MISSED"}; they made ${reads} reads`
  )
}

const whileIdle = async (service: Service, table: Table): Promise<void> => {
  const keys = await keysOf(service, idle)
  const spent = async () => {
    const before = service.usage().cpu
    await new Promise((resolve) => setTimeout(resolve, idleMillis))
    const { cpu } = service.usage()
    return (100 * (cpu.own + cpu.postgres + cpu.runners - before.own - before.postgres - before.runners)) / idleMillis
  }
  const alone = await spent()
  const consoles = await openConsoles(service, keys, false)
  // What follows from their opening is not idle.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const watched = await spent()
  await consoles.close()
  const own = watched - alone
  table.add(`${idle} idle consoles: % of a core`, watched.toFixed(1), alone.toFixed(1), own.toFixed(1))
  table.note(
    `${idle} idle consoles take ${own.toFixed(1)} % of a core, must ${must.idlePercent}: ${own <= must.idlePercent ? "reached" : "MISSED"}`
  )
}

export const openConsolesBench = async (): Promise<void> => {
  const service = await startService()
  const table = new Table("", "with", "without", "ratios, or the difference")
  await whileIdle(service, table)
  await besideW1(service, table)
  await service.stop()
  table.print("Open consoles")
}
