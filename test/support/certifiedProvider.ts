/** A certified OpenID provider (`oidc-provider`), at which a person signs in by its own forms. */
import { assert } from "@effect/vitest"
import type { AddressInfo } from "node:net"
import { Provider } from "oidc-provider"
import { createTestServer } from "./httpServer.js"

/**
 * `redirect`: the callback of its only client, asked for at the first request. People are known by the names with which they
 * sign in. `headers`: of all its answers.
 */
export const startCertifiedProvider = async (
  client: readonly [id: string, secret: string],
  redirect: string | (() => string),
  headers: Readonly<Record<string, string>> = {}
) => {
  const redirectUri = () => (typeof redirect === "string" ? redirect : redirect())
  let handle: ReturnType<Provider["callback"]> | undefined
  const server = createTestServer((request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    handle ??= makeProvider().callback()
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const makeProvider = () =>
    new Provider(url, {
      clients: [{ client_id: client[0], client_secret: client[1], redirect_uris: [redirectUri()] }],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      cookies: { keys: ["of a test"] },
      findAccount: (_: unknown, name: string) => ({
        accountId: name,
        claims: () => ({ sub: name, name, email: `${name}@example.com`, email_verified: true })
      })
    })

  /** Signs in and consents, as a browser would; returns where it is sent in the end. */
  const consent = async (authorizationUrl: string, name: string): Promise<URL> => {
    const jar = new Map<string, string>()
    let at = new URL(authorizationUrl)
    let body: string | undefined
    for (let step = 0; step < 12; step++) {
      const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join("; ")
      const response = await fetch(at, {
        method: body === undefined ? "GET" : "POST",
        redirect: "manual",
        headers: { cookie, ...(body === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }) },
        ...(body === undefined ? {} : { body })
      })
      for (const one of response.headers.getSetCookie()) {
        const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(one) ?? []
        jar.set(key, value)
      }
      const location = response.headers.get("location")
      if (location !== null) {
        at = new URL(location, at)
        body = undefined
        if (at.href.startsWith(redirectUri())) return at
        continue
      }
      const text = await response.text()
      const [, action = ""] = /<form[^>]*action="([^"]*)"/.exec(text) ?? []
      at = new URL(action, at)
      body = text.includes('name="login"') ? `prompt=login&login=${name}&password=x` : "prompt=consent"
    }
    return assert.fail(`the provider goes on and on: ${at.href}`)
  }

  return { url, consent, close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}
