/** The operator's mail server, as one address. */
import { Either, Redacted } from "effect"
import type { OperatorMailServer } from "../../actors/ports/delivery/MailServer.js"
import { parseUrl } from "../../domain/Url.js"
import type { Parse } from "./Setting.js"

const securities = ["starttls", "tls", "none"] as const

/** `user:password` of a URL; `undefined` if it is not percent-encoded. */
const loginOf = ({ password, username }: URL): string | undefined => {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    return undefined
  }
}

/** Such as `smtps://user:password@mail.example.com?from=svc@example.com`. */
export const mailServer: Parse<OperatorMailServer> = (text) => {
  const url = parseUrl(text)
  const from = url?.searchParams.get("from") ?? ""
  if (
    url === undefined ||
    !/^smtps?:$/.test(url.protocol) ||
    url.hostname === "" ||
    !/^[^\s@<>]+@[^\s@<>]+$/.test(from)
  )
    return Either.left("an address such as smtps://user:password@mail.example.com?from=svc@example.com")
  const login = loginOf(url)
  if (login === undefined) return Either.left("an address whose user and password are percent-encoded")
  const wanted = securities.find((one) => one === url.searchParams.get("security"))
  return Either.right({
    url: `${url.protocol}//${url.host}`,
    login: login === ":" ? null : Redacted.make(Buffer.from(login).toString("base64")),
    from,
    security: wanted ?? (url.protocol === "smtps:" ? "tls" : "starttls")
  })
}
