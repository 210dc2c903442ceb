/** Defines an environment variable: name, meaning, default and parser, from which reader and documents are derived. */
import { Config, ConfigError, Duration, Either, type Option, Redacted } from "effect"
import { isObject, type Json } from "../../domain/Json.js"
import { parseUrl } from "../../domain/Url.js"

export interface Setting<A> {
  readonly name: string
  /** For the operator: what it does, its form and its unit. */
  readonly meaning: string
  /** The default, as shown in the documents. */
  readonly defaultText: string
  readonly secret: boolean
  readonly config: Config.Config<A>
}

/** Parses the text of a variable. Left: what it must be, to end a sentence "SVC_X must be …". */
export type Parse<A> = (text: string) => Either.Either<A, string>

interface About {
  readonly name: string
  readonly meaning: string
}

/** A variable with a default. */
export const setting = <A>(about: About, parse: Parse<A>, fallback: A, defaultText = String(fallback)): Setting<A> => ({
  ...about,
  defaultText,
  secret: false,
  config: parsed(about, parse).pipe(Config.withDefault(fallback))
})

/** A variable that may be absent; `defaultText` says what that means. */
export const optionalSetting = <A>(about: About, parse: Parse<A>, defaultText: string): Setting<Option.Option<A>> => ({
  ...about,
  defaultText,
  secret: false,
  config: Config.option(parsed(about, parse))
})

/** A secret that may be absent. Its text is in no message. */
export const secretSetting = <A>(
  about: About,
  parse: Parse<A>,
  defaultText: string
): Setting<Option.Option<Redacted.Redacted<A>>> => ({
  ...about,
  defaultText,
  secret: true,
  config: Config.option(
    // Parses after the redaction, which would hide the message of a parse error as well.
    Config.redacted(Config.string(about.name)).pipe(
      Config.mapOrFail((secret) =>
        Either.map(judged(about, parse)(Redacted.value(secret)), (value) => Redacted.make(value))
      ),
      Config.withDescription(about.meaning)
    )
  )
})

const parsed = <A>(about: About, parse: Parse<A>) =>
  Config.string(about.name).pipe(Config.mapOrFail(judged(about, parse)), Config.withDescription(about.meaning))

const judged =
  <A>({ name }: About, parse: Parse<A>) =>
  (text: string) =>
    Either.mapLeft(parse(text.trim()), (wanted) => ConfigError.InvalidData([name], `${name} must be ${wanted}.`))

// --- Forms ---

export const anyText: Parse<string> = Either.right

export const integerText =
  (least: number, most: number): Parse<number> =>
  (text) =>
    /^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most
      ? Either.right(Number(text))
      : Either.left(`a whole number from ${least} to ${most}`)

export const jsonObjectText: Parse<{ readonly [member: string]: Json }> = (text) => {
  const wanted = Either.left("a JSON object")
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? Either.right(value) : wanted
  } catch {
    return wanted
  }
}

export const oneOfTexts =
  <const A extends string>(...choices: ReadonlyArray<A>): Parse<A> =>
  (text) => {
    const choice = choices.find((one) => one === text.toLowerCase())
    return choice === undefined ? Either.left(`one of ${choices.join(", ")}`) : Either.right(choice)
  }

export const durationText: Parse<Duration.Duration> = (text) => {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|milliseconds?|seconds?|minutes?|hours?)$/.exec(text) ?? []
  if (amount === undefined || unit === undefined) return Either.left(`a duration such as "500ms", "30s" or "2m"`)
  const scale = /^(ms|milli)/.test(unit) ? 1 : unit.startsWith("s") ? 1_000 : unit.startsWith("m") ? 60_000 : 3_600_000
  return Either.right(Duration.millis(Number(amount) * scale))
}

/** A URL of one of the protocols, without the trailing slash. */
export const urlText =
  (...protocols: ReadonlyArray<string>): Parse<string> =>
  (text) =>
    protocols.includes(parseUrl(text)?.protocol.slice(0, -1) ?? "")
      ? Either.right(text.replace(/\/+$/, ""))
      : Either.left(`an address that begins with ${protocols.map((protocol) => `${protocol}://`).join(" or ")}`)

/** Pairs `name=value`, separated by commas. */
export const pairsText: Parse<Readonly<Record<string, string>>> = (text) => {
  const found = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair))
  return found.every((match) => match !== null)
    ? Either.right(Object.fromEntries(found.map((match) => [match[1], match[2]])))
    : Either.left("pairs name=value, separated by commas")
}
