/**
 * The token with which the panel calls: only in memory, and refreshed before it expires. When its session is over, no call is
 * made any more until another token is set.
 */
import type { components } from "panel-api"
import { makeShared, type Shared } from "../Store.js"
import { errorOf, PanelError, sessionEnded } from "./Errors.js"

type RefreshedToken = components["schemas"]["EmbedToken"]

export interface Token {
  readonly isOver: Shared<boolean>
  /** As `fetch`, with the token. Rejects if the session is over. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The next token of another one's session, which is not used yet. Rejects if that is over. */
  readonly refreshOf: (token: string) => Promise<RefreshedToken>
  readonly set: (token: string, expiresIn: number) => void
}

const refreshPath = "/api/v1/embed/token/refresh"
/** Milliseconds before a refresh that failed is tried again: the first, and the longest. */
const retry = { first: 5_000, longest: 60_000 } as const

/** Milliseconds after which a token is refreshed: a minute before it expires, of a short one a quarter of its time. */
const refreshAfter = (expiresIn: number): number => Math.max(0, expiresIn - Math.min(60, expiresIn / 4)) * 1_000

const withToken = (request: Request, token: string): Request => {
  request.headers.set("authorization", `Bearer ${token}`)
  return request
}

const post = (token: string, signal?: AbortSignal): Promise<Response> =>
  fetch(refreshPath, {
    method: "POST",
    credentials: "omit",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
    ...(signal === undefined ? {} : { signal })
  })

const refreshOf: Token["refreshOf"] = async (token) => {
  const response = await post(token)
  const body: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw errorOf(response, body)
  return body as RefreshedToken
}

/** `expiresIn`: seconds; `null`: its session is over. */
export const makeToken = (first: string, expiresIn: number | null): Token => {
  let token = first
  let dueAt = 0
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let calls = new AbortController()
  let refreshing: Promise<void> | undefined
  const isOver = makeShared(expiresIn === null)

  const end = (): void => {
    clearTimeout(timer)
    calls.abort()
    isOver.set(true)
  }

  const plan = (millis: number): void => {
    clearTimeout(timer)
    dueAt = Date.now() + millis
    timer = setTimeout(() => void refresh(), millis)
  }

  const set: Token["set"] = (next, seconds) => {
    token = next
    failures = 0
    if (calls.signal.aborted) calls = new AbortController()
    plan(refreshAfter(seconds))
    isOver.set(false)
  }

  const refreshOnce = async (): Promise<void> => {
    const sent = token
    let response: Response | undefined
    try {
      response = await post(sent, calls.signal)
    } catch {
      response = undefined
    }
    // Another one was set meanwhile.
    if (sent !== token || isOver.get()) return
    if (response?.status === 401) return end()
    const next: RefreshedToken | undefined = response?.ok === true ? await response.json() : undefined
    if (next !== undefined) return set(next.token, next.expiresIn)
    failures += 1
    const after = Number(response?.headers.get("retry-after") ?? 0) * 1_000
    plan(Math.max(after || 0, Math.min(retry.longest, retry.first * 2 ** (failures - 1))))
  }

  /** One at a time, for all who wait for it. */
  const refresh = (): Promise<void> =>
    (refreshing ??= refreshOnce().finally(() => {
      refreshing = undefined
    }))

  const send = (request: Request): Promise<Response> => {
    if (isOver.get()) throw new PanelError(0, sessionEnded)
    return fetch(withToken(new Request(request, { credentials: "omit", signal: calls.signal }), token))
  }

  const codeOf = async (response: Response): Promise<string> => {
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => undefined)
    return errorOf(response, body).code
  }

  // A timer does not run while the computer sleeps.
  const refreshIfDue = (): void => {
    if (!isOver.get() && document.visibilityState === "visible" && Date.now() >= dueAt) void refresh()
  }
  document.addEventListener("visibilitychange", refreshIfDue)
  window.addEventListener("online", refreshIfDue)
  if (expiresIn !== null) plan(refreshAfter(expiresIn))

  return {
    isOver,
    refreshOf,
    set,
    fetch: async (request) => {
      const again = request.clone()
      const sent = token
      const response = await send(request)
      if (response.status !== 401) return response
      if ((await codeOf(response)) !== "TOKEN_EXPIRED") {
        if (sent === token) end()
        return response
      }
      if (sent === token) await refresh()
      return sent === token ? response : send(again)
    }
  }
}
