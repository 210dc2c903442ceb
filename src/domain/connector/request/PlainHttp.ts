/**
 * URLs of a definition without TLS. They are allowed only for servers in the operator's networks, so that a connector can
 * be developed against a local server.
 */
import type { Detail } from "../../Failure.js"
import type { ConnectorDefinition } from "../Definition.js"

interface PlacedUrl {
  readonly path: string
  readonly url: string
}

const urlMembers = ["authorizationUrl", "tokenUrl", "revocationUrl"] as const

const isPlain = (url: string | undefined): url is string => url?.startsWith("http://") === true

/** The URLs that begin with http://, with their paths in the definition. */
export const plainUrls = ({ actions, auth, baseUrl }: ConnectorDefinition): ReadonlyArray<PlacedUrl> =>
  [
    { path: "baseUrl", url: baseUrl },
    ...auth.flatMap((method, at) =>
      method.type === "oauth2" ? urlMembers.map((name) => ({ path: `auth[${at}].${name}`, url: method[name] })) : []
    ),
    ...actions.map(({ request }, at) => ({ path: `actions[${at}].request.path`, url: request.path }))
  ].flatMap(({ path, url }) => (isPlain(url) ? [{ path, url }] : []))

const toHttps = (url: string): string => (isPlain(url) ? `https://${url.slice("http://".length)}` : url)

/** The definition with https:// URLs, to find its other mistakes. */
export const withTls = (definition: ConnectorDefinition): ConnectorDefinition => ({
  ...definition,
  baseUrl: toHttps(definition.baseUrl),
  auth: definition.auth.map((method) =>
    method.type === "oauth2"
      ? {
          ...method,
          tokenUrl: toHttps(method.tokenUrl),
          ...(method.authorizationUrl === undefined ? {} : { authorizationUrl: toHttps(method.authorizationUrl) }),
          ...(method.revocationUrl === undefined ? {} : { revocationUrl: toHttps(method.revocationUrl) })
        }
      : method
  ),
  actions: definition.actions.map((action) => ({
    ...action,
    request: { ...action.request, path: toHttps(action.request.path) }
  }))
})

/** The scheme, host and port of an http:// URL, if they have no template. */
export const plainOrigin = (url: string): string | undefined =>
  /^http:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?(?=[/?]|$)/i.exec(url)?.[0]

/** The mistake of an http:// URL that is not allowed. */
export const plainHttpMistake = (path: string): Detail => ({
  path,
  code: "INVALID_URL",
  message: "must begin with https://; http:// is for a host in plain text whose address SVC_EGRESS_ALLOW covers"
})
