/** The session that the panel shows: what it may do and offers, and how another token takes its place. */
import createClient, { type Client } from "openapi-fetch"
import type { components, paths } from "panel-api"
import type { EmbedFrame } from "../../../../domain/access/EmbedFrame.js"
import type { Parent } from "../frame/Parent.js"
import { makeShared, type Shared } from "../Store.js"
import { asPanelError, errorOf, type PanelError } from "./Errors.js"
import { makeToken } from "./Token.js"

/** The records of the API by their names in its document. */
export type PanelSchemas = components["schemas"]
type ShownSession = PanelSchemas["EmbeddedSession"]

/** How far the session has come. */
export type PanelState =
  | { readonly status: "loading" }
  | { readonly status: "open"; readonly session: ShownSession }
  | { readonly status: "failed"; readonly error: PanelError }
  | { readonly status: "over" }

interface Answer<Body> {
  readonly data?: Body
  readonly error?: unknown
  readonly response: Response
}

/** The body of an answer. Rejects with `PanelError`. */
export const bodyOf = async <Body>(asked: Promise<Answer<Body>>): Promise<Body> => {
  let answer: Answer<Body>
  try {
    answer = await asked
  } catch (cause) {
    throw asPanelError(cause)
  }
  if (!answer.response.ok) throw errorOf(answer.response, answer.error)
  return answer.data as Body
}

/** The API with the session's token. */
export type PanelClient = Client<paths>

/** The session, and the API as it may call it. */
export interface PanelSession {
  readonly state: Shared<PanelState>
  readonly client: PanelClient
  readonly load: () => Promise<void>
  /** Goes on with a token that the page sent, if it is one of the same customer and person. */
  readonly take: (token: string, origin: string) => void
  /** Resolves when the session is open; at once if it is. */
  readonly whenOpen: () => Promise<void>
}

/** Milliseconds after a token of the page before the next one is looked at. */
const pauseAfterToken = 1_000

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))

/** Tells the page's developers why the panel goes on without their token. */
const refuseToken = (why: string): void => {
  // oxlint-disable-next-line no-console -- The console is the only place where they look.
  console.warn(`svc: the message svc:token was ignored: ${why}`)
}

/** `parent`: the page around the panel, which is made with `take`. */
export const makeSession = (frame: EmbedFrame, firstToken: string, parent: () => Parent): PanelSession => {
  const token = makeToken(firstToken, frame.expiresIn)
  const state = makeShared<PanelState>({ status: frame.expiresIn === null ? "over" : "loading" })
  const client = createClient<paths>({ baseUrl: location.origin, fetch: token.fetch })
  let id = frame.sessionId
  let session: ShownSession | undefined
  let offered: { readonly token: string; readonly origin: string } | undefined
  let isTaking = false

  const open = (found: ShownSession): void => {
    session = found
    state.set({ status: "open", session: found })
  }

  const load = async (): Promise<void> => {
    state.set({ status: "loading" })
    try {
      open((await bodyOf(client.GET("/api/v1/embed/sessions/{ems}", { params: { path: { ems: id } } }))).data)
    } catch (cause) {
      if (!token.isOver.get()) state.set({ status: "failed", error: asPanelError(cause) })
    }
  }

  const expired = (): void => {
    state.set({ status: "over" })
    parent().post("svc:session-expired", {})
  }
  token.isOver.follow((isOver) => isOver && expired())

  /** The session of a token that is not used yet. */
  const sessionOf = (sessionId: string, bearer: string) => {
    const other = createClient<paths>({ baseUrl: location.origin, credentials: "omit" })
    const headers = { authorization: `Bearer ${bearer}` }
    return bodyOf(other.GET("/api/v1/embed/sessions/{ems}", { params: { path: { ems: sessionId } }, headers }))
  }

  const adopt = async (given: string, origin: string): Promise<void> => {
    const next = await token.refreshOf(given)
    const found = (await sessionOf(next.sessionId, next.token)).data
    if (session !== undefined && (session.customerId !== found.customerId || session.userId !== found.userId))
      return refuseToken("its session is of another customer or person: load the frame again for them")
    if (!found.allowedOrigins.includes(origin)) return refuseToken("its session does not allow the origin of this page")
    id = found.id
    parent().allow(found.id, found.allowedOrigins)
    token.set(next.token, next.expiresIn)
    open(found)
  }

  const takeOffered = async (): Promise<void> => {
    isTaking = true
    while (offered !== undefined) {
      const one = offered
      offered = undefined
      try {
        await adopt(one.token, one.origin)
      } catch (cause) {
        refuseToken(asPanelError(cause).message)
      }
      await pause(pauseAfterToken)
    }
    isTaking = false
  }

  return {
    state,
    client,
    load,
    take: (given, origin) => {
      // Of many that come at once, the last counts.
      offered = { token: given, origin }
      if (!isTaking) void takeOffered()
    },
    whenOpen: () =>
      new Promise((resolve) => {
        if (state.get().status === "open") return resolve()
        const stop = state.follow(({ status }) => {
          if (status !== "open") return
          stop()
          resolve()
        })
      })
  }
}
