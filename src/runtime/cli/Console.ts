/** `svc console`: prints a link that signs in the owner, or a person of the given address, once. */
import { Command, Options } from "@effect/cli"
import { Console, Effect, Option, Redacted } from "effect"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { readConfig } from "../configuration/Config.js"
import { addLink, findPerson } from "../postgres/access/SignIns.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { unreachableError } from "../postgres/database/UnreachableDatabase.js"
import * as Crypto from "../process/Crypto.js"
import { OperatorError } from "../process/OperatorError.js"
import { currentUrl } from "../program/FirstStart.js"
import { layerBeside, ProvidedSecrets } from "../program/Layers.js"

const tokenLength = 43

const email = Options.text("email").pipe(
  Options.withDescription("Sign in this person instead of the owner; of several organisations, the one made first"),
  Options.optional
)

const make = Effect.fnUntraced(function* (address: string | null) {
  const sql = yield* WriterSql
  const { keyPepper } = yield* ProvidedSecrets
  const digests = Crypto.makeDigests({ pepper: keyPepper })
  const organisationId = yield* findPerson(sql, address)
  if (organisationId === undefined)
    return yield* new OperatorError({
      message:
        address === null
          ? "There is no organisation yet: start svc, or run svc bootstrap."
          : `Nobody has the address ${address}. Invite the person first, or leave --email out to sign in the owner.`
    })
  const token = yield* Effect.map(Identifiers, (identifiers) => identifiers.token(tokenLength))
  yield* addLink(sql, { hash: digests.keyHash(`sign-in|${token}`), organisationId, email: address })
  return Redacted.make(token)
})

export const consoleCommand = Command.make("console", { email }, ({ email }) =>
  Effect.gen(function* () {
    const config = yield* readConfig()
    const token = yield* make(Option.getOrNull(email)).pipe(
      Effect.provide(layerBeside(config)),
      Effect.provide(Crypto.layerIdentifiers),
      Effect.catchTag("SqlError", unreachableError)
    )
    yield* Console.log("Open this link in the browser. It signs in once, within 15 minutes:")
    yield* Console.log(`${yield* currentUrl(config)}/login#token=${Redacted.value(token)}`)
  })
).pipe(Command.withDescription("Print a link that signs in the owner, or a person, once"))
