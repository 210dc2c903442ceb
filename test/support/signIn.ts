/** People who sign in to a service by links, as a browser on its own machine does. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { Digests } from "../../src/actors/ports/Digests.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { addLink } from "../../src/runtime/postgres/access/SignIns.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import type { Ask, Running } from "./InProcess.js"

/** The public address of such a service. */
export const origin = "http://127.0.0.1:3000"
/** What a browser says of a request of the service's own page. */
export const own = { "sec-fetch-site": "same-origin" }
export const form = { "content-type": "application/x-www-form-urlencoded", origin }

export const cookieOf = ({ headers }: { readonly headers: Record<string, string> }) =>
  (headers["set-cookie"] ?? "").split(";")[0] ?? ""

let addresses = 0

export const signInTo = (service: () => Running) => {
  /** Makes a link as the command line does; returns its token. */
  const newLink = async (organisation: string, email: string | null = null): Promise<string> => {
    const token = randomBytes(32).toString("base64url")
    await service().run(
      Effect.gen(function* () {
        const digests = yield* Digests
        const sql = yield* WriterSql
        yield* addLink(sql, {
          hash: digests.keyHash(`sign-in|${token}`),
          organisationId: organisation as OrganisationId,
          email
        })
      })
    )
    return token
  }

  const open = (token: string, more: Ask = {}) =>
    service().ask("POST", "/login", {
      raw: `token=${token}`,
      from: `198.51.100.${(addresses += 1) % 250}`,
      ...more,
      headers: { ...form, ...more.headers }
    })

  /** A signed-in owner of a new organisation. */
  const newOwner = async (name: string) => {
    const organisation = await service().organisation(name, "growth")
    const opened = await open(await newLink(organisation.organisationId))
    assert.strictEqual(opened.status, 303, opened.text)
    return { organisation, cookie: cookieOf(opened), setCookie: opened.headers["set-cookie"] ?? "" }
  }

  /** Asks as a page of the service does. */
  const askWith =
    (cookie: string) =>
    (method: string, target: string, more: Ask = {}) =>
      service().ask(method, target, {
        ...more,
        headers: { cookie, ...own, ...(method === "GET" ? {} : { "x-svc-console": "1" }), ...more.headers }
      })

  return { newLink, open, newOwner, askWith }
}
