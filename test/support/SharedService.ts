/**
 * One service in this process for all files of a worker that need no more than organisations of their own: a start costs
 * as much processor time as a few hundred requests. A file gets an organisation in which nothing has happened. What could
 * reach the next file is refused: the clock, the tables' owner, the database's administrator; settings and readers of
 * credentials need a service of their own (`start` of `InProcess.ts`). Each file ends with proofs.
 */
import { inject } from "vitest"
import { Effect } from "effect"
import type { PlanName } from "../../src/domain/organisation/Plan.js"
import * as Database from "./Database.js"
import { eventually } from "./eventually.js"
import { type Running, start } from "./InProcess.js"
import { assertSound } from "./proofs.js"
import { isLastFile, keepRunning, presentFile, stopShared } from "./sharing.js"

/** Files that one service serves: its database and its caches grow with each. */
const mostFiles = 40

interface Shared {
  readonly service: Running
  readonly listen: Running["listen"]
  readonly files: Array<string>
}

let present: Promise<Shared> | undefined
let organisationsMade = 0

/** The service, which may call servers of 127.0.0.1, with an organisation of the file's own as `first`. */
export const startShared = async (): Promise<Running> => {
  const { files, listen, service } = await (present ??= begin())
  files.push(presentFile())
  const organisations: Array<Organisation> = []
  const organisation = async (name: string, plan?: PlanName) => {
    // Slugs are unique on a database.
    const made = await service.organisation(`${name} ${(organisationsMade += 1)}`, plan)
    organisations.push(made)
    return made
  }
  const stop = async () => {
    try {
      await assertReleased(service, organisations)
    } catch (cause) {
      await stopShared()
      throw cause
    }
    if (!inject("isIsolated") && files.length < mostFiles && !isLastFile(presentFile())) return
    const lines = await stopShared()
    if (lines.length > 0) throw new Error(`The shared service logged at its end: ${lines.join("\n")}`)
  }
  return {
    run: (effect) => service.run(Effect.provideService(effect, Database.TestDatabase, noDatabase)),
    send: (raw, later) => (later === undefined ? service.send(raw) : refuse("its clock")),
    ask: (method, target, asked = {}) =>
      asked.later === undefined ? service.ask(method, target, asked) : refuse("its clock"),
    sql: () => refuse("the tables' owner"),
    organisation,
    listen,
    stop,
    first: await organisation("First")
  }
}

// --- Private ---

type Organisation = Awaited<ReturnType<Running["organisation"]>>

const begin = async (): Promise<Shared> => {
  const forget = () => {
    present = undefined
  }
  const service = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" }).catch((cause: unknown) => {
    forget()
    throw cause
  })
  let server: ReturnType<Running["listen"]> | undefined
  const files: Array<string> = []
  const stop = () => {
    forget()
    return service.stop()
  }
  keepRunning({ files, stop })
  return { service, files, listen: () => (server ??= service.listen()) }
}

const refuse = (what: string): never => {
  throw new Error(`The files of a worker share this service, so that a test may not use ${what}: start one of its own.`)
}

const noDatabase: Database.Database = {
  name: "",
  get urls() {
    return refuse("the tables' owner")
  },
  get admin() {
    return refuse("the database's administrator")
  }
}

/** Asserts that the service is sound, and that nothing of the file's organisations is under way or failing. */
const assertReleased = async (service: Running, organisations: ReadonlyArray<Organisation>) => {
  for (const { key } of organisations)
    await assertSound(async (target) => (await service.ask("GET", target, { key })).body)
  const ids = organisations.map(({ organisationId }) => `'${organisationId}'`).join(", ")
  await eventually(
    () =>
      service.sql(
        `SELECT 'runs' AS what, id FROM runs WHERE org IN (${ids})
        UNION ALL SELECT 'start_queue', id FROM start_queue WHERE org IN (${ids})
        UNION ALL SELECT 'deliveries', id FROM deliveries WHERE org IN (${ids}) AND status = 'pending'
        UNION ALL SELECT 'failed_jobs', task FROM failed_jobs WHERE org IN (${ids})`
      ),
    (rows) => rows.length === 0
  )
}
