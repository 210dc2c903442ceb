/** A small OpenID provider, whose ID tokens have real signatures. A test makes it lie. */
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto"
import type { AddressInfo } from "node:net"
import { createTestServer } from "./httpServer.js"

export type Claims = { readonly [claim: string]: unknown }

/** What the provider says instead of the truth. */
interface Lies {
  /** Changes claims of the ID token before it is signed. */
  claims: Claims
  /** Signs with a key that the provider does not publish, or not at all. */
  signature: "own" | "foreign" | "none"
  /** The claims of the address are in the user info only. */
  inUserInfo: boolean
  /** Of all answers; 200: as it should be. */
  status: number
}

const base64url = (value: object | Buffer) =>
  (Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))).toString("base64url")

const newKey = () => generateKeyPairSync("rsa", { modulusLength: 2048 })

/** `client`: id and secret of the only client. */
export const startOpenidProvider = async (client: readonly [id: string, secret: string]) => {
  const [own, foreign] = [newKey(), newKey()]
  const grants = new Map<string, { readonly request: URLSearchParams; readonly person: Claims }>()
  const people = new Map<string, Claims>()
  const requests: Array<string> = []
  const lies: Lies = { claims: {}, signature: "own", inUserInfo: false, status: 200 }

  const signed = (claims: Claims): string => {
    const keys: { readonly [name in Lies["signature"]]: KeyObject | undefined } = {
      own: own.privateKey,
      foreign: foreign.privateKey,
      none: undefined
    }
    const key = keys[lies.signature]
    const head = key === undefined ? { alg: "none" } : { alg: "RS256", kid: "one" }
    const text = `${base64url(head)}.${base64url(claims)}`
    return `${text}.${key === undefined ? "" : base64url(createSign("RSA-SHA256").update(text).sign(key))}`
  }

  const idToken = (request: URLSearchParams, person: Claims) => {
    const now = Math.floor(Date.now() / 1000)
    const nonce = request.get("nonce")
    const shown = lies.inUserInfo ? { sub: person["sub"] } : person
    return signed({ iss: url, aud: client[0], iat: now, exp: now + 300, nonce, ...shown, ...lies.claims })
  }

  /** Whether the request redeems a code of its own, with the secret and the proof of PKCE. */
  const grantOf = (authorization: string, body: URLSearchParams) => {
    const grant = grants.get(body.get("code") ?? "")
    grants.delete(body.get("code") ?? "")
    const challenge = base64url(
      createHash("sha256")
        .update(body.get("code_verifier") ?? "")
        .digest()
    )
    // RFC 6749, 2.3.1: both are form-encoded.
    const [id = "", secret = ""] = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":")
    const isClient = decodeURIComponent(id) === client[0] && decodeURIComponent(secret) === client[1]
    const isProved = grant?.request.get("code_challenge") === challenge
    const isSameUri = grant?.request.get("redirect_uri") === body.get("redirect_uri")
    return isClient && isProved && isSameUri ? grant : undefined
  }

  const answer = (path: string, authorization: string, body: URLSearchParams): { status: number; body: object } => {
    if (path === "/.well-known/openid-configuration")
      return {
        status: 200,
        body: {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          userinfo_endpoint: `${url}/userinfo`,
          jwks_uri: `${url}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
          authorization_response_iss_parameter_supported: true
        }
      }
    if (path === "/keys")
      return {
        status: 200,
        body: { keys: [{ ...own.publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" }] }
      }
    if (path === "/userinfo") {
      const person = people.get(authorization.replace("Bearer ", ""))
      return person === undefined ? { status: 401, body: {} } : { status: 200, body: person }
    }
    if (path !== "/token") return { status: 404, body: {} }
    const grant = grantOf(authorization, body)
    if (grant === undefined) return { status: 400, body: { error: "invalid_grant" } }
    const accessToken = randomBytes(16).toString("hex")
    people.set(accessToken, grant.person)
    const tokens = { access_token: accessToken, token_type: "Bearer", expires_in: 300 }
    return { status: 200, body: { ...tokens, id_token: idToken(grant.request, grant.person) } }
  }

  const server = createTestServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      requests.push(`${request.method} ${request.url}`)
      const sent = answer(
        request.url ?? "",
        request.headers.authorization ?? "",
        new URLSearchParams(Buffer.concat(parts).toString())
      )
      response.writeHead(lies.status === 200 ? sent.status : lies.status, { "content-type": "application/json" })
      response.end(JSON.stringify(sent.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  /** Consents as a person does in the browser; returns where the browser is sent. */
  const consent = (authorizationUrl: string, person: Claims): URL => {
    const { searchParams: request } = new URL(authorizationUrl)
    const code = randomBytes(16).toString("hex")
    grants.set(code, { request, person })
    const back = new URL(request.get("redirect_uri") ?? "")
    back.search = new URLSearchParams({ code, state: request.get("state") ?? "", iss: url }).toString()
    return back
  }

  return { url, lies, requests, consent, close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

export type OpenidProvider = Awaited<ReturnType<typeof startOpenidProvider>>
