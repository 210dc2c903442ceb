/** `svc console`: prints a link that signs in the owner, or a person of the given address, once. */
import { Command, Options } from "@effect/cli"
import { Console, Effect, Layer, Option, Redacted } from "effect"
import { readConfig } from "../configuration/Config.js"
import { findPerson } from "../postgres/access/SignIns.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import * as Crypto from "../process/Crypto.js"
import { OperatorError } from "../process/OperatorError.js"
import { currentUrl } from "../program/FirstStart.js"
import { layerBeside, ProvidedSecrets } from "../program/Layers.js"
import { makeSignInLink } from "../program/SignInLink.js"

const email = Options.text("email").pipe(
  Options.withDescription("Sign in this person instead of the owner; of several organisations, the one made first"),
  Options.optional
)

const makeLink = Effect.fnUntraced(function* (address: string | null, url: string) {
  const sql = yield* WriterSql
  const { keyPepper } = yield* ProvidedSecrets
  const organisationId = yield* findPerson(sql, address)
  if (organisationId === undefined)
    return yield* new OperatorError({
      message:
        address === null
          ? "There is no organisation yet: start svc, or run svc bootstrap."
          : `Nobody has the address ${address}. Invite the person first, or leave --email out to sign in the owner.`
    })
  return yield* Effect.provide(
    makeSignInLink(organisationId, address, url),
    Layer.merge(Crypto.layerDigests({ pepper: keyPepper }), Crypto.layerIdentifiers)
  )
})

export const consoleCommand = Command.make("console", { email }, ({ email }) =>
  Effect.gen(function* () {
    const config = yield* readConfig()
    const link = yield* makeLink(Option.getOrNull(email), yield* currentUrl(config)).pipe(
      Effect.provide(layerBeside(config)),
      Effect.catchTag("SqlError", unreachableError)
    )
    yield* Console.log("Open this link in the browser. It signs in once, within 15 minutes:")
    yield* Console.log(Redacted.value(link))
  })
).pipe(Command.withDescription("Print a link that signs in the owner, or a person, once"))
