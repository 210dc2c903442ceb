/** The variables of the operator's OpenID provider, which belong together. */
import { Either, Option, type Redacted } from "effect"
import type { JoinRule } from "../../actors/ports/access/IdentityProvider.js"
import { anyText, oneOfTexts, optionalSetting, type Parse, secretSetting, setting, urlText } from "./Setting.js"

/** How people sign in at the operator's provider. */
export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly joins: ReadonlyArray<JoinRule>
  readonly only: boolean
}

const joinRules: Parse<ReadonlyArray<JoinRule>> = (text) => {
  const rules = text.split(",").map((one) => one.trim().split(":"))
  const isValid = rules.every(
    (parts) =>
      parts.length === 3 &&
      /^[\w-]{1,100}$/.test(parts[0] ?? "") &&
      /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(parts[1] ?? "") &&
      parts[2] !== ""
  )
  return isValid
    ? Either.right(
        rules.map(([organisation = "", domain = "", role = ""]) => ({
          organisation,
          domain: domain.toLowerCase(),
          role
        }))
      )
    : Either.left("rules such as acme:example.com:viewer, separated by commas")
}

/** As it is: a slash at its end belongs to it. */
const issuerText: Parse<string> = (text) => Either.map(urlText("https", "http")(text), () => text)

const trueOrFalse: Parse<boolean> = (text) => Either.map(oneOfTexts("true", "false")(text), (one) => one === "true")

/** Their rows of the table of settings. */
export const oidcTable = {
  oidcIssuer: optionalSetting(
    {
      name: "SVC_OIDC_ISSUER",
      meaning:
        "Your OpenID provider, at which people sign in: its issuer, such as `https://id.example.com`. Its callback is `/auth/oidc/callback` below SVC_PUBLIC_URL."
    },
    issuerText,
    "none"
  ),
  oidcClientId: optionalSetting(
    { name: "SVC_OIDC_CLIENT_ID", meaning: "The id by which the provider knows svc." },
    anyText,
    "none"
  ),
  oidcClientSecret: secretSetting(
    { name: "SVC_OIDC_CLIENT_SECRET", meaning: "The secret that the provider has given to svc." },
    anyText,
    "none"
  ),
  oidcJoin: setting(
    {
      name: "SVC_OIDC_JOIN",
      meaning:
        "Who joins at the first sign-in at the provider without an invitation: organisation (id or slug), domain of the verified address, and role, as in `acme:example.com:viewer`, separated by commas."
    },
    joinRules,
    [],
    "nobody"
  ),
  oidcOnly: setting(
    {
      name: "SVC_OIDC_ONLY",
      meaning: "Whether people sign in at the provider only: true or false. The link of `svc console` remains."
    },
    trueOrFalse,
    false
  )
}

interface OidcVariables {
  readonly oidcIssuer: Option.Option<string>
  readonly oidcClientId: Option.Option<string>
  readonly oidcClientSecret: Option.Option<Redacted.Redacted>
  readonly oidcJoin: ReadonlyArray<JoinRule>
  readonly oidcOnly: boolean
}

/** What is missing beside what is set. `textOf`: of a variable; empty if it is not set. */
export const oidcProblems = (textOf: (name: string) => string): ReadonlyArray<string> => {
  const needed = [oidcTable.oidcIssuer.name, oidcTable.oidcClientId.name, oidcTable.oidcClientSecret.name]
  const isOnly = textOf(oidcTable.oidcOnly.name).trim().toLowerCase() === "true"
  if (needed.every((name) => textOf(name) === "") && !isOnly && textOf(oidcTable.oidcJoin.name) === "") return []
  return needed.flatMap((name) =>
    textOf(name) === "" ? [`${name} is missing: to sign in at your provider svc needs ${needed.join(", ")}.`] : []
  )
}

/** The provider, if it is configured. */
export const oidcOf = (found: OidcVariables): Option.Option<OidcSettings> =>
  Option.map(
    Option.all([found.oidcIssuer, found.oidcClientId, found.oidcClientSecret]),
    ([issuer, clientId, clientSecret]) => ({
      issuer,
      clientId,
      clientSecret,
      joins: found.oidcJoin,
      only: found.oidcOnly
    })
  )
