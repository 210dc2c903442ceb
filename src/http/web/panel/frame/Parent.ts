/**
 * Messages between the panel and the page that shows it. They go to the origins that the session allows, and from the first
 * valid message of the page on only to that page's origin. Contract: embed.
 */
import type { WidgetTheme } from "../../../../domain/organisation/WidgetTheme.js"
import { isObject, themeMistake } from "./Palette.js"

/** What the page tells the panel. */
export type ParentMessage =
  | { readonly type: "svc:token"; readonly token: string; readonly origin: string }
  | { readonly type: "svc:theme"; readonly theme: WidgetTheme }
  | { readonly type: "svc:locale"; readonly locale: "en" | "de" }
  | { readonly type: "svc:open"; readonly connector: string }

/** What the panel tells the page; the payload of each. */
export interface PanelMessages {
  readonly "svc:ready": object
  readonly "svc:session-expired": object
  readonly "svc:connection-created": { readonly connectionId: string; readonly connector: string }
  readonly "svc:connection-removed": { readonly connectionId: string; readonly connector: string }
  readonly "svc:connection-error": {
    readonly connectionId: string | null
    readonly connector: string
    readonly message: string
  }
  /** An integration was set up, changed, paused, switched on or removed. */
  readonly "svc:installation-updated": {
    readonly installationId: string
    readonly integration: string
    readonly status: "active" | "paused" | "needs_connection" | "uninstalled"
  }
  /** A person started an action, and the run that went on has ended. */
  readonly "svc:action": { readonly action: string; readonly executionId: string; readonly status: string }
  readonly "svc:resize": { readonly height: number }
}

/** The page around the panel. */
export interface Parent {
  readonly post: <Type extends keyof PanelMessages>(type: Type, payload: PanelMessages[Type]) => void
  /** From now on these origins are allowed: the session is another one. */
  readonly allow: (sessionId: string, origins: ReadonlyArray<string>) => void
}

const tokenPattern = /^emb_[A-Za-z0-9_-]{43}$/
const slugPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

/** Tells the page's developers what they sent in vain. */
const refuse = (type: string, why: string): undefined => {
  // oxlint-disable-next-line no-console -- The console is the only place where they look.
  console.warn(`svc: the message ${type} was ignored: ${why}`)
  return undefined
}

/** The message, if it is one that the panel knows. */
const readMessage = (data: unknown, origin: string): ParentMessage | undefined => {
  if (!isObject(data) || typeof data["type"] !== "string" || !data["type"].startsWith("svc:")) return undefined
  const { payload, type } = data
  if (!isObject(payload)) return refuse(type, "it has no payload, which must be an object")
  switch (type) {
    case "svc:token": {
      const { token } = payload
      return typeof token === "string" && tokenPattern.test(token)
        ? { type, token, origin }
        : refuse(type, "payload.token is no embed token")
    }
    case "svc:theme": {
      const { theme } = payload
      const mistake = themeMistake(theme)
      return mistake === undefined ? { type, theme: theme as WidgetTheme } : refuse(type, `payload.theme${mistake}`)
    }
    case "svc:locale": {
      const { locale } = payload
      return locale === "en" || locale === "de" ? { type, locale } : refuse(type, "payload.locale must be en or de")
    }
    case "svc:open": {
      const { connector } = payload
      return typeof connector === "string" && slugPattern.test(connector)
        ? { type, connector }
        : refuse(type, "payload.connector is no slug of a connector")
    }
    default:
      return refuse(type, "the panel does not know it")
  }
}

/** Follows the messages of the page around the panel. `take` gets each that is valid. */
export const makeParent = (
  frame: { readonly sessionId: string; readonly origins: ReadonlyArray<string> },
  take: (message: ParentMessage) => void
): Parent => {
  let { origins, sessionId } = frame
  let answering: string | undefined
  const { parent } = window
  const isFramed = parent !== window

  window.addEventListener("message", ({ data, origin, source }: MessageEvent<unknown>) => {
    // Other windows and frames, also those of the same page, have nothing to say here.
    if (!isFramed || source !== parent || !origins.includes(origin)) return
    if (answering !== undefined && answering !== origin) return
    const message = readMessage(data, origin)
    if (message === undefined) return
    answering = origin
    take(message)
  })

  return {
    post: (type, payload) => {
      if (!isFramed) return
      for (const origin of answering === undefined ? origins : [answering])
        parent.postMessage({ type, sessionId, payload }, origin)
    },
    allow: (id, allowed) => {
      sessionId = id
      origins = allowed
    }
  }
}
