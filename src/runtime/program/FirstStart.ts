/** The first start with an embedded Postgres: creates an organisation with an example, and prints how to call it. */
import { Effect, Option, Redacted, Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import * as path from "node:path"
import type { OrganisationId } from "../../domain/Ids.js"
import { CallbackSecrets } from "../../actors/ports/delivery/CallbackSecrets.js"
import { ownUrl, type ServiceConfig } from "../configuration/Config.js"
import { makeExample, makeFirstOrganisation } from "./FirstOrganisation.js"
import { findUnowned, makeSignInLink } from "./SignInLink.js"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { replaceSecretFile } from "../vault/SecretFile.js"
import { countOf } from "../postgres/record/Table.js"

const DevFile = Schema.Struct({
  baseUrl: Schema.String,
  apiKey: Schema.String,
  organisationId: Schema.String,
  spaceId: Schema.String,
  customerId: Schema.String,
  exampleWorkflowId: Schema.String,
  callbackSecret: Schema.String
})
/** The content of `.svc/dev.json`: what a developer needs to begin. Readable by its owner only. */
export type DevFile = typeof DevFile.Type

const fileOf = (config: Pick<ServiceConfig, "dataDir">) => path.join(config.dataDir, "dev.json")

/** A command that works when it is pasted: with the key, or reading it from `dev.json`. */
const curl = (
  config: Pick<ServiceConfig, "dataDir">,
  { apiKey, baseUrl, exampleWorkflowId }: DevFile,
  isTerminal: boolean
): string =>
  [
    `curl -sS ${baseUrl}/api/v1/workflows/${exampleWorkflowId}/execute \\`,
    isTerminal
      ? `  -H 'Authorization: Bearer ${apiKey}' \\`
      : `  -H "Authorization: Bearer $(node -p 'require(process.argv[1]).apiKey' '${path.resolve(fileOf(config))}')" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '{"input":{"name":"you"}}'`
  ].join("\n")

/** How to sign in: by `link` where it is printed, else by a command. */
const signInText = (link: Option.Option<Redacted.Redacted>): string =>
  Option.match(link, {
    onSome: (one) => `Sign in as the owner with this link, once, within 15 minutes:\n\n${Redacted.value(one)}\n`,
    onNone: () => "To sign in in the browser: npm run svc -- console"
  })

/** What a first start prints. `isTerminal`: with the key. `link`: signs in the owner. */
export const greetingText = (
  config: Pick<ServiceConfig, "dataDir" | "egressAllow">,
  dev: DevFile,
  isTerminal: boolean,
  link: Option.Option<Redacted.Redacted>
): string =>
  [
    "",
    `svc is ready on ${dev.baseUrl}. Run the example workflow:`,
    "",
    curl(config, dev, isTerminal),
    "",
    `The key and ids are in ${fileOf(config)}. The API is described on ${dev.baseUrl}/docs.`,
    signInText(link),
    ...(config.egressAllow.length > 0 ? [] : [egressHint]),
    ""
  ].join("\n")

const egressHint =
  "Workflows reach the public internet only. To let them call this machine: SVC_EGRESS_ALLOW=127.0.0.1/32 npm start"

const write = (config: ServiceConfig, dev: DevFile) =>
  Effect.try({
    try: () => replaceSecretFile(fileOf(config), JSON.stringify(dev, null, 2)),
    catch: (cause) =>
      new OperatorError({
        message: `${fileOf(config)} cannot be written: ${reasonOf(cause)}. Let svc write to its directory, or set SVC_DATA_DIR to another.`
      })
  })

/** The file of the last start, if it wrote one. */
const readDevFile = (config: ServiceConfig) =>
  Effect.gen(function* () {
    if (!existsSync(fileOf(config))) return Option.none<DevFile>()
    const text = yield* Effect.try(() => readFileSync(fileOf(config), "utf8"))
    return Option.some(yield* Schema.decode(Schema.parseJson(DevFile))(text))
  }).pipe(
    Effect.mapError(
      () => new OperatorError({ message: `${fileOf(config)} is damaged: remove it. svc starts without it.` })
    )
  )

/** The base URL of the service that runs on this data directory, whose port another process may have chosen. */
export const currentUrl = Effect.fn("Welcome.currentUrl")(function* (config: ServiceConfig) {
  if (config.publicUrl !== ownUrl(config.host, config.port)) return config.publicUrl
  const dev = yield* readDevFile(config)
  return Option.match(dev, { onNone: () => config.publicUrl, onSome: ({ baseUrl }) => baseUrl })
})

/** Creates the first organisation and its example, and writes `dev.json`. */
export const makeFirstStart = Effect.fn("Welcome.make")(function* (config: ServiceConfig, baseUrl: string) {
  const first = yield* makeFirstOrganisation("My organisation", config.defaultPlan)
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

/**
 * Whether this is the first start with an embedded Postgres, which `makeFirstStart` prepares; a later one updates
 * `dev.json`. `svc bootstrap` creates the first organisation in an operator's Postgres.
 */
export const isFirstStart = Effect.fn("Welcome.isFirst")(function* (config: ServiceConfig, baseUrl: string) {
  if (config.database._tag !== "Embedded") return false
  const sql = yield* WriterSql
  if (countOf(yield* sql`SELECT count(*)::int AS n FROM organisations`) === 0) return true
  const earlier = yield* readDevFile(config)
  if (Option.isSome(earlier)) yield* write(config, { ...earlier.value, baseUrl })
  return false
})

/** Prepares a first start, and returns what it created. */
export const prepareFirstStart = Effect.fn("Welcome.prepare")(function* (config: ServiceConfig, baseUrl: string) {
  return (yield* isFirstStart(config, baseUrl))
    ? Option.some(yield* makeFirstStart(config, baseUrl))
    : Option.none<DevFile>()
})

/** The organisation whose first link is printed: none elsewhere than on a terminal, since that output may be kept. */
export const findPrinted = Effect.suspend(() =>
  process.stdout.isTTY ? findUnowned() : Effect.succeed(Option.none<OrganisationId>())
)

/** The link that makes the first person of the organisation. */
export const makeFirstLink = (organisation: Option.Option<OrganisationId>, url: string) =>
  Effect.transposeMapOption(organisation, (id) => makeSignInLink(id, null, url))

/**
 * Prints what a first start has made beside the log, and how to sign in while nobody has: key and link stand in it on a
 * terminal only, elsewhere the output may be kept.
 */
export const printGreeting = (
  config: ServiceConfig,
  made: Option.Option<DevFile>,
  link: Option.Option<Redacted.Redacted>
) =>
  Effect.sync(() => {
    const text = Option.isSome(made)
      ? greetingText(config, made.value, process.stdout.isTTY, link)
      : Option.isSome(link)
        ? `\n${signInText(link)}\n`
        : undefined
    if (text !== undefined) process.stdout.write(`${text}\n`)
  })
