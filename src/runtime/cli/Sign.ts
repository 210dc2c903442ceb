/** `svc sign`: the header `x-identity-hmac` for a request, as a caller sends it. */
import { Command, Options } from "@effect/cli"
import { Clock, Console, Effect, Option, Redacted } from "effect"
import { createHash, createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { didYouMean } from "../../domain/ClosestName.js"
import { identityHeaders } from "../../domain/access/IdentityHeaders.js"
import { identityHeader, signIdentity } from "../../domain/delivery/Signature.js"
import { OperatorError, reasonOf } from "../process/OperatorError.js"

const secret = Options.redacted("secret").pipe(
  Options.withDescription("The identity secret svs_…, or @file, or - for the standard input")
)
const method = Options.text("method").pipe(
  Options.withDescription("The method of the request"),
  Options.withDefault("POST")
)
const target = Options.text("target").pipe(
  Options.withDescription("Path and query exactly as they are sent, such as /api/v1/customers?page_size=5")
)
const header = Options.text("header").pipe(
  Options.withDescription("A header that the signature covers, name=value, such as x-org-id=cus_…; may be repeated"),
  Options.repeated
)
const body = Options.text("body").pipe(
  Options.withDescription("The body exactly as it is sent, or @file, or - for the standard input"),
  Options.optional
)
const time = Options.integer("time").pipe(
  Options.withDescription("The time of the signature in Unix seconds; by default now"),
  Options.optional
)
const nonce = Options.text("nonce").pipe(
  Options.withDescription("At most 64 visible characters, which svc accepts once"),
  Options.optional
)

export const signCommand = Command.make(
  "sign",
  { secret, method, target, header, body, time, nonce },
  Effect.fnUntraced(function* (given) {
    const key = (yield* bytesOf("--secret", Redacted.value(given.secret))).toString("utf8").trim()
    if (!key.startsWith("svs_")) return yield* refuse("--secret must be an identity secret, which begins with svs_.")
    if (!given.target.startsWith("/"))
      return yield* refuse("--target must be path and query as they are sent, beginning with /.")
    const content = Option.isSome(given.body) ? yield* bytesOf("--body", given.body.value) : Buffer.alloc(0)
    const headers = yield* readHeaders(given.header)
    const noncePart = Option.getOrElse(given.nonce, () => "")
    if (!/^[\x21-\x2b\x2d-\x7e]{0,64}$/.test(noncePart))
      return yield* refuse("--nonce must be at most 64 visible characters without a comma.")
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const request = {
      method: given.method,
      target: given.target,
      header: (name: string) => headers.get(name),
      bodySha256: createHash("sha256").update(content).digest("hex")
    }
    const signed = signIdentity(
      digests,
      [key],
      request,
      Option.getOrElse(given.time, () => now),
      noncePart
    )
    if (Option.isNone(signed)) return yield* refuse("A line break cannot be signed: remove it from target or headers.")
    yield* Console.log(`${identityHeader}: ${signed.value}`)
  })
).pipe(Command.withDescription("Sign a request: prints the header x-identity-hmac, for curl -H"))

const digests = {
  hmacHex: (key: string, data: string | Uint8Array) => createHmac("sha256", key).update(data).digest("hex")
}

const refuse = (message: string) => new OperatorError({ message })

/** The bytes of an option: its text, the content of `@file`, or the standard input for `-`. */
const bytesOf = (option: string, text: string) =>
  Effect.try({
    try: () =>
      text === "-" ? readFileSync(0) : text.startsWith("@") ? readFileSync(text.slice(1)) : Buffer.from(text),
    catch: (cause) => refuse(`${option} cannot be read: ${reasonOf(cause)}.`)
  })

const readHeaders = (pairs: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(pairs, (pair) => {
      const [, name = "", value = ""] = /^([^=:]+)[=:]\s*([^]*)$/.exec(pair) ?? []
      const known = identityHeaders.find((one) => one === name.trim().toLowerCase())
      return known === undefined
        ? refuse(
            `The signature covers no header ${name || pair}.${didYouMean(name, identityHeaders)} ` +
              `It covers ${identityHeaders.join(", ")}.`
          )
        : Effect.succeed([known, value] as const)
    }),
    (entries): ReadonlyMap<string, string> => new Map(entries)
  )
