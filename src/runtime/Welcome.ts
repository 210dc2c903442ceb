/** The first start of an embedded service: makes something to work with, and says how. */
import { Effect, Redacted } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { CallbackSecrets } from "../actors/ports/CallbackSecrets.js"
import type { ServiceConfig } from "./Config.js"
import { makeExample, makeFirst } from "./First.js"
import { Refusal } from "./Refusal.js"
import { WriterSql } from "./postgres/Pools.js"

/** What a developer needs to begin; `.svc/dev.json`, readable by its owner only. */
export interface DevFile {
  readonly baseUrl: string
  readonly apiKey: string
  readonly organisationId: string
  readonly spaceId: string
  readonly customerId: string
  readonly exampleWorkflowId: string
  readonly callbackSecret: string
}

const fileOf = (config: ServiceConfig) => path.join(config.dataDir, "dev.json")

/** The command that works as pasted. */
const curl = ({ apiKey, baseUrl, exampleWorkflowId }: DevFile): string =>
  [
    `curl -sS ${baseUrl}/api/v1/workflows/${exampleWorkflowId}/execute \\`,
    `  -H 'Authorization: Bearer ${apiKey}' -H 'content-type: application/json' \\`,
    `  -d '{"input":{"name":"you"}}'`
  ].join("\n")

const text = (config: ServiceConfig, dev: DevFile): string =>
  [
    "",
    `svc is ready on ${dev.baseUrl}. Run the example workflow:`,
    "",
    curl(dev),
    "",
    `The key and ids are in ${fileOf(config)}. The API is described on ${dev.baseUrl}/docs.`,
    "Workflows reach the public internet only. To let them call this machine: SVC_EGRESS_ALLOW=127.0.0.1/32 npm start",
    ""
  ].join("\n")

const write = (config: ServiceConfig, dev: DevFile) =>
  Effect.try({
    try: () => writeFileSync(fileOf(config), `${JSON.stringify(dev, null, 2)}\n`, { mode: 0o600 }),
    catch: (error) => new Refusal({ message: `${fileOf(config)} cannot be written: ${String(error)}.` })
  })

/** Where the file of an earlier start is. Its port may have changed since. */
const known = (config: ServiceConfig, baseUrl: string): DevFile | undefined => {
  if (!existsSync(fileOf(config))) return undefined
  // Written by `write`.
  const dev = JSON.parse(readFileSync(fileOf(config), "utf8")) as DevFile
  return { ...dev, baseUrl }
}

const make = Effect.fn("Welcome.make")(function* (config: ServiceConfig, baseUrl: string) {
  const first = yield* makeFirst("My organisation", config.defaultPlan)
  const example = yield* makeExample(first)
  const secrets = yield* CallbackSecrets
  const dev: DevFile = {
    baseUrl,
    apiKey: Redacted.value(first.apiKey),
    organisationId: first.organisationId,
    spaceId: first.spaceId,
    customerId: example.customerId,
    exampleWorkflowId: example.workflowId,
    callbackSecret: Redacted.value(yield* secrets.current(first.organisationId, first.spaceId))
  }
  yield* write(config, dev)
  return dev
})

/** Embedded services only: the operator's own Postgres gets its first organisation by `svc bootstrap`. */
export const welcome = Effect.fn("Welcome")(function* (config: ServiceConfig, baseUrl: string) {
  if (config.database._tag !== "Embedded") return
  const sql = yield* WriterSql
  const [row] = yield* sql<{ n: number }>`SELECT count(*)::int AS n FROM organisations`
  const earlier = known(config, baseUrl)
  if (row?.n !== 0) {
    if (earlier !== undefined) yield* write(config, earlier)
    return
  }
  const dev = yield* make(config, baseUrl)
  // For a person at a terminal, beside the log.
  yield* Effect.sync(() => process.stdout.write(`${text(config, dev)}\n`))
})
